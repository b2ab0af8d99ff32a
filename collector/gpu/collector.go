package gpu

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Deps are what the collector works with.
type Deps struct {
	Clock     *metrics.SystemClock
	Logger    *slog.Logger
	UserAgent string
	// NVML opens the driver of this machine.
	NVML func(NVMLConfig) Source
	// Observe, if not nil, is told each reading.
	Observe func(*Reading)
	// Bell makes the collector look beside its intervals; nil = there is none.
	Bell *scrape.Bell
	// Panicked, if not nil, is told each panic that was caught.
	Panicked func(cause any)
	// Redactor removes secrets from what others say of themselves; nil = there are none.
	Redactor scrape.Redactor
}

// Collector implements collector.Collector.
type Collector struct {
	deps Deps
	logs map[SourceName]*scrape.Log

	mu        sync.RWMutex
	podLabels bool
	owners    owners
	told      map[string]bool // targets of the configuration
	leaving   map[string]bool // those of them for which Remove was called
	feeds     []*feed         // in the order of SourceNames
	start     func(*feed)     // nil = Run does not run
}

var _ collector.Collector = (*Collector)(nil)

// New makes one. The exporters are asked with http; targets are those to which GPUs belong, by name. Errors are those of files and certificates that
// cannot be read.
func New(c Config, http promconfig.HTTPClientConfig, targets map[string]Selector, deps Deps) (*Collector, error) {
	out := &Collector{deps: deps, logs: newLogs(deps.Clock)}
	first, err := out.Plan(c, http, targets)
	if err != nil {
		return nil, err
	}
	first.Commit()
	return out, nil
}

func newLogs(clock *metrics.SystemClock) map[SourceName]*scrape.Log {
	out := make(map[SourceName]*scrape.Log, len(SourceNames))
	for _, name := range SourceNames {
		out[name] = scrape.NewLog(string(name), clock)
	}
	return out
}

// Run implements collector.Collector.
func (c *Collector) Run(ctx context.Context) {
	var running sync.WaitGroup
	c.mu.Lock()
	c.start = func(f *feed) {
		life, stop := context.WithCancel(ctx)
		f.stop = stop
		running.Go(func() { f.run(life) })
	}
	for _, f := range c.feeds {
		c.start(f)
	}
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.start = nil
	c.mu.Unlock()
	running.Wait()
}

// Families implements collector.Collector.
func (c *Collector) Families() []*dto.MetricFamily {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := collector.NewBuilder(Table())
	c.show(b, c.deps.Clock.Now())
	families := b.Families()
	for _, name := range SourceNames {
		var asked []*scrape.TargetLog
		for _, f := range c.feeds {
			if f.name == name {
				asked = append(asked, f.log)
			}
		}
		if len(asked) > 0 {
			families = append(families, c.logs[name].Families(asked)...)
		}
	}
	return families
}

// show adds all series.
func (c *Collector) show(b *collector.Builder, now int64) {
	views := make([]view, len(c.feeds))
	for i, f := range c.feeds {
		views[i] = f.show(now)
	}
	all := c.seen(views)
	for i := range all {
		all[i].show(b, c.podLabels)
	}
	c.showDown(b, views, all)
	c.showOwned(b, all)
	c.showStates(b, views, all)
}

// sighting is a device as one source sees it.
type sighting struct {
	*Device
	source    SourceName
	gpu       string // UUID of the whole GPU
	preferred bool
}

// place is a device at a source.
type place struct {
	source SourceName
	id     Identity
}

// seen are the devices that answer, each once for each source that sees it.
func (c *Collector) seen(views []view) []sighting {
	type physical struct{ gpu, instance string }
	shown, preferred := map[place]bool{}, map[physical]SourceName{}
	var all []sighting
	for i, f := range c.feeds { // the preferred sources come first
		whole := wholes(views[i].live)
		for j := range views[i].live {
			d := &views[i].live[j]
			at := place{f.name, d.key()}
			if shown[at] {
				continue // on another page, too
			}
			shown[at] = true
			s := sighting{Device: d, source: f.name, gpu: whole.of(d)}
			which := physical{s.gpu, d.Instance}
			if _, taken := preferred[which]; !taken || s.gpu == "" {
				preferred[which] = f.name
			}
			s.preferred = preferred[which] == f.name
			all = append(all, s)
		}
	}
	return all
}

// wholeGPUs are the UUIDs of whole GPUs by host name and index.
type wholeGPUs map[[2]string]string

func wholes(devices []Device) wholeGPUs {
	w := wholeGPUs{}
	for i := range devices {
		if d := &devices[i]; d.Instance == "" {
			w[[2]string{d.Hostname, d.Index}] = d.UUID
		}
	}
	return w
}

// of is the UUID of the whole GPU that a device is, or is a part of. Only the driver gives instances an UUID of their own.
func (w wholeGPUs) of(d *Device) string {
	if d.Instance == "" || !strings.HasPrefix(d.UUID, "MIG-") {
		return d.UUID
	}
	return cmp.Or(w[[2]string{d.Hostname, d.Index}], d.UUID)
}
