package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func texts(errs []error) string {
	lines := make([]string, 0, len(errs))
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func TestEveryWrongValueOfTheCollectorIsFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"the defaults are right":             {func(*Config) {}, ""},
		"once a second is the most":          {func(c *Config) { c.Interval = time.Second }, ""},
		"more often is too often":            {func(c *Config) { c.Interval = time.Second - 1 }, "s.interval: must be at least 1s, got 999.999999ms"},
		"stale at once is allowed":           {func(c *Config) { c.StaleAfter = new(time.Duration(0)) }, ""},
		"stale before it was read is not":    {func(c *Config) { c.StaleAfter = new(-time.Second) }, "s.stale_after: must be >= 0, got -1s"},
		"a replica without series is absurd": {func(c *Config) { c.MaxSeries = 0 }, "s.max_series: must be > 0, got 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			tc.change(&c)
			if diff := cmp.Diff(tc.want, texts(c.Validate("s"))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryWrongValueOfATargetIsFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*TargetConfig)
		want   string
	}{
		"the defaults are right":    {func(*TargetConfig) {}, ""},
		"every kind of the list is": {func(c *TargetConfig) { c.Kind = mapping.Ray }, ""},
		"no kind is":                {func(c *TargetConfig) { c.Kind = "vLLM" }, `t.kind: must be one of auto, none, vllm, sglang, trtllm, dynamo, tgi, triton, nim, lmdeploy, llamacpp, ollama, ray, generic, got "vLLM"`},
		"inherit is the only word":  {func(c *TargetConfig) { c.Auth = "Inherit" }, `t.auth: must be "inherit" or absent, got "Inherit"`},
		"a page and pages exclude each other": {
			func(c *TargetConfig) {
				c.MetricsURL, c.MetricsURLs = "http://a/metrics", []secret.URL{"http://b/metrics"}
			},
			"t.metrics_urls: excludes metrics_url, set one of the two",
		},
		"a page and nobody, too": {
			func(c *TargetConfig) { c.MetricsURL, c.MetricsURLs = "http://a/metrics", []secret.URL{} },
			"t.metrics_urls: excludes metrics_url, set one of the two",
		},
		"nobody alone is right":        {func(c *TargetConfig) { c.MetricsURLs = []secret.URL{} }, ""},
		"a host and a port are enough": {func(c *TargetConfig) { c.MetricsURL = "vllm-0:8000/metrics" }, ""},
		"a password is not shown":      {func(c *TargetConfig) { c.MetricsURL = "ftp://u:hidden@a/?k=hidden" }, `t.metrics_url: scheme must be http or https, got "ftp"`},
		"no URL":                       {func(c *TargetConfig) { c.MetricsURL = "http://a b/hidden" }, `t.metrics_url: is not a URL: invalid character " " in host name`},
		"no host":                      {func(c *TargetConfig) { c.MetricsURL = "http:///metrics" }, "t.metrics_url: has no host"},
		"no port":                      {func(c *TargetConfig) { c.MetricsURL = "http://a:70000" }, `t.metrics_url: port must be 1 to 65535`},
		"each replica is looked at": {
			func(c *TargetConfig) {
				c.MetricsURLs = []secret.URL{"http://a/metrics", "unix://a", "http://A:80/metrics?x=1", "http://a/2"}
			},
			"t.metrics_urls[1]: scheme must be http or https, got \"unix\"\n" +
				"t.metrics_urls[2]: has the host, port and path of t.metrics_urls[0], the series of the two would be the same",
		},
		"a prefix is the beginning of a name": {func(c *TargetConfig) { c.Prefix = "nim_frontend" }, ""},
		"not of anything":                     {func(c *TargetConfig) { c.Prefix = "nim-" }, `t.prefix: must be the beginning of a name of a metric, got "nim-"`},
		"JSON of somebody else": {
			func(c *TargetConfig) { c.Kind, c.TRTLLMJSON = mapping.VLLM, true },
			"t.trtllm_json: is only read where kind is trtllm or auto, it is vllm",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := DefaultTargetConfig()
			tc.change(&c)
			if diff := cmp.Diff(tc.want, texts(c.Validate("t"))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
