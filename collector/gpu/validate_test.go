package gpu

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"the default is fine", func(*Config) {}, nil},
		{"several sources are", func(c *Config) {
			c.Source = Sources{"nvml", "dcgm"}
			c.DCGM.URLs = []secret.URL{"http://user:word@node:9400/metrics", "node-2:9400"}
		}, nil},
		{"none is not", func(c *Config) { c.Source = nil }, []string{"g.source: must not be empty; off reads no GPU"}},
		{"an unknown source", func(c *Config) { c.Source = Sources{"rocm"} }, []string{`g.source: must be one of auto, off, nvml, dcgm, triton, amd, got "rocm"`}},
		{"one twice", func(c *Config) { c.Source = Sources{"nvml", "nvml"} }, []string{"g.source: nvml is there twice"}},
		{"off with others", func(c *Config) { c.Source = Sources{"nvml", "off"} }, []string{"g.source: off must stand alone"}},
		{"an exporter without pages", func(c *Config) { c.Source = Sources{"amd"} }, []string{"g.amd.urls: is needed because source lists amd"}},
		{"intervals that are too short or too long", func(c *Config) { c.NVML.Interval, c.Triton.Interval = 999*time.Millisecond, 61*time.Minute }, []string{
			"g.nvml.interval: must be between 1s and 1h0m0s, got 999ms", "g.triton.interval: must be between 1s and 1h0m0s, got 1h1m0s",
		}},
		{"a library by a relative path", func(c *Config) { c.NVML.LibraryPath = "lib.so" }, []string{`g.nvml.library_path: must be an absolute path, got "lib.so"`}},
		{"a prefix that begins no name", func(c *Config) { c.AMD.Prefix = "amd-" }, []string{`g.amd.prefix: must be the beginning of a metric's name, got "amd-"`}},
		{"addresses that are none, without showing what is in them", func(c *Config) {
			c.DCGM.URLs = []secret.URL{"ftp://user:word@node", "http://", "http://user:wo%zz@node", "http://u:word@node/x", "http://u:word@node/x"}
		}, []string{
			`g.dcgm.urls[0]: scheme must be http or https, got "ftp"`, "g.dcgm.urls[1]: has no host", "g.dcgm.urls[2]: is not a URL, perhaps because of a character in the password that must be escaped, as %2F for a slash",
			"g.dcgm.urls[4]: http://node/x is there twice",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig()
			c.change(&config)
			if diff := cmp.Diff(c.want, messages(config.Validate("g"))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		selector Selector
		want     []string
	}{
		{"nothing is fine", Selector{}, nil},
		{"everything is", Selector{UUIDs: []string{"GPU-a", "GPU-b"}, Hostname: "node-[0-9]+", Pod: "vllm-.*"}, nil},
		{"an UUID twice, and an empty one", Selector{UUIDs: []string{"a", "a", " "}}, []string{"t.uuids[1]: a is there twice", "t.uuids[2]: must not be empty"}},
		{"no expressions", Selector{Hostname: "(", Pod: "a)(b"}, []string{
			"t.hostname: must be a regular expression: error parsing regexp: missing closing ): `(`",
			"t.pod: must be a regular expression: error parsing regexp: unexpected ): `a)(b`",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, messages(c.selector.Validate("t"))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSourcesAreChosen(t *testing.T) {
	t.Parallel()
	urls := []secret.URL{"node:9400"}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []SourceName
		named  bool
	}{
		{"without anything the driver is tried", func(*Config) {}, []SourceName{NVML}, false},
		{"with pages only those are asked", func(c *Config) { c.AMD.URLs, c.DCGM.URLs = urls, urls }, []SourceName{DCGM, AMD}, true},
		{"what is listed is asked", func(c *Config) { c.Source, c.DCGM.URLs = Sources{"dcgm", "nvml"}, urls }, []SourceName{DCGM, NVML}, true},
		{"off asks nothing, pages or not", func(c *Config) { c.Source, c.DCGM.URLs = Sources{"off"}, urls }, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := DefaultConfig()
			c.change(&config)
			got, named := config.sources()
			if diff := cmp.Diff(c.want, got); diff != "" || named != c.named {
				t.Errorf("named %v, want %v; sources (-want +got):\n%s", named, c.named, diff)
			}
		})
	}
}

func TestAddressesAreCompleted(t *testing.T) {
	t.Parallel()
	for given, want := range map[secret.URL]string{
		"node:9400":                     "http://node:9400/metrics",
		"https://u:p@node:9400/":        "https://u:p@node:9400/metrics",
		"http://node:9400/gpu?target=a": "http://node:9400/gpu?target=a",
		"[::1]:9400":                    "http://[::1]:9400/metrics",
	} {
		if got, err := address(given); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", given.Reveal(), got, err, want)
		}
	}
}
