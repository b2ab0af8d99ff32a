package discovery

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	sd "github.com/prometheus/prometheus/discovery"
)

// exposed is what the series of a set say, without their help.
func exposed(t *testing.T, d *Discovery, names ...string) string {
	t.Helper()
	var lines []string
	for _, family := range d.Families() {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetName()+"="+pair.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			if slices.Contains(names, family.GetName()) {
				lines = append(lines, strings.TrimPrefix(family.GetName(), "aiperf_exporter_discovery_")+" "+strings.Join(labels, " ")+" "+number(value))
			}
		}
	}
	return strings.Join(lines, "\n")
}

func number(v float64) string { return time.Duration(v * float64(time.Second)).String() }

func TestSeriesOfASetAreThereFromItsBeginning(t *testing.T) {
	t.Parallel()
	d := newDiscovery(t)
	began := time.Unix(1000, 0)
	d.deps.Now = func() time.Time { return began }
	if got := d.Families(); len(got) != 0 {
		t.Errorf("without a set there are %d families", len(got))
	}
	if err := d.Apply([]SetConfig{{Name: "s", Configs: sd.Configs{newScripted()}}}); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"dropped_targets reason=relabelled set=s 0s", "dropped_targets reason=invalid set=s 0s", "dropped_targets reason=duplicate set=s 0s",
		"dropped_targets reason=max_targets set=s 0s", "dropped_targets reason=global_max_targets set=s 0s", "dropped_targets reason=max_series set=s 0s",
		"failures_total set=s 0s", "last_success_timestamp_seconds set=s 16m40s", "targets set=s 0s",
	}, "\n")
	if diff := cmp.Diff(want, exposed(t, d.Discovery, droppedSeries, failuresSeries, successSeries, targetsSeries)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSeriesTellWhatBecameOfTheTargets(t *testing.T) {
	t.Parallel()
	s := newScripted()
	inBubble(t, s, time.Minute, func(d *Discovery) {
		<-d.Changed()
		s.answers <- targetsOf("a", "b", "c", "d")
		<-d.Changed()
		d.Settled(d.Found(), []Dropped{
			{Set: "s", Name: "a", Reason: Invalid},
			{Set: "s", Name: "b", Reason: Invalid},
			{Set: "s", Name: "c", Reason: Duplicate},
			{Set: "gone", Name: "d", Reason: Invalid},
		})
		for _, target := range d.Found()[0].Targets {
			if target.Used != (target.Name == "d") {
				t.Errorf("target %s is told to be used: %v", target.Name, target.Used)
			}
		}
		got := exposed(t, d, droppedSeries, targetsSeries)
		for _, want := range []string{"targets set=s 1s", "reason=invalid set=s 2s", "reason=duplicate set=s 1s", "reason=max_targets set=s 0s"} {
			if !strings.Contains(got, want) {
				t.Errorf("there is no %q in\n%s", want, got)
			}
		}
	})
}

func TestFailuresAreCountedOverAnotherConfiguration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "targets.json")
	replaceFile(t, path, "[{")
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "file_sd_configs", "files: ["+path+"]\n")}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "an error", func(found []Set) bool { return found[0].LastError != "" })
	replaceFile(t, path, list("a:1"))
	d.await(t, "a target", names("a:1"))
	before := d.sets["fleet"].failures()
	if err := d.Apply([]SetConfig{setOf(t, "file_sd_configs", "files: ["+path+"]\nrefresh_interval: 1h\n")}); err != nil {
		t.Fatal(err)
	}
	if after := d.sets["fleet"].failures(); before == 0 || after < before {
		t.Errorf("%d failures before and %d after", before, after)
	}
}

func TestTheSeriesOfPrometheusAreThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "targets.json")
	replaceFile(t, path, list("a:1"))
	d := start(t)
	if err := d.Apply([]SetConfig{setOf(t, "file_sd_configs", "files: ["+path+"]\n")}); err != nil {
		t.Fatal(err)
	}
	d.await(t, "a target", names("a:1"))
	gathered, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range gathered {
		got = append(got, family.GetName())
	}
	for _, want := range []string{
		"prometheus_sd_discovered_targets", "prometheus_sd_failed_configs", "prometheus_sd_received_updates_total", "prometheus_sd_updates_total",
		"prometheus_sd_updates_delayed_total", "prometheus_sd_file_mtime_seconds", "prometheus_sd_file_read_errors_total",
		"prometheus_sd_dns_lookups_total", "prometheus_sd_dns_lookup_failures_total", "prometheus_sd_http_failures_total",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %s among %v", want, got)
		}
	}
}

func TestTheSeriesOfTheRoomPassTheLinter(t *testing.T) {
	t.Parallel()
	d := newDiscovery(t)
	if err := d.Apply([]SetConfig{{Name: "s", Configs: sd.Configs{newScripted()}}}); err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(d.Families()).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
