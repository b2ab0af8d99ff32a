package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/release"
)

func TestHelmHasNothingToSay(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, _, text string) {
		t.Helper()
		values, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		version, err := chartutil.ParseKubeVersion(kubernetes)
		if err != nil {
			t.Fatal(err)
		}
		found := lint.AllWithKubeVersionAndSchemaValidation(filepath.Join(root, "deploy", Folder), values, Namespace, version, false)
		for _, m := range found.Messages {
			if m.Severity > support.InfoSev {
				t.Error(m)
			}
		}
	})
}

// Helm keeps the chart and all that it rendered in a Secret, which may have 1 MiB.
func TestAReleaseFitsIntoItsSecret(t *testing.T) {
	t.Parallel()
	c := load(t)
	r, err := Render(c, "{prometheusRule: {enabled: true}, dashboards: {enabled: true}, gpuAgent: {enabled: true}}")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(release.Release{Name: Release, Chart: c, Manifest: Texts(r.Objects)})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if size := base64.StdEncoding.EncodedLen(b.Len()); size > 512<<10 {
		t.Errorf("a release has %d bytes", size)
	} else {
		t.Logf("a release has %d bytes", size)
	}
}

func TestTheNotesSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, values, want string }{
		{"a configuration", "", "--set-file config=aiperf-exporter.yml"},
		{"somebody who scrapes", "", "Nobody is told to scrape it"},
		{"the sum of shards", "sharding: {replicas: 3}", "3 exporters share the load"},
		{"that two monitors are one too many", "{podMonitor: {enabled: true}, serviceMonitor: {enabled: true}}", "scraped twice"},
		{"how it is asked with TLS", "webConfig: {tlsSecret: a}", "https://127.0.0.1:9749/"},
		{"that nothing is sent", "replicas: 0", "no load is sent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := Render(load(t), test.values)
			if err != nil || !strings.Contains(r.Notes, test.want) {
				t.Errorf("%v, no %q in\n%s", err, test.want, r.Notes)
			}
		})
	}
	r, err := Render(load(t), "{config: {targets: []}, serviceMonitor: {enabled: true}}")
	if err != nil || strings.Contains(r.Notes, "no configuration") || strings.Contains(r.Notes, "Nobody") {
		t.Errorf("%v, what is there is missed:\n%s", err, r.Notes)
	}
}
