package probe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestAProbeOfAStreamTellsEverythingThatItMeasured(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	r := newRig(t, allow("good.example"), knowing(map[string][][]string{"good.example": {{"127.0.0.1"}}}))
	result, err := r.ask(t.Context(), s.at("good.example"), "chat")
	if err != nil {
		t.Fatal(err)
	}
	got := shown(t, result)
	want := map[string]float64{
		"probe_success": 1, "probe_timeout_seconds": 300, "aiperf_probe_http_status_code": 200, "probe_ip_protocol": 4,
		"aiperf_probe_tokens{input}": 9, "aiperf_probe_tokens{output}": 2, "aiperf_probe_slo_good{lax}": 1, "aiperf_probe_slo_good{strict}": 0,
	}
	measured := []string{
		"probe_duration_seconds", "aiperf_probe_time_to_first_token_seconds", "aiperf_probe_time_to_first_output_token_seconds",
		"aiperf_probe_inter_token_latency_seconds", "aiperf_probe_request_latency_seconds", "aiperf_probe_response_bytes",
		"aiperf_probe_phase_seconds{blocked}", "aiperf_probe_phase_seconds{dns}", "aiperf_probe_phase_seconds{connect}",
		"aiperf_probe_phase_seconds{send}", "aiperf_probe_phase_seconds{wait}", "aiperf_probe_phase_seconds{receive}",
	}
	for _, name := range measured {
		if v, there := got[name]; !there || v < 0 {
			t.Errorf("%s is %v", name, v)
		}
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"requests_total{chat,success}": 1}, r.counted(t)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestAFailureIsAnAnswerToo(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusServiceUnavailable)
	})
	gone := serve(t, stream)
	gone.Close()
	r := newRig(t, allow("127.0.0.1"))
	for target, want := range map[string]map[string]float64{
		s.at("127.0.0.1"):    {"probe_success": 0, "aiperf_probe_error_info{http_5xx}": 1, "aiperf_probe_http_status_code": 503, "aiperf_probe_slo_good{lax}": 0},
		gone.at("127.0.0.1"): {"probe_success": 0, "aiperf_probe_error_info{connect}": 1, "aiperf_probe_http_status_code": 0, "aiperf_probe_slo_good{lax}": 0},
	} {
		result, err := r.ask(t.Context(), target, "chat")
		if err != nil {
			t.Fatal(err)
		}
		got := shown(t, result)
		for name, v := range want {
			if have, there := got[name]; !there || have != v {
				t.Errorf("%s is %v, %v; want %v", name, have, there, v)
			}
		}
		if _, there := got["aiperf_probe_time_to_first_token_seconds"]; there {
			t.Error("there is a first token of a failure")
		}
	}
	if diff := cmp.Diff(map[string]float64{"requests_total{chat,error}": 2}, r.counted(t)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// hanging begins a stream and never ends it; began hears of each request.
func hanging(began chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client goes
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"))
		_ = http.NewResponseController(w).Flush()
		began <- struct{}{}
		<-r.Context().Done()
	}
}

func TestADeadlineEndsAProbeWithAnAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, hanging(make(chan struct{}, 1)))
	r := newRig(t, allow("127.0.0.1"), func(r *rig) { r.config.TimeoutOffset = 900 * time.Millisecond })
	result, err := r.prober.Probe(t.Context(), &Request{
		RawQuery: url.Values{"target": {s.at("127.0.0.1")}, "module": {"chat"}}.Encode(), ScrapeTimeout: "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := shown(t, result)
	if got["probe_success"] != 0 || got["aiperf_probe_error_info{timeout_total}"] != 1 || got["probe_timeout_seconds"] != .1 {
		t.Errorf("got %v", got)
	}
	if _, judged := got["aiperf_probe_slo_good{lax}"]; !judged {
		t.Error("the objectives say nothing of it")
	}
	if diff := cmp.Diff(map[string]float64{"requests_total{chat,error}": 1}, r.counted(t)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestTheDeadlineIsTheModulesOrTheScrapers(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 20 * time.Second, "10": 9500 * time.Millisecond, "10.25": 9750 * time.Millisecond, "1": 500 * time.Millisecond, "1e1": 9500 * time.Millisecond,
		"60": 20 * time.Second, "3600": 20 * time.Second,
		"3601": 20 * time.Second, "NaN": 20 * time.Second, "-1": 20 * time.Second, "Inf": 20 * time.Second, "-Inf": 20 * time.Second, "soon": 20 * time.Second,
		"1e400": 20 * time.Second, "10 s": 20 * time.Second,
		"0": 0, "-0": 0, "0.999": 0, "1e-300": 0,
	} {
		got, refused := deadline(header, 20*time.Second, 500*time.Millisecond)
		if got != want || (refused != nil) != (want == 0) {
			t.Errorf("%q: got %v, %v; want %v", header, got, refused, want)
		}
	}
	if _, refused := deadline("1.5", time.Minute, 2*time.Second); refused == nil {
		t.Error("an offset that leaves nothing is taken")
	}
	if got, _ := deadline("", 0, 0); got != longest {
		t.Errorf("without any limit there are %v", got)
	}
}

func TestAScraperThatGoesAwayEndsTheRequest(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	s := serve(t, hanging(began))
	r := newRig(t, allow("127.0.0.1"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := r.ask(ctx, s.at("127.0.0.1"), "chat"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"requests_total{chat,cancelled}": 1}, r.counted(t)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestLimitsOfAllTargetsHoldForProbes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit func(t *testing.T, r *rig)
		want  Reason
	}{
		"of requests that run": {func(_ *testing.T, r *rig) {
			r.deps.Limiter = load.NewLimiter(1, 0)
			r.deps.Limiter.Join().Acquire(0)
		}, ReasonGlobalLimit},
		"of money": {func(t *testing.T, r *rig) {
			t.Helper()
			ledger, err := budget.Open("")
			if err != nil {
				t.Fatal(err)
			}
			limits := budget.DefaultConfig()
			limits.TokensPerDay = 1
			account := ledger.Account(budget.Global, &limits)
			r.deps.Ledger, r.deps.Budget = ledger, func() *budget.Account { return account }
		}, ReasonBudget},
		"of probes": {func(_ *testing.T, r *rig) { r.config.MaxInFlight = 0 }, ReasonConcurrency},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, stream)
			r := newRig(t, allow("127.0.0.1"), func(r *rig) { test.limit(t, r) })
			_, err := r.ask(t.Context(), s.at("127.0.0.1"), "chat")
			rejection, ok := errors.AsType[*Rejection](err)
			if !ok || rejection.Reason != test.want || rejection.Status() != http.StatusTooManyRequests {
				t.Errorf("got %v", err)
			}
			if n := s.accepted.Load(); n != 0 {
				t.Errorf("%d connections", n)
			}
			if diff := cmp.Diff(map[string]float64{"rejected_total{" + string(test.want) + "}": 1}, r.counted(t)); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAProbeThatHangsLeavesNoPlaceForMoreThanMayRun(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	s := serve(t, hanging(began))
	r := newRig(t, allow("127.0.0.1"), func(r *rig) { r.config.MaxInFlight = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = r.ask(ctx, s.at("127.0.0.1"), "chat")
	}()
	<-began
	if _, err := r.ask(t.Context(), s.at("127.0.0.1"), "chat"); refusal(t, err) != ReasonConcurrency {
		t.Errorf("got %v", err)
	}
	cancel()
	<-over
	if !r.prober.enter(1) {
		t.Error("the place was not given back")
	}
}

func TestAConfiguredTargetIsAskedByItsName(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var credentials []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		credentials = append(credentials, r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key"))
		mu.Unlock()
		stream(w, r)
	})
	r := newRig(t, func(r *rig) {
		known := chat()
		known.Name, known.URL, known.Paused = "prod", s.at("127.0.0.1"), true
		known.Client.Credential = func() (string, string, error) { return "Authorization", "of the target", nil }
		known.Load = load.DefaultConfig()
		known.Load.Mode = load.Users
		known.Fingerprint = answer.FingerprintConfig{Enabled: true, BaselineFile: t.TempDir() + "/baseline"}
		r.targets["prod"] = known
		own := chat()
		own.Client.Credential = func() (string, string, error) { return "Authorization", "of the module", nil }
		own.Endpoint.Headers = map[string]string{"X-Api-Key": "of the module"}
		r.modules["own"] = Module{Target: own, Authenticated: true, Allowed: NewRules([]string{"127.0.0.1"})}
		r.modules["elsewhere"] = Module{Target: own, Authenticated: true, Allowed: NewRules([]string{"llm.example"})}
		r.modules["nowhere"] = Module{Target: own, Authenticated: true}
	})
	for _, module := range []string{"", "chat", "own"} {
		if result, err := r.ask(t.Context(), "prod", module); err != nil || result.outcome() != resultSuccess {
			t.Errorf("module %q: %v, %v", module, result, err)
		}
	}
	for _, module := range []string{"elsewhere", "nowhere"} {
		if _, err := r.ask(t.Context(), "prod", module); refusal(t, err) != ReasonNotAllowed {
			t.Errorf("module %q: got %v", module, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"of the target ", "of the target ", "of the target of the module"}, credentials); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	want := map[string]float64{
		"requests_total{none,success}": 1, "requests_total{chat,success}": 1, "requests_total{own,success}": 1, "rejected_total{not_allowed}": 2,
	}
	if diff := cmp.Diff(want, r.counted(t)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(r.targets["prod"].Fingerprint.BaselineFile); err == nil {
		t.Error("a probe has written the baseline of the target")
	}
}

func TestCredentialsGoNowhereButWhereTheirModuleMay(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	module := Module{Target: chat(), Authenticated: true}
	other := module
	other.Allowed = NewRules([]string{"llm.example"})
	own := module
	own.Allowed = NewRules([]string{"127.0.0.1"})
	open := Module{Target: chat(), Allowed: NewRules([]string{"llm.example"})}
	r := newRig(t, allow("127.0.0.1"), func(r *rig) {
		r.modules = map[string]Module{"without a list": module, "with another list": other, "with its own": own, "without credentials": open}
	})
	for name, want := range map[string]Reason{
		"without a list": ReasonNotAllowed, "with another list": ReasonNotAllowed, "with its own": "", "without credentials": ReasonNotAllowed,
	} {
		if _, err := r.ask(t.Context(), s.at("127.0.0.1"), name); refusal(t, err) != want {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestAQueryThatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for query, want := range map[string]Reason{
		"":                         ReasonMissingTarget,
		"target=":                  ReasonMissingTarget,
		"module=chat":              ReasonMissingTarget,
		"target=x":                 ReasonUnknownTarget,
		"target=x&module=chat":     ReasonUnknownTarget,
		"target=http://x":          ReasonMissingModule,
		"target=http://x&module=y": ReasonUnknownModule,
		"target=x&module=y":        ReasonUnknownModule,
		"target=x&target=y":        ReasonBadQuery,
		"target=x&modul=chat":      ReasonBadQuery,
		"target=x&debug=1":         ReasonBadQuery,
		"target=x&debug=true":      ReasonDebugDisabled,
		"target=%zz":               ReasonBadQuery,
		"target=x;module=y":        ReasonBadQuery,
	} {
		if _, err := r.prober.Probe(t.Context(), &Request{RawQuery: query}); refusal(t, err) != want {
			t.Errorf("%q: got %v, want %s", query, err, want)
		}
	}
}

func TestARefusalQuotesNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, query := range []string{"target=hunter22", "target=http://u:hunter22@x&module=chat", "target=x&module=hunter22", "hunter22=1&target=x", "target=http://hunter22&module=chat"} {
		if _, err := r.prober.Probe(t.Context(), &Request{RawQuery: query}); err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestThePageShowsHowItWentAndNoSecret(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "hunter22-cookie")
		w.Header().Set("Location", "https://elsewhere.example/?signature=hunter22-location")
		stream(w, r)
	})
	r := newRig(t, allow("127.0.0.1"), func(r *rig) {
		module := chat()
		module.Endpoint.Headers = map[string]string{"X-Auth-Token": "hunter22-header", "X-Team": "hunter22-known"}
		module.Client.Credential = func() (string, string, error) { return "Authorization", "hunter22-credential", nil }
		r.modules["chat"] = Module{Target: module}
		r.deps.Redact = func(text string) string { return strings.ReplaceAll(text, "hunter22-known", "<secret>") }
	})
	query := url.Values{"target": {s.at("127.0.0.1") + "/v1?key=hunter22-query"}, "module": {"chat"}, "debug": {"true"}}
	result, err := r.prober.Probe(t.Context(), &Request{RawQuery: query.Encode(), MayDebug: true})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := result.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	if !result.Debug {
		t.Error("nobody asked for a page")
	}
	for _, part := range []string{"success after", "first token", "> POST http://127.0.0.1", `"messages": list of 1`, "< 200", "\nprobe_success 1\n"} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("%q is missing in\n%s", part, &page)
		}
	}
	if strings.Contains(page.String(), "hunter22") {
		t.Errorf("there is a secret in\n%s", &page)
	}
}

func TestCountersBeginAtZeroAndFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	s := serve(t, stream)
	r := newRig(t, allow("127.0.0.1"))
	labels := func() []string {
		var out []string
		for _, family := range r.prober.Families() {
			for _, m := range family.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "module" {
						out = append(out, l.GetValue())
					}
				}
			}
		}
		return slices.Compact(out)
	}
	if diff := cmp.Diff([]string{"chat", "none"}, labels()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := r.ask(t.Context(), s.at("127.0.0.1"), "chat"); err != nil {
		t.Fatal(err)
	}
	module := r.modules["chat"]
	r.modules = map[string]Module{"new": module}
	if diff := cmp.Diff([]string{"new", "none"}, labels()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.modules = map[string]Module{"chat": module}
	if diff := cmp.Diff(map[string]float64{}, r.counted(t)); diff != "" {
		t.Errorf("a module that came back goes on counting (-want +got):\n%s", diff)
	}
	if got := len(r.prober.Families()[0].GetMetric()) + len(r.prober.Families()[1].GetMetric()); got != len(reasons)+2*len(results) {
		t.Errorf("%d children", got)
	}
}
