package status

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

func TestLoadsAreDescribedByHowOftenRequestsCome(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "loads.yml")
	err := os.WriteFile(file, []byte(`
loads:
  often: {mode: poisson, rate: 2.5}
  seldom: {mode: constant, interval: 5m}
  workers: {mode: closed}
  tide: {mode: poisson, rate_series: [{at: 0h, rate: 1}, {at: 12h, rate: 2}]}
defaults: {url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}}
targets: [{name: a, load: often}, {name: b, load: seldom}, {name: c}, {name: d, load: workers}, {name: e, load: tide}]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	gc, err := c.Generator()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range gc.Targets {
		got = append(got, describeLoad(&gc.Targets[i]))
	}
	want := []string{"often, poisson 2.5/s", "seldom, constant every 5m0s", "default, constant every 30s", "workers, closed", "tide, poisson"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
