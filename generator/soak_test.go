//go:build soak

package generator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// TestThreeDaysTakeConstantMemory runs four targets for 72 hours of simulated time, about a million requests, with a scrape every 15 seconds.
// What the process keeps must not grow with time: not the series, not the queues, not what is remembered of requests that have ended.
func TestThreeDaysTakeConstantMemory(t *testing.T) {
	const whole, scrapeEvery = 72 * time.Hour, 15 * time.Second
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "http://simulated", func(c *generator.TargetConfig) { c.Client.Timestamps = transport.ReadTimestamps })
		r.deps.Observer = nil // it keeps every record
		wait(time.Second)     // the instant 0 means that something did not happen
		ctx, stop := context.WithTimeout(t.Context(), whole)
		defer stop()
		var running sync.WaitGroup
		r.runAll(ctx, t, &running)
		begin := r.clock.Now()
		scrape := time.NewTicker(scrapeEvery)
		defer scrape.Stop()
		var heaps []uint64
		for _, share := range []float64{.01, .25, .5, .75, 1} {
			for float64(r.clock.Now()-begin) < share*float64(whole)-float64(scrapeEvery) {
				<-scrape.C
				r.gather(t)
			}
			heaps = append(heaps, heap())
			f := r.gather(t)
			t.Logf("%3.0f %%: %7.0f requests, %5.0f of them failed, %5.0f arrivals dropped; heap in use %d KiB, %d goroutines", share*100,
				sum(f["aiperf_requests_total"], ""), sum(f["aiperf_request_errors_total"], ""), sum(f["aiperf_arrivals_dropped_total"], ""),
				heaps[len(heaps)-1]>>10, runtime.NumGoroutine())
		}
		running.Wait()
		if requests := sum(r.gather(t)["aiperf_requests_total"], ""); requests < 1e6 {
			t.Errorf("%v requests, want a million", requests)
		}
		const most = 512 << 10 // buckets that are used late for the first time
		for _, h := range heaps[1:] {
			if h > heaps[0]+most {
				t.Errorf("the heap grew from %d to %d KiB", heaps[0]>>10, h>>10)
			}
		}
	})
}

// runAll runs targets with all the ways in which a load can meet a slow server.
func (r *rig) runAll(ctx context.Context, t *testing.T, running *sync.WaitGroup) {
	t.Helper()
	for i, change := range []func(*load.Config){
		func(c *load.Config) { c.Mode, c.Rate, c.MaxInFlight = load.Poisson, 1.5, 10 },
		func(c *load.Config) {
			c.Mode, c.Rate, c.MaxInFlight, c.OnFull = load.Poisson, 1, 2, load.Queue
			c.Queue = load.QueueConfig{Size: 20, MaxWait: 20 * time.Second}
		},
		func(c *load.Config) { c.Rate, c.MaxInFlight = 1, 1 },
		func(c *load.Config) { c.Mode, c.Rate, c.MaxInFlight = load.Poisson, 1, 50 },
	} {
		r.config.Name = fmt.Sprint("target-", i)
		r.config.Load = load.DefaultConfig()
		change(&r.config.Load)
		target := r.target(t)
		target.Carry(&moody{clock: r.clock, random: rand.New(rand.NewPCG(uint64(i), 1))})
		running.Go(func() { target.Run(ctx, time.Minute, 0) })
	}
}

// moody is a server in the time of a synctest bubble that does what servers do: short and long answers, chunks of several tokens, refusals
// with any code, streams that end too early or never begin, and in each hour a minute in which it stands still.
type moody struct {
	clock *metrics.SystemClock

	mu     sync.Mutex // guards the source
	random *rand.Rand
}

// Do implements the generator's client.
func (s *moody) Do(ctx context.Context, _ *transport.Request, timeline *metrics.Timeline, handler transport.Handler) transport.Answer {
	s.mu.Lock()
	mood, chunks, first, gap := s.random.IntN(100), 1+s.random.IntN(7), s.random.ExpFloat64()*.2, s.random.ExpFloat64()*.1
	s.mu.Unlock()
	timeline.Start = s.clock.Now()
	timeline.Sent = timeline.Start
	handler.Start(timeline.Start)
	defer func() { timeline.End = s.clock.Now() }()
	if stands := time.Duration(timeline.Start) % time.Hour; stands < time.Minute {
		wait(time.Minute - stands)
	}
	wait(time.Duration(first * float64(time.Second)))
	switch {
	case ctx.Err() != nil:
		return transport.Answer{Cancelled: true}
	case mood < 4:
		code := 400 + (mood+int(s.clock.Now()/int64(time.Hour)))%200
		return transport.Answer{Status: code, ErrorBody: []byte(`{"error":{"message":"no"}}`), ConnObtained: true}
	case mood < 6:
		return transport.Answer{Class: metrics.ErrTimeoutFirstToken, Err: errors.New("too late"), ConnObtained: true}
	}
	for i := range chunks {
		s.send(handler, i, fmt.Sprintf(`{"model":"m%d","choices":[{"index":0,"delta":{"content":"a"}}]}`, mood))
		wait(time.Duration(gap * float64(time.Second)))
	}
	if mood >= 8 { // not cut off
		s.send(handler, chunks, fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, 2*chunks))
	}
	return transport.Answer{Status: http.StatusOK, Stream: true, ConnObtained: true, ConnReused: mood%10 > 0, KernelStamps: true, KernelDelay: 1000}
}

func (s *moody) send(handler transport.Handler, n int, data string) {
	handler.Event(&transport.Event{Data: []byte(data), At: s.clock.Now(), Read: int64(n)})
}

// Close implements the generator's client.
func (*moody) Close() {}
