package otlp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// reveal lets cmp look at secrets.
var reveal = cmp.Comparer(func(a, b secret.Secret) bool { return a.Reveal() == b.Reveal() })

func TestTheEnvironmentFillsInWhatTheFileMayOverride(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  []string
		want func(*Config)
	}{
		{"nothing is set", nil, func(*Config) {}},
		{"an empty variable counts as none", []string{"OTEL_EXPORTER_OTLP_TIMEOUT=", "OTEL_EXPORTER_OTLP_COMPRESSION= "}, func(*Config) {}},
		{"endpoint", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317"}, func(c *Config) { c.Endpoint = "http://c:4317" }},
		{
			"that of metrics wins, whatever the order",
			[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://m", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c"},
			func(c *Config) { c.Endpoint = "https://m" },
		},
		{
			"headers are unescaped",
			[]string{"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20abc%3D, x-tenant = eu ,"},
			func(c *Config) {
				c.Headers = map[string]secret.Secret{"authorization": "Bearer abc=", "x-tenant": "eu"}
			},
		},
		{
			"headers of metrics take the place of the others",
			[]string{"OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_METRICS_HEADERS=b=2"},
			func(c *Config) { c.Headers = map[string]secret.Secret{"b": "2"} },
		},
		{"timeout in milliseconds", []string{"OTEL_EXPORTER_OTLP_TIMEOUT=2500"}, func(c *Config) { c.Timeout = 2500 * time.Millisecond }},
		{
			"timeouts from the general to the particular",
			[]string{"OTEL_METRIC_EXPORT_TIMEOUT=1", "OTEL_EXPORTER_OTLP_TIMEOUT=2", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=3"},
			func(c *Config) { c.Timeout = 3 * time.Millisecond },
		},
		{"only the timeout of an export", []string{"OTEL_METRIC_EXPORT_TIMEOUT=7000"}, func(c *Config) { c.Timeout = 7 * time.Second }},
		{"interval", []string{"OTEL_METRIC_EXPORT_INTERVAL=5000"}, func(c *Config) { c.Interval = 5 * time.Second }},
		{"compression", []string{"OTEL_EXPORTER_OTLP_COMPRESSION=none"}, func(c *Config) { c.Compression = "none" }},
		{"compression of metrics", []string{"OTEL_EXPORTER_OTLP_COMPRESSION=none", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION=gzip"}, func(*Config) {}},
		{
			"certificates",
			[]string{"OTEL_EXPORTER_OTLP_CERTIFICATE=/ca", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/cert", "OTEL_EXPORTER_OTLP_CLIENT_KEY=/key"},
			func(c *Config) { c.TLS = TLSConfig{CAFile: "/ca", CertFile: "/cert", KeyFile: "/key"} },
		},
		{
			"certificates of metrics",
			[]string{"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE=/ca", "OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE=/cert", "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY=/key"},
			func(c *Config) { c.TLS = TLSConfig{CAFile: "/ca", CertFile: "/cert", KeyFile: "/key"} },
		},
		{
			"certificates say nothing about a plain connection",
			[]string{"OTEL_EXPORTER_OTLP_CERTIFICATE=/ca", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c"},
			func(c *Config) { c.Endpoint = "http://c" },
		},
		{"insecure", []string{"OTEL_EXPORTER_OTLP_INSECURE=TRUE"}, func(c *Config) { c.Insecure = true }},
		{"insecure for metrics only in name", []string{"OTEL_EXPORTER_OTLP_INSECURE=true", "OTEL_EXPORTER_OTLP_METRICS_INSECURE=false"}, func(*Config) {}},
		{"temporality", []string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=LowMemory"}, func(c *Config) { c.Temporality = LowMemory }},
		{
			"explicit histograms",
			[]string{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=explicit_bucket_histogram"},
			func(c *Config) { c.Histogram = Explicit },
		},
		{
			"exponential histograms",
			[]string{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=base2_exponential_bucket_histogram"},
			func(c *Config) { c.Histogram = Exponential },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := DefaultConfig()
			c.want(&want)
			got, errs := FromEnvironment(c.env, nothing)
			if len(errs) > 0 {
				t.Errorf("got the errors %v, want none", errs)
			}
			if diff := cmp.Diff(want, got, reveal); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// nothing is written in the file.
func nothing(string) bool { return false }

func TestAVariableWhoseKeyIsWrittenIsNotLookedAt(t *testing.T) {
	t.Parallel()
	c, errs := FromEnvironment([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE=/ca.pem"},
		func(key string) bool { return key == "endpoint" || key == "tls_config.ca_file" })
	if diff := cmp.Diff(DefaultConfig(), c); diff != "" || len(errs) > 0 {
		t.Errorf("got the errors %v and, want -, got +:\n%s", errs, diff)
	}
}

func TestAVariableThatIsWrongIsNamedAndItsSecretIsNot(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:hunter2hunter2@c", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c/v1/metrics?hunter2hunter2",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=unix:///c.sock", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=c:0", "OTEL_EXPORTER_OTLP_ENDPOINT=http://[::1:hunter2hunter2",
		"OTEL_EXPORTER_OTLP_HEADERS=hunter2hunter2", "OTEL_EXPORTER_OTLP_METRICS_HEADERS=a=%zzhunter2hunter2",
		"OTEL_EXPORTER_OTLP_HEADERS=te=hunter2hunter2", "OTEL_EXPORTER_OTLP_HEADERS=grpc-x=1", "OTEL_EXPORTER_OTLP_HEADERS=x=%0Ahunter2hunter2",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=0", "OTEL_METRIC_EXPORT_TIMEOUT=-1", "OTEL_METRIC_EXPORT_INTERVAL=1e99",
		"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION=GZIP",
		"OTEL_EXPORTER_OTLP_INSECURE=yes", "OTEL_EXPORTER_OTLP_METRICS_INSECURE=1",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=deltas", "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=exponential",
		"OTEL_SDK_DISABLED=perhaps", "OTEL_METRICS_EXEMPLAR_FILTER=some", "OTEL_RESOURCE_ATTRIBUTES=a", "OTEL_RESOURCE_ATTRIBUTES==b",
	} {
		name, _, _ := strings.Cut(variable, "=")
		c, errs := FromEnvironment([]string{variable}, nothing)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), name+": ") || strings.Contains(errs[0].Error(), "hunter2") {
			t.Errorf("%s: got %v, want one error that begins with the name and quotes no secret", variable, errs)
		}
		if diff := cmp.Diff(DefaultConfig().Timeout, c.Timeout); diff != "" && strings.Contains(variable, "INTERVAL") {
			t.Error(diff)
		}
	}
}

func TestTheResourceIsWhatTheFileThenTheEnvironmentThenTheProgramSays(t *testing.T) {
	t.Parallel()
	deps := &Deps{Version: "1.2.3", Instance: "pod-0"}
	for _, c := range []struct {
		name string
		file map[string]string
		env  []string
		want map[string]string
	}{
		{"the program", nil, nil, map[string]string{
			"service.name": "aiperf-exporter", "service.version": "1.2.3", "service.instance.id": "pod-0",
			"telemetry.sdk.name": "opentelemetry", "telemetry.sdk.language": "go",
		}},
		{"Kubernetes", nil, []string{"POD_NAMESPACE=ml", "POD_NAME=p", "NODE_NAME=n", "K8S_NODE_NAME=m"}, map[string]string{
			"k8s.namespace.name": "ml", "k8s.pod.name": "p", "k8s.node.name": "m",
		}},
		{"the environment", nil, []string{"OTEL_RESOURCE_ATTRIBUTES=service.name=x,team=a%2Cb,k8s.pod.name=q", "OTEL_SERVICE_NAME=y", "POD_NAME=p"}, map[string]string{
			"service.name": "y", "team": "a,b", "k8s.pod.name": "q",
		}},
		{
			"the file",
			map[string]string{"service.name": "z", "team": "c", "telemetry.sdk.name": "mine", "service.version": ""},
			[]string{"OTEL_RESOURCE_ATTRIBUTES=team=a", "OTEL_SERVICE_NAME=y"},
			map[string]string{"service.name": "z", "team": "c", "telemetry.sdk.name": "opentelemetry", "service.version": ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := newResource(&Config{ResourceAttributes: c.file}, deps, newEnvironment(c.env))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, kv := range r.Attributes() {
				got[string(kv.Key)] = kv.Value.AsString()
			}
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s: got %q, want %q", key, got[key], want)
				}
			}
		})
	}
}

func TestNothingIsMadeWhereNothingIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		enabled bool
		env     []string
	}{
		"it is not enabled":                  {enabled: false},
		"OpenTelemetry is off":               {enabled: true, env: []string{"OTEL_SDK_DISABLED=true"}},
		"a wrong variable that nobody reads": {enabled: false, env: []string{"OTEL_SDK_DISABLED=perhaps"}},
	} {
		config := DefaultConfig()
		config.Enabled, config.Endpoint = c.enabled, "http://127.0.0.1:1"
		config.Traces = TracesConfig{Enabled: true}
		e, err := New(config, Deps{Clock: metrics.NewSystemClock(), Logger: discard(), Env: c.env})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Tracer() != nil || e.Trace() != (metrics.Trace{}) || e.Families() != nil || e.Status() != nil {
			t.Errorf("%s: got a tracer, a trace, series or a status, want none", name)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		e.Run(ended)
	}
}
