package otlp

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func TestHeadersAreThoseOfTheMomentAndNeverLogged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "headers")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# of the team\nAuthorization: Bearer first-secret-token\n\n")
	s := &collectorServer{answer: func(n int) (*collectormetrics.ExportMetricsServiceResponse, error) {
		token := "first-secret-token"
		if n > 0 {
			token = "second-secret-token, once first-secret-token,"
		}
		return nil, status.Errorf(codes.Unauthenticated, "who is %s of tenant-secret?", token)
	}}
	address, _ := serve(t, s, "127.0.0.1:0")
	c := testConfig(address)
	c.Headers, c.HeadersFile = map[string]secret.Secret{"X-Tenant": "tenant-secret", "authorization": "overridden"}, file
	value := 1.
	e := newExporter(t, c, oneCounter(&value))
	var log bytes.Buffer
	e.session.Load().warnings.logger = slog.New(slog.NewTextHandler(&log, nil))
	now := time.Now()
	e.session.Load().warnings.now = func() time.Time { return now }
	export := func() {
		e.session.Load().export(t.Context())
		now = now.Add(warnEvery)
	}
	export()
	write("authorization: Bearer second-secret-token\n")
	export()
	write("no header\n")
	export()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	export()
	var got []string
	for _, md := range s.headers {
		got = append(got, md.Get("authorization")[0]+" "+md.Get("x-tenant")[0])
	}
	second := "Bearer second-secret-token tenant-secret"
	if diff := cmp.Diff([]string{"Bearer first-secret-token tenant-secret", second, second, second}, got); diff != "" {
		t.Errorf("headers, want -, got +:\n%s", diff)
	}
	if text := log.String(); strings.Contains(text, "secret-token") || strings.Contains(text, "tenant-secret") || !strings.Contains(text, "line 1") {
		t.Errorf("the log shows a secret, or not what is wrong with the file:\n%s", text)
	}
}

func TestAFileOfHeadersThatCannotBeReadIsAnErrorAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"large": strings.Repeat("a: b\n", maxHeadersFile), "no-colon": "authorization Bearer x", "reserved": "grpc-timeout: 1", "control": "a: b\x01",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := testConfig("127.0.0.1:1")
		c.HeadersFile = path
		if _, err := New(c, Deps{Clock: metrics.NewSystemClock(), Logger: discard()}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
	c := testConfig("127.0.0.1:1")
	c.HeadersFile = filepath.Join(dir, "absent")
	if _, err := New(c, Deps{Clock: metrics.NewSystemClock(), Logger: discard()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file is not there", err)
	}
}
