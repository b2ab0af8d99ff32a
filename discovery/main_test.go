package discovery

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"
	"go.uber.org/goleak"
	yamlv2 "go.yaml.in/yaml/v2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a Discovery that runs until the test ends.
type running struct {
	*Discovery
	registry *prometheus.Registry
	logged   *capture
}

// capture keeps what is logged.
type capture struct{ lines chan string }

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	select {
	case c.lines <- string(p):
	default: // nobody looks at so many
	}
	return len(p), nil
}

func newDiscovery(t *testing.T) *running {
	t.Helper()
	r := &running{registry: prometheus.NewPedanticRegistry(), logged: &capture{make(chan string, 1000)}}
	d, err := New(Deps{
		Now: time.Now, Logger: slog.New(slog.NewTextHandler(r.logged, nil)), Registerer: r.registry,
		Redact: func(s string) string { return s }, Panicked: func(v any) { t.Errorf("a mechanism panicked: %v", v) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Discovery = d
	return r
}

func start(t *testing.T) *running {
	t.Helper()
	r := newDiscovery(t)
	r.run(t)
	return r
}

func (r *running) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// await waits until what is found is as wanted. The deadline only ends a test that has failed.
func (r *running) await(t *testing.T, what string, wanted func([]Set) bool) []Set {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for {
		found := r.Found()
		if wanted(found) {
			return found
		}
		look := time.NewTimer(20 * time.Millisecond) // the error of a set changes without a signal
		select {
		case <-r.Changed():
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("waited for %s, found %+v", what, found)
		}
		look.Stop()
	}
}

// names tells whether the only set has targets of these names, present ones.
func names(want ...string) func([]Set) bool {
	return func(found []Set) bool {
		if len(found) != 1 || len(found[0].Targets) != len(want) {
			return false
		}
		for i, t := range found[0].Targets {
			if t.Name != want[i] || !t.Missing.IsZero() {
				return false
			}
		}
		return true
	}
}

// mechanisms reads the keys of a set as the configuration does.
func mechanisms(t *testing.T, key, text string) *Mechanisms {
	t.Helper()
	var m Mechanisms
	if err := unmarshal(text, m.Entry(key)); err != nil {
		t.Fatal(err)
	}
	return &m
}

// setOf is a set with one mechanism, whose targets are called by their address, and go at once.
func setOf(t *testing.T, key, text string) SetConfig {
	t.Helper()
	return SetConfig{Name: "fleet", Configs: mechanisms(t, key, text).Configs(), Relabel: byAddress(t)}
}

func byAddress(t *testing.T) []*relabel.Config {
	t.Helper()
	return steps(t, "source_labels: [__address__]\ntarget_label: __target_name__\n")
}

func steps(t *testing.T, texts ...string) []*relabel.Config {
	t.Helper()
	var m Mechanisms
	for _, text := range texts {
		if err := unmarshal(text, m.Entry("relabel_configs")); err != nil {
			t.Fatal(err)
		}
	}
	out := m.RelabelConfigs()
	for _, step := range out {
		if err := step.Validate(model.LegacyValidation); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func unmarshal(text string, into any) error { return yamlv2.UnmarshalStrict([]byte(text), into) }
