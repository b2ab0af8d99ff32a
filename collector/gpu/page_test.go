package gpu

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read applies a dialect to a page.
func read(tb testing.TB, d *dialect, prefix, text string) []Device {
	tb.Helper()
	page, err := exposition.NewParser(maxSamples).Parse([]byte(text), "")
	if err != nil {
		tb.Fatal(err)
	}
	return d.devices(page, prefix)
}

// fed is a collector whose sources have each told a reading.
func fed(tb testing.TB, targets map[string]Selector, readings ...Reading) *Collector {
	tb.Helper()
	owners, err := newOwners(targets)
	if err != nil {
		tb.Fatal(err)
	}
	clock := metrics.NewSystemClock()
	c := &Collector{deps: Deps{Clock: clock}, logs: newLogs(clock), podLabels: true, owners: owners}
	for _, r := range readings {
		f := &feed{
			recipe: recipe{name: r.Source, named: true}, interval: minInterval, certain: r.Source == NVML, log: c.logs[r.Source].Target(""),
			logger: slog.New(slog.DiscardHandler), gone: map[Identity]loss{},
		}
		f.take(context.Background(), &r)
		c.feeds = append(c.feeds, f)
	}
	return c
}

// lines are the series that a collector shows at an instant, without help.
func lines(tb testing.TB, c *Collector, now int64) []string {
	tb.Helper()
	b := collector.NewBuilder(Table())
	c.show(b, now)
	var out bytes.Buffer
	encoder := expfmt.NewEncoder(&out, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range b.Families() {
		if err := encoder.Encode(f); err != nil {
			tb.Fatal(err)
		}
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(out.String()), "\n"), func(line string) bool { return strings.HasPrefix(line, "# HELP") })
}

// about are the lines of the series whose names begin so.
func about(all []string, prefixes ...string) []string {
	var out []string
	for _, line := range all {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) }) {
			out = append(out, line)
		}
	}
	return out
}

func TestEachSamplePageBecomesTheSeriesOfItsGoldenFile(t *testing.T) {
	t.Parallel()
	for name, d := range dialects {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(filepath.Join("testdata", string(name)+".prom"))
			if err != nil {
				t.Fatal(err)
			}
			devices := read(t, d, "", string(page))
			if name == DCGM {
				new(xidHistory).count(devices, 0)
			}
			c := fed(t, map[string]Selector{"chat": {}}, Reading{Source: name, State: OK, Devices: devices})
			got := strings.Join(lines(t, c, 0), "\n") + "\n"
			golden := filepath.Join("testdata", string(name)+".golden")
			if *update {
				if err = os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

// sightings are the devices that a collector shows now.
func (c *Collector) sightings() []sighting {
	views := make([]view, len(c.feeds))
	for i, f := range c.feeds {
		views[i] = f.show(0)
	}
	return c.seen(views)
}

// sorted compares lists in any order.
func sorted(less func(a, b string) bool) cmp.Option { return cmpopts.SortSlices(less) }
