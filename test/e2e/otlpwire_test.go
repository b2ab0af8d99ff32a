//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/received"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// idle sends its own series to a collector, and no requests to anybody: more of the block otlp.
const idle = `
otlp:
  enabled: true
  interval: 1s
%s
collectors: {gpu: {source: off}}
targets: []
`

func TestOnlyAClientWithACertificateReachesACollectorThatWantsOne(t *testing.T) {
	t.Parallel()
	ca, stranger := newAuthority(t), newAuthority(t)
	certificate, key := ca.issue(t, "collector")
	s := startSink(t, "receivers::otlp::protocols::grpc::tls::cert_file: "+certificate, "receivers::otlp::protocols::grpc::tls::key_file: "+key,
		"receivers::otlp::protocols::grpc::tls::client_ca_file: "+ca.file)
	own, ownKey := ca.issue(t, "exporter")
	other, otherKey := stranger.issue(t, "exporter")
	files := func(ca, certificate, key string) string {
		return fmt.Sprintf("{ca_file: %s, cert_file: %s, key_file: %s}", ca, certificate, key)
	}
	for _, test := range []struct {
		name, tls   string
		environment []string
		arrives     bool
	}{
		{name: "with a certificate", tls: files(ca.file, own, ownKey), arrives: true},
		{name: "with one of the environment", tls: "{}", arrives: true, environment: []string{
			"OTEL_EXPORTER_OTLP_CERTIFICATE=" + ca.file, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + own, "OTEL_EXPORTER_OTLP_CLIENT_KEY=" + ownKey,
		}},
		{name: "without", tls: fmt.Sprintf("{ca_file: %s}", ca.file)},
		{name: "with that of a stranger", tls: files(ca.file, other, otherKey)},
		{name: "the collector is a stranger", tls: files(stranger.file, own, ownKey)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := serveIn(t, test.environment, fmt.Sprintf(idle, fmt.Sprintf(
				"  endpoint: https://%s\n  timeout: 2s\n  retry: {max_elapsed: 0s}\n  tls_config: %s\n", s.address, test.tls)))
			if test.arrives {
				e.arrivals(t, 1)
				return
			}
			if failed := e.fails(t, "unavailable"); failed.succeeded != 0 {
				t.Errorf("%v exports have arrived", failed.succeeded)
			}
		})
	}
}

func TestTheEnvironmentSaysWhatTheFileDoesNot(t *testing.T) {
	t.Parallel()
	const secret = "c8f1a6"
	for _, test := range []struct {
		name        string
		file        func(address string) string
		environment func(address string) []string
		headers     map[string]string
		resource    map[string]string
	}{
		{
			name: "all of it",
			file: func(string) string { return "" },
			environment: func(address string) []string {
				return []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + address, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20" + secret + ",x-tenant=blue",
					"OTEL_RESOURCE_ATTRIBUTES=team=inference,service.name=nobody,zone=a%2Cb", "OTEL_SERVICE_NAME=canary",
				}
			},
			headers:  map[string]string{"authorization": "Bearer " + secret, "x-tenant": "blue"},
			resource: map[string]string{"service.name": "canary", "team": "inference", "zone": "a,b"},
		},
		{
			name: "what is about metrics wins",
			file: func(string) string { return "" },
			environment: func(address string) []string {
				return []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://" + address,
					"OTEL_EXPORTER_OTLP_HEADERS=x-tenant=blue", "OTEL_EXPORTER_OTLP_METRICS_HEADERS=x-tenant=green",
				}
			},
			headers:  map[string]string{"x-tenant": "green"},
			resource: map[string]string{"service.name": "aiperf-exporter"},
		},
		{
			name: "the file wins",
			file: func(address string) string {
				return fmt.Sprintf("  endpoint: http://%s\n  headers: {x-tenant: red}\n  resource_attributes: {service.name: ours, team: us}\n", address)
			},
			environment: func(string) []string {
				return []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=x-tenant=blue", "OTEL_SERVICE_NAME=canary",
					"OTEL_RESOURCE_ATTRIBUTES=team=inference,zone=c",
				}
			},
			headers:  map[string]string{"x-tenant": "red"},
			resource: map[string]string{"service.name": "ours", "team": "us", "zone": "c"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := startReceiver(t)
			e := serveIn(t, test.environment(r.address), fmt.Sprintf(idle, test.file(r.address)))
			got := r.waitFor(t, 1)[0]
			headers := map[string]string{}
			for name := range test.headers {
				headers[name] = strings.Join(got.headers.Get(name), " and ")
			}
			if diff := cmp.Diff(test.headers, headers); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			attributes := received.Attributes(got.body.GetResourceMetrics()[0].GetResource().GetAttributes())
			resource := map[string]string{}
			for name := range test.resource {
				resource[name] = attributes[name]
			}
			if diff := cmp.Diff(test.resource, resource); diff != "" {
				t.Errorf("attributes of the resource (-want +got):\n%s", diff)
			}
			for _, name := range []string{"service.instance.id", "service.version", "host.name"} {
				if attributes[name] == "" {
					t.Errorf("the resource has no %s: %v", name, attributes)
				}
			}
			config, err := scrape.Bytes(process.Within(t, patience), e.url+"/config", scrape.Text)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(config), secret) || strings.Contains(e.Output(), secret) {
				t.Error("a header is on the page of the configuration, or in the log")
			}
		})
	}
}

