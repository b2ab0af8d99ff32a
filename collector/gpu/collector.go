package gpu

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
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
	HTTP promconfig.HTTPClientConfig
	// Targets are those to which GPUs belong, by name.
	Targets map[string]Selector
	// Observe, if not nil, is told each reading.
	Observe func(*Reading)
	// Bell makes the collector look beside its intervals; nil = there is none.
	Bell *scrape.Bell
}

// Collector implements collector.Collector.
type Collector struct {
	clock     *metrics.SystemClock
	podLabels bool
	owners    owners
	feeds     []*feed // in the order of SourceNames
	logs      []*scrape.Log
}

var _ collector.Collector = (*Collector)(nil)

// New makes one. Errors are those of files and certificates that cannot be read.
func New(c Config, deps Deps) (*Collector, error) {
	owned, err := newOwners(deps.Targets)
	if err != nil {
		return nil, err
	}
	out := &Collector{clock: deps.Clock, podLabels: c.PodLabels, owners: owned}
	names, named := c.sources()
	for _, name := range SourceNames {
		if !slices.Contains(names, name) {
			continue
		}
		asked := c.asked(name)
		log := scrape.NewLog(string(name), deps.Clock, asked...)
		out.logs = append(out.logs, log)
		sources, err := open(&c, name, &deps, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, source := range sources {
			out.feeds = append(out.feeds, &feed{
				name: name, asked: asked[i], source: source, interval: c.interval(name), named: named, certain: name == NVML, log: log, logger: deps.Logger,
				observe: deps.Observe, bell: deps.Bell, gone: map[Identity]loss{},
			})
		}
	}
	return out, nil
}

// asked are whom a source asks: its pages, without credentials. The driver of this machine has none.
func (c *Config) asked(name SourceName) []string {
	if name == NVML {
		return []string{""}
	}
	var out []string
	for _, u := range c.Exporter(name).URLs {
		out = append(out, u.Public())
	}
	return out
}

// open makes the sources of a name: one for each page of an exporter.
func open(c *Config, name SourceName, deps *Deps, log *scrape.Log) ([]Source, error) {
	if name == NVML {
		return []Source{&driver{Source: deps.NVML(c.NVML), log: log, clock: deps.Clock}}, nil
	}
	block := c.Exporter(name)
	var sources []Source
	for _, u := range block.URLs {
		url, err := address(u)
		if err != nil {
			return nil, err
		}
		client, err := scrape.NewClient(scrape.Options{HTTP: deps.HTTP, UserAgent: deps.UserAgent})
		if err != nil {
			return nil, err
		}
		sources = append(sources, &exporter{
			dialect: dialects[name], client: client, url: url, shown: u.Public(), prefix: block.Prefix, wait: min(block.Interval, maxWait),
			log: log, clock: deps.Clock, parser: exposition.NewParser(maxSamples),
		})
	}
	return sources, nil
}

// Run implements collector.Collector.
func (c *Collector) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, f := range c.feeds {
		all.Go(func() { f.run(ctx) })
	}
	all.Wait()
}

// Families implements collector.Collector.
func (c *Collector) Families() []*dto.MetricFamily {
	b := collector.NewBuilder(Table())
	c.show(b, c.clock.Now())
	families := b.Families()
	for _, log := range c.logs {
		families = append(families, log.Families()...)
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
