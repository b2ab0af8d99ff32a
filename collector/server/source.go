package server

import (
	"context"
	"maps"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// source is what is read with one way to authenticate from one host and port, by one goroutine, one request after the other: the server has never
// two of ours at the same time. A page that several targets have is asked for once in each round and becomes the series of each.
type source struct {
	collector *Collector
	client    getter
	replicas  []*replica
	pages     map[pageKey]*page
	round     uint64
	turn      int // of those that did not answer, the one that is asked next
}

// pageKey is what makes two places one page.
type pageKey struct {
	url    string
	format format
}

// run reads until ctx ends.
func (s *source) run(ctx context.Context) {
	defer s.client.Close()
	skipped := func() {
		for _, r := range s.replicas {
			s.collector.log.Skipped(r.options.Target)
		}
	}
	panicked := func() {
		clear(s.pages)
		for _, r := range s.replicas {
			r.broke(s.collector.deps.Clock.Now())
		}
	}
	scrape.Loop(ctx, s.collector.deps.Logger, s.collector.config.Interval, s.collector.deps.Bell, s.look, skipped, panicked)
}

// look is one round. Those that answered last time come first, and of the others, in turn, as many as the interval has time for: pages that hang
// must not make those behind them old.
func (s *source) look(ctx context.Context) {
	s.round++
	ask := func(r *replica) {
		r.scrape(ctx, func(p *place) *reading { return s.page(p).read(ctx, s.round, p, s.collector.timeout) })
	}
	clock := s.collector.deps.Clock
	end := clock.Now() + int64(s.collector.config.Interval)
	var down []*replica
	for _, r := range s.replicas {
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
		found = &page{client: s.client, clock: s.collector.deps.Clock, parser: exposition.NewParser(maxSamples)}
		s.pages[key] = found
	}
	return found
}