func TestVariablesThatCannotBeUnderstoodKeepItFromStarting(t *testing.T) {
	t.Parallel()
	const secret = "c8f1a6"
	for _, variable := range []string{
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=sometimes", "OTEL_EXPORTER_OTLP_TIMEOUT=soon",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=ftp://collector", "OTEL_EXPORTER_OTLP_HEADERS=authorization=%zz" + secret,
	} {
		name, _, _ := strings.Cut(variable, "=")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := file(t, "aiperf-exporter.yml", fmt.Sprintf(idle, ""))
			p := process.ForTest(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", variable},
				binary, "serve", "--config.file="+config, "--web.listen-address="+address(t))
			code, err := p.Wait(process.Within(t, patience))
			if code != 1 || err != nil || !strings.Contains(p.Output(), name) {
				t.Errorf("exit code %d, %v, and the message %q; want 1 and the variable", code, err, p.Output())
			}
			if strings.Contains(p.Output(), secret) {
				t.Errorf("a header is in the message %q", p.Output())
			}
		})
	}
}

func TestNothingIsSentIfOpenTelemetryIsSwitchedOff(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	e := serveIn(t, []string{"OTEL_SDK_DISABLED=true"}, fmt.Sprintf(idle, "  endpoint: http://"+r.address+"\n"))
	if n := len(e.scrape(t).Series("aiperf_exporter_otlp_exports_total", nil)); n != 0 {
		t.Errorf("%d series are about exports", n)
	}
	endsWell(t, e)
	if got := r.waitFor(t, 0); len(got) != 0 {
		t.Errorf("%d requests have arrived", len(got))
	}
}

func TestHeadersOfAFileAreThoseOfTheMoment(t *testing.T) {
	t.Parallel()
	r := startReceiver(t)
	headers := filepath.Join(t.TempDir(), "headers")
	put := func(token string) {
		t.Helper()
		if err := os.WriteFile(headers, []byte("authorization: Bearer "+token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	serve(t, fmt.Sprintf(idle, fmt.Sprintf("  endpoint: http://%s\n  headers_file: %s\n", r.address, headers)))
	r.waitFor(t, 1)
	put("second")
	eventually(t, patience, func() error {
		all := r.waitFor(t, 1)
		if got := all[len(all)-1].headers.Get("authorization"); !slices.Equal(got, []string{"Bearer second"}) {
			return fmt.Errorf("the header is %q", got)
		}
		return nil
	})
	if got := r.waitFor(t, 1)[0].headers.Get("authorization"); !slices.Equal(got, []string{"Bearer first"}) {
		t.Errorf("the first header was %q", got)
	}
}

// lazy exports nothing by itself in the time of a test: time between two exports, address of the collector, URL of the server.
const lazy = `
otlp:
  enabled: true
  endpoint: http://%[2]s
  interval: %[1]s
  timeout: 10m
  retry: {max_elapsed: 10m}
  traces: {enabled: true, ratio: 1}
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 20, max_in_flight: 50}
targets:
  - {name: lazy, url: %[3]s, model: truth, endpoint: {type: chat}, workload: short, load: steady}
`

func TestTheLastStateIsSentAtTheEnd(t *testing.T) {
	t.Parallel()
	s, from := startSink(t), startServer(t, "-ttft=100ms", "-itl=20ms")
	e := serve(t, fmt.Sprintf(lazy, "1h", s.address, from.url))
	e.sends(t, 30)
	endsWell(t, e)
	state, err := received.Read(s.folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got := 0.0
	for of, v := range state.Values {
		if of.Family == "aiperf_requests_total" {
			got += v.Number
		}
	}
	known := from.truth(t)
	if got != float64(known.Requests) || known.Requests < 30 {
		t.Errorf("%v requests were told at the end, the server knows %d", got, known.Requests)
	}
	spans, err := received.Spans(s.folder)
	if len(spans) != known.Requests || err != nil {
		t.Errorf("%d spans were sent, %v, want %d", len(spans), err, known.Requests)
	}
}

// The time to wait is well below what an export may take, and above the five seconds that are left for the last one.
func TestACollectorThatHangsDoesNotHoldTheEndUp(t *testing.T) {
	t.Parallel()
	const limit = 30 * time.Second
	from := startServer(t, "-ttft=20ms", "-itl=2ms")
	answersNothing, swallowsAll := startReceiver(t), startLink(t, startSink(t).address)
	answersNothing.hang()
	swallowsAll.put(swallows)
	for name, test := range map[string]struct{ address, interval string }{
		"it never answers":            {answersNothing.address, "1s"},
		"it does not read":            {swallowsAll.address, "1s"},
		"it did not answer the first": {answersNothing.address, "1h"},
		"nobody is there":             {address(t), "1h"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := serve(t, fmt.Sprintf(lazy, test.interval, test.address, from.url))
			e.sends(t, 40)
			began := time.Now()
			if err := e.Terminate(); err != nil {
				t.Fatal(err)
			}
			if code, err := e.Wait(process.Within(t, limit)); code != 0 || err != nil {
				t.Errorf("exit code %d, %v, want 0", code, err)
			}
			t.Logf("ended after %v", time.Since(began).Round(time.Millisecond))
		})
	}
}
