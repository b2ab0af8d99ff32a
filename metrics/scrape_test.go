package metrics

import (
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestAScrapeHoldsNobodyUp stops a scrape at each of its series, as a slow reader would, and lets everything happen meanwhile that a target
// and the daemon do. A lock that a scrape kept while it waits for its reader would stop the test for good.
func TestAScrapeHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	slos := []SLO{testSLO()}
	s := NewStore(Options{Config: DefaultConfig(), Clock: NewSystemClock(), Settings: Settings{SLOs: slos}})
	var targets []*Target
	for _, name := range []string{"a", "b"} {
		targets = append(targets, s.Add(TargetInfo{Name: name, Features: Features{Streaming: true, SLOs: slos}}))
	}
	ch := make(chan prometheus.Metric) // without room: each series waits for its reader
	go func() {
		s.Collect(ch)
		close(ch)
	}()
	series := 0
	for range ch {
		series++
		for _, target := range targets {
			target.Queued()
			flight := target.DequeuedSent()
			flight.Start(1, 2)
			flight.Content(2, Count{})
			flight.Content(3, Count{})
			flight.Finish(goldenTimelines()["plain"].record())
			target.Sent().Finish(goldenTimelines()["empty"].record())
			target.Dropped(DropSchedulerLate, 1)
			target.Queued()
			target.DequeuedDropped(DropQueueTimeout)
			target.SetState(StateRunning)
		}
		s.WokeUp(1, 2)
		s.Prepared(1)
		s.Decoded(1)
		s.InstrumentDelay(1)
		s.Panicked(ComponentRequest)
		another := s.Add(TargetInfo{Name: "c", Features: Features{Streaming: true}})
		another.Update(TargetInfo{Name: "c"})
		s.Remove(another)
		s.Apply(Settings{SLOs: slos, InfoLabels: []string{"team"}[:series%2]})
	}
	if series < 300 {
		t.Errorf("the scrape had %d series", series)
	}
}

// TestAScrapeSettlesABacklogInParts has one request wait for its first token while another streams: what the stream changes can only be
// settled when the first token is there. A scrape must not keep the lock for all of it.
func TestAScrapeSettlesABacklogInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := NewSystemClock()
		s := NewStore(Options{Config: DefaultConfig(), Clock: clock})
		target := s.Add(TargetInfo{Name: "t", Features: Features{Streaming: true}})
		<-time.NewTimer(10 * time.Second).C
		const ms, events = int64(time.Millisecond), 4000
		waiting, streaming := target.Sent(), target.Sent()
		waiting.Start(ms, 1)
		streaming.Start(ms, 1)
		for i := range int64(events) {
			streaming.Content((i+2)*ms+i%7*ms/10, Count{})
		}
		waiting.Content(9000*ms, Count{})
		parts, before := 0, len(target.sweep.pending)
		for more := true; more; parts++ {
			at := len(target.sweep.pending)
			more = target.settleSome()
			if settled := at - len(target.sweep.pending); settled > batch+10 {
				t.Fatalf("%d changes were settled at once, want about %d", settled, batch)
			}
		}
		if before < events || parts < before/(batch+10) {
			t.Errorf("%d changes were settled in %d parts", before, parts)
		}
		target.settle(clock.Now())
		if got := target.sweep.tokens(phaseDecode); math.Abs(got-(events-1)) > 1e-3 {
			t.Errorf("%v tokens, want %d", got, events-1)
		}
	})
}

// BenchmarkWhileScraped is what a send and a chunk cost at worst beside scrapes of 500 targets that never pause, and, in the same run,
// without. A scrape needs processors too: what is shown is the price of its locks together with that.
func BenchmarkWhileScraped(b *testing.B) {
	const targets, chunks, long = 500, 10, 500 * time.Millisecond
	s := benchStore(targets)
	registry := prometheus.NewRegistry()
	registry.MustRegister(s)
	list := slices.Collect(maps.Values(s.targets))
	var alone, beside delays
	scrapes := 0
	alone.measure(list, benchRecord(chunks), long)
	alone = delays{}
	for b.Loop() {
		alone.measure(list, benchRecord(chunks), long)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := registry.Gather(); err != nil {
					b.Error(err)
				}
				scrapes++
			}
		}()
		beside.measure(list, benchRecord(chunks), long)
		close(stop)
		<-done
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(scrapes)/(float64(b.N)*long.Seconds()), "scrapes/s")
	b.ReportMetric(p99(alone.sends), "p99-send-ns")
	b.ReportMetric(p99(beside.sends), "p99-send-scraped-ns")
	b.ReportMetric(p99(alone.chunks), "p99-chunk-ns")
	b.ReportMetric(p99(beside.chunks), "p99-chunk-scraped-ns")
}

// delays are how long calls of the store took.
type delays struct{ sends, chunks []time.Duration }

func (d *delays) measure(targets []*Target, r *Record, long time.Duration) {
	start := time.Now()
	for i := 0; time.Since(start) < long; i++ {
		began := time.Now()
		flight := targets[i%len(targets)].Sent()
		d.sends = append(d.sends, time.Since(began))
		flight.Start(r.Time.Start, 128)
		for _, at := range r.Content {
			began = time.Now()
			flight.Content(at, Count{})
			d.chunks = append(d.chunks, time.Since(began))
		}
		flight.Finish(r)
	}
}

func p99(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)*99/100])
}
