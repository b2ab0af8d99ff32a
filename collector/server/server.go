// Package server reads the metrics of the inference servers behind the targets and shows them under one name whatever the server is called
// (collector/server/mapping). It finds the page, notices replicas, restarts and silence, and never touches the connections of the traffic.
//
// To look for pages at another place: a line in spots (place.go).
package server

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// maxTimeout is the longest that a page may take.
const maxTimeout = 5 * time.Second

// Target is what the collector needs to know of a target.
type Target struct {
	Name, URL, Model string
	Config           TargetConfig
	HTTP             promconfig.HTTPClientConfig
	// Credential gives the header that authenticates the target's own requests, if auth is inherit and they have one.
	Credential func() (header, value string, err error)
	// CredentialKey tells credentials from each other, which functions cannot: where it is the same, so is what Credential gives. It is no secret.
	CredentialKey string
}

// Deps are what the collector works with.
type Deps struct {
	Clock     *metrics.SystemClock
	Logger    *slog.Logger
	UserAgent string
	// Observe, if not nil, is told each page that was read, mapped, and when: the normalised families, without counters and histograms while
	// they are withheld.
	Observe func(target, instance string, at int64, families []*dto.MetricFamily)
	// Bell makes the collector look beside its intervals; nil = there is none.
	Bell *scrape.Bell
	// Resolver tells which endpoints are on public addresses; nil = that of the system.
	Resolver Resolver
	// Panicked, if not nil, is told each panic that was caught.
	Panicked func(cause any)
	// Redactor removes secrets from what others say of themselves; nil = there are none.
	Redactor scrape.Redactor
}

// Collector implements collector.Collector.
type Collector struct {
	deps      Deps
	newClient func(scrape.Options) (getter, error)
	log       *scrape.Log

	mu       sync.RWMutex
	settings *settings
	targets  map[string]*target // that are read, by name
	told     map[string]bool    // targets of the configuration, read or not
	sources  []*source          // that read, or may soon
	start    func(*source)      // nil = Run does not run
}

var _ collector.Collector = (*Collector)(nil)

// target is what the replicas of one share.
type target struct {
	given    Target // without Credential
	settings *settings
	replicas []*replica
	log      *scrape.TargetLog // set before it is read
	leaving  bool              // Remove was called; guarded by Collector.mu
}

// settings are a configuration, and what follows from it.
type settings struct {
	Config

	timeout    time.Duration // of one request
	staleAfter time.Duration
}

func newSettings(c Config) *settings {
	s := &settings{Config: c, timeout: min(c.Interval, maxTimeout), staleAfter: 2 * c.Interval}
	if c.StaleAfter != nil {
		s.staleAfter = *c.StaleAfter
	}
	return s
}

// mixed tells whether one of its pages is that of several replicas in turn.
func (t *target) mixed() bool {
	for _, r := range t.replicas {
		if r.snapshot.Load().mixed {
			return true
		}
	}
	return false
}

// New makes one. Errors are those of files and certificates that cannot be read.
func New(c Config, targets []Target, deps Deps) (*Collector, error) {
	return newCollector(c, targets, deps, func(o scrape.Options) (getter, error) { return scrape.NewClient(o) })
}

func newCollector(c Config, targets []Target, deps Deps, newClient func(scrape.Options) (getter, error)) (*Collector, error) {
	if deps.Resolver == nil {
		deps.Resolver = net.DefaultResolver
	}
	out := &Collector{deps: deps, newClient: newClient, log: scrape.NewLog("server", deps.Clock)}
	first, err := out.Plan(c, targets)
	if err != nil {
		return nil, err
	}
	first.Commit()
	return out, nil
}

// Run implements collector.Collector.
func (c *Collector) Run(ctx context.Context) {
	var running sync.WaitGroup
	c.mu.Lock()
	c.start = func(s *source) {
		life, stop := context.WithCancel(ctx)
		s.stop = stop
		running.Go(func() { s.run(life) })
	}
	c.settle()
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
	now := c.deps.Clock.Now()
	b := collector.NewBuilder(ownTable())
	var out []*dto.MetricFamily
	logs := make([]*scrape.TargetLog, 0, len(c.targets))
	for _, name := range slices.Sorted(maps.Keys(c.targets)) {
		t := c.targets[name]
		out = append(out, t.families(b, now)...)
		logs = append(logs, t.log)
	}
	out = append(out, b.Families()...)
	return append(out, c.log.Families(logs)...)
}

// families adds the state of the target, and gives what its replicas have to show.
func (t *target) families(b *collector.Builder, now int64) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	var dropped int
	unmapped := map[string]int{}
	found, read, mixed := false, false, t.mixed()
	for _, r := range t.replicas {
		s := r.snapshot.Load()
		if !s.found {
			continue
		}
		found = true
		up := 0.0
		if s.up {
			up = 1
		}
		b.Add(seriesUp, up, t.given.Name, r.options.Instance)
		b.Add(seriesRestarts, s.restarts, t.given.Name, r.options.Instance)
		if !s.fresh(now, t.settings.staleAfter) {
			continue
		}
		read = true
		dropped += s.dropped
		for reason, n := range s.unmapped {
			unmapped[reason] += n
		}
		if mixed {
			out = append(out, s.gauges...)
		} else {
			out = append(out, s.all...)
		}
	}
	if found {
		value := 0.0
		if mixed {
			value = 1
		}
		b.Add(seriesMixed, value, t.given.Name)
	}
	if read {
		b.Add(seriesDropped, float64(dropped), t.given.Name)
		for _, reason := range unmappedReasons {
			b.Add(seriesUnmapped, float64(unmapped[reason]), t.given.Name, reason)
		}
	}
	return out
}
