package generator_test

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// TestOpenLoopAgainstAServerThatStalls (vllm-project/guidellm#1048): 20 requests a second for 10 s, at most 10 at a time; what the
// server receives between 3 s and 5 s waits until 5 s.
func TestOpenLoopAgainstAServerThatStalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s: the case's figures are those of a 10 s run")
	}
	inTime(t, func() []string { return runStall(t) })
}

func runStall(t *testing.T) (late []string) {
	t.Helper()
	const requests, stalled, recovered = 200, 3 * time.Second, 5 * time.Second
	var begin sync.Once
	var began time.Time
	server := startScriptServer(t, func(request *scriptRequest) script {
		begin.Do(func() { began = request.read })
		ms := 20.
		if since := request.read.Sub(began); since >= stalled && since < recovered {
			ms = max(ms, (recovered-since).Seconds()*1e3)
		}
		return stream(at(ms, content("a"), finish("stop"), usage(1, 1), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight = load.Constant, 20, 10
		cfg.Load.OnFull, cfg.Load.Queue = load.Queue, load.QueueConfig{Size: 100, MaxWait: 10 * time.Second}
	})
	all := rig.run(t, requests)

	wantSuccesses(t, server, all, requests)
	wantArrivals(t, rig, requests)
	if n := rig.series(t, "aiperf_schedule_delay_seconds"); n != requests {
		t.Errorf("%v schedule delays were observed, want %d", n, requests)
	}
	var service, scheduled, delays []float64
	slow := 0.
	for i, o := range all {
		if got := time.Duration(o.record.Time.Sched - all[0].record.Time.Sched); got%(50*time.Millisecond) != 0 {
			t.Errorf("request %d was scheduled at %v: the stall moved the schedule", i, got)
		}
		service = append(service, o.measures.RequestLatency.V)
		scheduled = append(scheduled, o.measures.EffectiveLatency.V)
		delays = append(delays, o.measures.ScheduleDelay.V)
		if o.measures.EffectiveLatency.V > .5 {
			slow++
		}
	}
	return slices.Concat(
		outside("p90 from the scheduled start", quantile(scheduled, .90), .95, 1.2),
		outside("p95 from the scheduled start", quantile(scheduled, .95), 1.4, 1.7),
		outside("mean from the scheduled start", mean(scheduled), .20, .26),
		outside("requests over 0.5 s from the scheduled start", slow, 29, 35),
		outside("mean from the real start", mean(service), .09, .13),
		outside("p90 from the real start", quantile(service, .90), .017, .035),
		outside("p90 of the schedule delay", quantile(delays, .90), .5, 1.2),
		outside("p90 of the schedule delay in the last 4 s", quantile(delays[requests-80:], .9), 0, .015),
		outside("arrivals that were dropped", rig.series(t, "aiperf_arrivals_dropped_total"), 0, 0),
	)
}

// TestStallWithoutAQueueCountsWhatIsNotSent is the server that stalls with on_full: drop, shortened: arrivals that find no slot are counted.
func TestStallWithoutAQueueCountsWhatIsNotSent(t *testing.T) {
	t.Parallel()
	const requests, held, most = 12, 2, 25
	dropped := &drops{enough: make(chan struct{})}
	server := startScriptServer(t, func(request *scriptRequest) script {
		if request.number < held { // all slots are taken until so many arrivals have found none
			select {
			case <-dropped.enough:
			case <-time.NewTimer(30 * time.Second).C:
			}
		}
		return stream(at(0, content("a"), finish("stop"), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight, cfg.Load.OnFull = load.Constant, 50, held, load.Drop
	})
	dropped.rig, dropped.most, rig.deps.Observer = rig, most, dropped
	rig.run(t, requests)
	wantArrivals(t, rig, requests)
	if n := rig.series(t, "aiperf_arrivals_dropped_total", "reason", "in_flight"); n < most {
		t.Errorf("%v arrivals were dropped for want of a slot, want %d at least", n, most)
	}
}

// drops is an observer that tells when so many arrivals have found no slot.
type drops struct {
	*rig
	most   int64
	seen   atomic.Int64
	enough chan struct{}
}

func (d *drops) Dropped(_ string, reason metrics.DropReason, n int64) {
	if reason != metrics.DropInFlight {
		return
	}
	if seen := d.seen.Add(n); seen >= d.most && seen-n < d.most {
		close(d.enough)
	}
}

// wantArrivals wants every arrival to be accounted for.
func wantArrivals(t *testing.T, rig *rig, sent float64) {
	t.Helper()
	if got := rig.series(t, "aiperf_arrivals_sent_total"); got != sent {
		t.Errorf("%v arrivals were sent, want %v", got, sent)
	}
	total, dropped := rig.series(t, "aiperf_arrivals_total"), rig.series(t, "aiperf_arrivals_dropped_total")
	queued := rig.series(t, "aiperf_inflight_requests", "phase", "queued")
	if total != sent+dropped+queued {
		t.Errorf("%v arrivals, but %v sent, %v dropped and %v queued", total, sent, dropped, queued)
	}
}

// wantSuccesses wants that many requests, and each to succeed with one content event.
func wantSuccesses(t *testing.T, server *scriptServer, all []observed, requests int) {
	t.Helper()
	if len(all) != requests || len(server.seen()) != requests {
		t.Fatalf("%d records, the server has seen %d requests, want %d", len(all), len(server.seen()), requests)
	}
	for i := range all {
		if r := &all[i].record; r.Outcome != metrics.Success || len(r.Content) != 1 {
			t.Fatalf("request %d: %s %s, %d content events: %s", i, r.Outcome, r.Class, len(r.Content), r.Detail)
		}
	}
}

// quantile is the smallest value that a share q of the values does not exceed.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// TestManyParallelStreams (gpustack/gpustack#2324, Azure/azure-openai-benchmark#8): a wave of 150 requests to one host, each with its
// first token after a second.
func TestManyParallelStreams(t *testing.T) {
	t.Parallel()
	const requests = 150
	inTime(t, func() []string {
		server, rig, all := runWave(t, 1000, requests, requests)
		late := wantFirstTokens(t, server, rig, all)
		if most := server.mostParallel(); most != requests {
			late = append(late, fmt.Sprintf("%d requests were open at the same time, want %d", most, requests))
		}
		conns := map[int]bool{}
		for _, request := range server.seen() {
			conns[request.conn] = true
		}
		if len(conns) != requests {
			t.Errorf("%d connections were used, want %d", len(conns), requests)
		}
		for _, o := range all {
			late = append(late, outside("TTFT in s", o.measures.TTFT.V, 1, 1.1)...)
			// There is no second wave, which would start when the first has ended.
			late = append(late, outside("schedule delay in s", o.measures.ScheduleDelay.V, 0, .1)...)
		}
		wantArrivals(t, rig, requests)
		return late
	})
}

// TestALimitOfParallelStreamsShowsAsWaiting is the other side of it: with a limit below the demand, the wait is a phase of its own and not
// the server's.
func TestALimitOfParallelStreamsShowsAsWaiting(t *testing.T) {
	t.Parallel()
	const requests, limit = 40, 20
	inTime(t, func() []string {
		server, rig, all := runWave(t, 300, requests, limit)
		late := wantFirstTokens(t, server, rig, all)
		switch most := server.mostParallel(); {
		case most > limit:
			t.Errorf("%d requests were open at the same time, the limit is %d", most, limit)
		case most < limit: // the first have ended before the last of them came
			late = append(late, fmt.Sprintf("%d requests were open at the same time, the limit is %d", most, limit))
		}
		for i, o := range all {
			late = append(late, outside("TTFT in s", o.measures.TTFT.V, .3, .4)...)
			if i >= limit {
				late = append(late, outside("schedule delay in s of a request that had to wait", o.measures.ScheduleDelay.V, .25, .4)...)
			}
		}
		wantArrivals(t, rig, requests)
		return late
	})
}

// runWave wants that many requests at once, of which limit may run, from a server that thinks before its only token.
func runWave(t *testing.T, thinkingMS float64, requests, limit int) (*scriptServer, *rig, []observed) {
	t.Helper()
	server := startScriptServer(t, func(*scriptRequest) script {
		return stream(at(thinkingMS, content("a"), finish("stop"), usage(1, 1), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight = load.Constant, 5000, limit
		cfg.Load.OnFull, cfg.Load.Queue = load.Queue, load.QueueConfig{Size: requests, MaxWait: time.Minute}
	})
	all := rig.run(t, int64(requests))
	wantSuccesses(t, server, all, requests)
	return server, rig, all
}

// wantFirstTokens compares each first token with the server's write of it.
func wantFirstTokens(t *testing.T, server *scriptServer, rig *rig, all []observed) (late []string) {
	t.Helper()
	for i := range server.seen() {
		request, writes := server.wait(t, i)
		r := recordOf(t, all, request)
		late = append(late, rig.misplaced("first token", r.Content[0], r.Time.Start, writes[0], writes[0])...)
	}
	return late
}

// TestASilentStreamDelaysNobody (lightseekorg/tokenspeed#134, noonghunna/benchlocal-cli#157): of four parallel streams one goes silent.
func TestASilentStreamDelaysNobody(t *testing.T) {
	t.Parallel()
	inTime(t, func() []string { return runSilence(t) })
}

func runSilence(t *testing.T) (late []string) {
	t.Helper()
	const requests, silent = 12, 1
	server := startScriptServer(t, func(request *scriptRequest) script {
		if request.number == silent {
			return silence(at(20, role(), content("a")))
		}
		return stream(at(20, role(), content("a")), at(300, content("b"), finish("stop"), usage(1, 2), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Interval, cfg.Load.MaxInFlight = load.Constant, 110*time.Millisecond, 4
		cfg.Client.Timeouts.Total, cfg.Client.Timeouts.Idle = 60*time.Second, 500*time.Millisecond
	})
	all := rig.run(t, requests)
	for i := range server.seen() {
		request, writes := server.wait(t, i)
		r := recordOf(t, all, request)
		if i != silent {
			if r.Class == metrics.ErrTimeoutIdle { // on a machine that stood still for half a second
				return append(late, fmt.Sprintf("request %d: %s", i, r.Detail))
			}
			if r.Outcome != metrics.Success {
				t.Fatalf("request %d: %s %s: %s", i, r.Outcome, r.Class, r.Detail)
			}
			late = append(late, rig.misplaced("last token", r.Content[1], r.Time.Start, writes[1], writes[1])...)
			continue
		}
		if r.Outcome != metrics.Failure || r.Class != metrics.ErrTimeoutIdle {
			t.Fatalf("silent request: %s %s (%s), want error timeout_idle", r.Outcome, r.Class, r.Detail)
		}
		if request.gone.IsZero() {
			t.Error("silent request: its connection was not closed")
		}
		late = append(late, outside("silence in s that was borne", metrics.Seconds(r.Time.End-rig.clock.At(writes[0].before)), .5, .56)...)
		late = append(late, outside("life in s of the silent connection", request.gone.Sub(writes[0].before).Seconds(), .5, .56)...)
	}
	for _, o := range all {
		late = append(late, outside("schedule delay in s", o.measures.ScheduleDelay.V, 0, .05)...)
	}
	if n := rig.series(t, "aiperf_time_to_first_token_seconds"); n != requests-1 {
		t.Errorf("%v times to first token were observed, want those of the %d successes", n, requests-1)
	}
	// The schedule has an arrival every 110 ms and a request takes 300 ms: with the silent one there are at most four, so none is dropped.
	if dropped := rig.series(t, "aiperf_arrivals_dropped_total"); dropped > 0 {
		late = append(late, fmt.Sprintf("%v arrivals were dropped", dropped))
	}
	return late
}

// recordOf finds the record of a request.
func recordOf(t *testing.T, all []observed, request *scriptRequest) *metrics.Record {
	t.Helper()
	id := request.header.Get("X-Request-Id")
	i := slices.IndexFunc(all, func(o observed) bool { return o.record.RequestID == id })
	if i < 0 {
		t.Fatalf("request %d (%s) has no record", request.number, id)
	}
	return &all[i].record
}

// TestTimeoutsLeaveNothingBehind looks at what is left: after 100 failures there are as many goroutines and descriptors as before. It is not
// parallel because it counts those of the process.
func TestTimeoutsLeaveNothingBehind(t *testing.T) {
	const rounds, parallel = 4, 25
	server := startScriptServer(t, func(*scriptRequest) script { return silence(at(0, role(), content("a"))) })
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) { cfg.Client.Timeouts.Idle = 100 * time.Millisecond })
	target := rig.target(t)
	others := goleak.IgnoreCurrent()
	before := descriptors(t)
	for range rounds {
		var wave sync.WaitGroup
		for range parallel {
			wave.Go(func() { target.Once(t.Context()) })
		}
		wave.Wait()
	}
	for i, o := range rig.records() {
		if o.record.Class != metrics.ErrTimeoutIdle {
			t.Errorf("request %d: %s %s: %s", i, o.record.Outcome, o.record.Class, o.record.Detail)
		}
	}
	for i := range rounds * parallel {
		if request, _ := server.wait(t, i); request.gone.IsZero() {
			t.Errorf("connection of request %d is still open", i)
		}
	}
	// Waits until the goroutines of net/http and of the server's connections have ended.
	goleak.VerifyNone(t, others)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}

// descriptors is the number of open descriptors of the process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no list of open descriptors here: %v", err)
	}
	return len(entries)
}

// TestRefusalsAreNeitherLatencyNorRetried (patibandlavenkatamanideep/memoryops-ai#147, Azure/azure-openai-benchmark#20): every third
// of 60 requests is answered with 429.
func TestRefusalsAreNeitherLatencyNorRetried(t *testing.T) {
	t.Parallel()
	const requests, refused = 60, 20
	server := startScriptServer(t, func(request *scriptRequest) script {
		if request.number%3 == 2 {
			return reply(2, "429 Too Many Requests", "Content-Type: application/json\r\nRetry-After: 1\r\n",
				`{"error":{"message":"slow down","type":"rate_limit_error"}}`)
		}
		return stream(at(100, content("a"), finish("stop"), usage(1, 1), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight = load.Constant, 50, requests
	})
	all := rig.run(t, requests)

	if n := len(server.seen()); n != requests {
		t.Errorf("the server has seen %d requests, want exactly %d", n, requests)
	}
	wantArrivals(t, rig, requests)
	for i := range server.seen() {
		request, _ := server.wait(t, i)
		r := recordOf(t, all, request)
		if i%3 != 2 {
			if r.Outcome != metrics.Success || r.Content[0]-r.Time.Start < int64(100*time.Millisecond) {
				t.Errorf("request %d: %s %s, content %v", i, r.Outcome, r.Class, r.Content)
			}
			continue
		}
		if r.Outcome != metrics.Failure || r.Class != metrics.ErrHTTP429 || r.Status != 429 || len(r.Content) != 0 {
			t.Errorf("request %d: %s %s %d, want error http_429 429", i, r.Outcome, r.Class, r.Status)
		}
		if want := "slow down [rate_limit_error]"; r.Detail != want {
			t.Errorf("request %d: detail %q, want %q", i, r.Detail, want)
		}
	}
	for _, tc := range []struct {
		name  string
		label []string
		want  float64
	}{
		{"aiperf_requests_total", []string{"outcome", "success"}, requests - refused},
		{"aiperf_requests_total", []string{"outcome", "error"}, refused},
		{"aiperf_request_errors_total", []string{"error_class", "http_429"}, refused},
		{"aiperf_http_responses_total", []string{"code", "429"}, refused},
		{"aiperf_http_responses_total", []string{"code", "200"}, requests - refused},
		{"aiperf_time_to_first_token_seconds", nil, requests - refused},
		{"aiperf_request_duration_seconds", []string{"outcome", "success"}, requests - refused},
		{"aiperf_request_duration_seconds", []string{"outcome", "error"}, refused},
		{"aiperf_effective_latency_seconds", nil, requests - refused},
		{"aiperf_good_requests_total", nil, requests - refused},
		{"aiperf_slo_requests_total", nil, requests},
		{"aiperf_retry_after_seconds", nil, 1},
	} {
		if got := rig.series(t, tc.name, tc.label...); got != tc.want {
			t.Errorf("%s%v is %v, want %v", tc.name, tc.label, got, tc.want)
		}
	}
}
