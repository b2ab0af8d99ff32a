package server

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// source is what is read with one way to authenticate from one host and port, by one goroutine, one request after the other: the server has never
// two of ours at the same time. A page that several targets have is asked for once in each round and becomes the series of each.
type source struct {
	key      sourceKey
	http     promconfig.HTTPClientConfig
	deps     *Deps
	settings *settings
	client   getter
	replicas atomic.Pointer[[]*replica]

	// Guarded by Collector.mu.
	plans int                // changes that may use it
	stop  context.CancelFunc // nil = it does not run

	// Only its goroutine uses the rest.
	pages map[pageKey]*page
	round uint64
	turn  int // of those that did not answer, the one that is asked next
}

// pageKey is what makes two places one page.
type pageKey struct {
	url    string
	format format
}

// settle gives each source the replicas that it reads, starts those that have some, and ends those that nobody uses. The caller holds mu.
func (c *Collector) settle() {
	replicas := map[*source][]*replica{}
	for _, name := range slices.Sorted(maps.Keys(c.targets)) {
		for _, r := range c.targets[name].replicas {
			replicas[r.source] = append(replicas[r.source], r)
		}
	}
	c.sources = slices.DeleteFunc(c.sources, func(s *source) bool {
		read := replicas[s]
		s.replicas.Store(&read)
		switch {
		case len(read) == 0 && s.plans == 0:
			s.end()
			return true
		case len(read) > 0 && s.stop == nil && c.start != nil:
			c.start(s)
		}
		return false
	})
}

// end makes run end, and closes the connections.
func (s *source) end() {
	if s.stop != nil {
		s.stop()
		return
	}
	s.client.Close()
}

// run reads until ctx ends.
func (s *source) run(ctx context.Context) {
	defer s.client.Close()
	skipped := func() {
		for _, r := range *s.replicas.Load() {
			r.target.log.Skipped()
		}
	}
	panicked := func(cause any) {
		clear(s.pages)
		for _, r := range *s.replicas.Load() {
			r.broke(s.deps.Clock.Now())
		}
		if s.deps.Panicked != nil {
			s.deps.Panicked(cause)
		}
	}
	scrape.Loop(ctx, s.deps.Logger, s.settings.Interval, s.deps.Bell, s.look, skipped, panicked)
}

// look is one round. Those that answered last time come first, and of the others, in turn, as many as the interval has time for: pages that hang
// must not make those behind them old.
func (s *source) look(ctx context.Context) {
	s.round++
	ask := func(r *replica) {
		r.scrape(ctx, func(p *place) *reading { return s.page(p).read(ctx, s.round, p, s.settings.timeout) })
	}
	clock := s.deps.Clock
	end := clock.Now() + int64(s.settings.Interval)
	var down []*replica
	for _, r := range *s.replicas.Load() {
		if r.snapshot.Load().up {
			ask(r)
		} else {
			down = append(down, r)
		}
	}
	for range down {
		next := down[s.turn%len(down)]
		s.turn++ // before it is asked, so that one that makes this program panic is not asked first for ever
		if ask(next); clock.Now() >= end {
			break
		}
	}
	// What was only tried, or failed, is not kept.
	maps.DeleteFunc(s.pages, func(_ pageKey, p *page) bool { return p.round != s.round || p.last.err != nil })
}

func (s *source) page(p *place) *page {
	key := pageKey{url: p.url, format: p.format}
	found, ok := s.pages[key]
	if !ok {
		found = &page{client: s.client, clock: s.deps.Clock, parser: exposition.NewParser(maxSamples)}
		s.pages[key] = found
	}
	return found
}
