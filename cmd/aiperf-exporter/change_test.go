package main

import (
	"log/slog"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestAPanicWhileAConfigurationIsTakenIsAnError(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Options{Files: []string{write(t, "labelled.yml", labelled)}})
	if err != nil {
		t.Fatal(err)
	}
	gc, err := c.Generator()
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEngine(&session{logger: slog.New(slog.DiscardHandler)}, c, gc, watchers{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.close(slog.New(slog.DiscardHandler)) })
	t.Cleanup(e.generator.Close)
	if err = e.contained(func() error { panic("a file that nobody has thought of") }); err == nil {
		t.Error("no error")
	}
	families, err := e.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != "aiperf_exporter_panics_total" {
				continue
			}
			want := 0.0
			if m.GetLabel()[0].GetValue() == string(metrics.ComponentReload) {
				want = 1
			}
			if got := m.GetCounter().GetValue(); got != want {
				t.Errorf("%v is %v, want %v", m.GetLabel(), got, want)
			}
		}
	}
}
