package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// rig is a Prober with everything that a process gives it.
type rig struct {
	config  Config
	targets map[string]generator.TargetConfig
	modules map[string]Module
	deps    Deps
	prober  *Prober
}

// newRig prepares one with the module chat; each configure may change it before it starts.
func newRig(t *testing.T, configure ...func(*rig)) *rig {
	t.Helper()
	clock := metrics.NewSystemClock()
	poller, err := transport.NewPoller(clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(poller.Close)
	r := &rig{config: DefaultConfig(), targets: map[string]generator.TargetConfig{}, modules: map[string]Module{"chat": {Target: chat()}}}
	r.deps = Deps{
		Config:  func() Config { return r.config },
		Target:  func(name string) (generator.TargetConfig, bool) { c, ok := r.targets[name]; return c, ok },
		Module:  func(name string) (Module, bool) { m, ok := r.modules[name]; return m, ok },
		Modules: func() []string { return slices.Collect(maps.Keys(r.modules)) },
		Clock:   clock, Limiter: load.NewLimiter(0, 0), Poller: poller, Logger: slog.New(slog.DiscardHandler),
	}
	for _, change := range configure {
		change(r)
	}
	r.prober = New(r.deps)
	t.Cleanup(r.prober.Close)
	return r
}

// allow sets the list of all modules.
func allow(entries ...string) func(*rig) {
	return func(r *rig) { r.config.AllowedTargets = entries }
}

// chat is what a module asks.
func chat() generator.TargetConfig {
	return generator.TargetConfig{
		Model: "m", WorkloadName: "short",
		Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto},
		Workload: workload.DefaultConfig(), Client: transport.DefaultConfig(), Accounting: metrics.Estimated,
		SLOs: []metrics.SLO{
			{Name: "lax", Objective: .9, Window: time.Hour, Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: float64(time.Hour)}}},
			{Name: "strict", Objective: .9, Window: time.Hour, Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: 1}}},
		},
	}
}

// ask makes a probe of a target by a module, "" = none.
func (r *rig) ask(ctx context.Context, target, module string) (*Result, error) {
	query := url.Values{"target": {target}}
	if module != "" {
		query.Set("module", module)
	}
	return r.prober.Probe(ctx, &Request{RawQuery: query.Encode()})
}

// refusal is why a probe was refused, "" if it was not.
func refusal(t *testing.T, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	rejection, ok := errors.AsType[*Rejection](err)
	if !ok {
		t.Fatalf("got %v, want a Rejection", err)
	}
	return rejection.Reason
}

// families are the series of a gatherer or a Prober, by name and labels, as "name{a,b}".
func (r *rig) counted(t *testing.T) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, family := range r.prober.Families() {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if v := m.GetCounter().GetValue(); v != 0 {
				out[strings.TrimPrefix(family.GetName(), "aiperf_exporter_probe_")+"{"+strings.Join(labels, ",")+"}"] = v
			}
		}
	}
	return out
}

// shown are the series of an answer, likewise.
func shown(t *testing.T, result *Result) map[string]float64 {
	t.Helper()
	families, err := result.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				name += "{" + l.GetValue() + "}"
			}
			out[name] = m.GetGauge().GetValue()
		}
	}
	return out
}

// server answers on all addresses of this machine, and counts the connections.
type server struct {
	*httptest.Server
	port     string
	accepted atomic.Int64
}

func serve(t *testing.T, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{Server: httptest.NewUnstartedServer(handler)}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
	return s
}

// at is the URL of the server under a host.
func (s *server) at(host string) string { return "http://" + host + ":" + s.port }

// stream answers a chat with two tokens.
func stream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, content := range []string{"one", "two"} {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", content)
		_ = http.NewResponseController(w).Flush()
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
}
