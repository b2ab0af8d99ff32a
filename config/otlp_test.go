package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVariablesOfOpenTelemetryAreBelowTheFile(t *testing.T) {
	t.Parallel()
	const target = "targets: [{name: a, url: http://s, model: m, endpoint: {type: chat}}]\n"
	load := func(otlp string, env ...string) (*Config, error) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "c.yml")
		if err := os.WriteFile(file, []byte(target+otlp), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Options{Files: []string{file}, Env: env})
	}
	c, err := load("otlp: {enabled: true, interval: 15s}", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_METRIC_EXPORT_INTERVAL=5000",
		"OTEL_EXPORTER_OTLP_TIMEOUT=3000", "OTEL_EXPORTER_OTLP_HEADERS=authorization=planted-secret")
	if err != nil {
		t.Fatal(err)
	}
	if c.OTLP.Endpoint != "http://c" || c.OTLP.Timeout != 3*time.Second {
		t.Errorf("got %s and %v, want what the environment says where the file is silent", c.OTLP.Endpoint, c.OTLP.Timeout)
	}
	if c.OTLP.Interval != 15*time.Second {
		t.Errorf("got the interval %v, want that of the file although it is the default", c.OTLP.Interval)
	}
	if got := c.OTLP.Headers["authorization"].Reveal(); got != "planted-secret" {
		t.Errorf("got the header %q", got)
	}
	if text, err := c.YAML(); err != nil || strings.Contains(string(text), "planted-secret") || c.Redactor().Redact("planted-secret") == "planted-secret" {
		t.Errorf("the header is shown, %v:\n%s", err, text)
	}

	wrong := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=sometimes"}
	if _, err := load("otlp: {enabled: true}", wrong...); err == nil || !strings.Contains(err.Error(), "env OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: must be") {
		t.Errorf("got %v, want an error that names the variable", err)
	}
	idle := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c/v1/metrics", "OTEL_EXPORTER_OTLP_CERTIFICATE=/ca.pem"}
	if _, err := load("otlp: {enabled: true, endpoint: 'http://c:4317'}", idle...); err != nil {
		t.Errorf("got %v, want nothing about an address that the file overrides, and certificates that a plain connection does not need", err)
	}
	if _, err := load("", wrong...); err != nil {
		t.Errorf("got %v, want nothing about variables that nobody reads", err)
	}
}
