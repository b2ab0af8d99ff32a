package generator_test

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// TestOpenLoopAgainstAServerThatStalls is O11 (vllm-project/guidellm#1048): 20 requests a second for 10 s, at most 10 at a time; what the
// server receives between 3 s and 5 s waits until 5 s.
func TestOpenLoopAgainstAServerThatStalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s: the case's figures are those of a 10 s run")
	}
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

	if len(all) != requests {
		t.Fatalf("%d records, want %d", len(all), requests)
	}
	var service, scheduled, delays []float64
	slow := 0
	for i, o := range all {
		if o.record.Outcome != metrics.Success {
			t.Fatalf("request %d: %s %s: %s", i, o.record.Outcome, o.record.Class, o.record.Detail)
		}
		service = append(service, o.measures.RequestLatency.V)
		scheduled = append(scheduled, o.measures.EffectiveLatency.V)
		delays = append(delays, o.measures.ScheduleDelay.V)
		if o.measures.EffectiveLatency.V > .5 {
			slow++
		}
		if got, want := o.record.Time.Sched-all[0].record.Time.Sched, int64(i)*int64(50*time.Millisecond); got != want {
			t.Errorf("request %d was scheduled at %v, want %v: the stall moved the schedule", i, time.Duration(got), time.Duration(want))
		}
	}
	between(t, "p90 from the scheduled start", quantile(scheduled, .90), .95, 1.2)
	between(t, "mean from the scheduled start", mean(scheduled), .20, .26)
	between(t, "requests over 0.5 s from the scheduled start", float64(slow), 28, 36)
	between(t, "median from the real start", quantile(service, .5), .017, .1)
	between(t, "schedule delay of the last second", quantile(delays[requests-20:], .5), 0, .05)
	if got := quantile(delays, .9); got < .5 {
		t.Errorf("p90 of the schedule delay is %v s: the wait for a slot is not visible", got)
	}
	wantArrivals(t, rig, requests)
	if n := rig.series(t, "aiperf_schedule_delay_seconds"); n != requests {
		t.Errorf("%v schedule delays were observed, want %d", n, requests)
	}
}

// TestStallWithoutAQueueCountsWhatIsNotSent is O11 with on_full: drop, shortened: arrivals that find no slot are counted.
func TestStallWithoutAQueueCountsWhatIsNotSent(t *testing.T) {
	t.Parallel()
	server := startScriptServer(t, func(request *scriptRequest) script {
		if request.number < 2 {
			return stream(at(500, content("a"), finish("stop"), done))
		}
		return stream(at(0, content("a"), finish("stop"), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight, cfg.Load.OnFull = load.Constant, 50, 2, load.Drop
	})
	rig.run(t, 12)
	wantArrivals(t, rig, 12)
	// The two slots are taken for 500 ms, which is 25 arrivals.
	between(t, "dropped arrivals", rig.series(t, "aiperf_arrivals_dropped_total", "reason", "in_flight"), 15, 30)
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

func between(t *testing.T, what string, got, least, most float64) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s is %v, want %v to %v", what, got, least, most)
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

// TestManyParallelStreams is O12 (gpustack/gpustack#2324, Azure/azure-openai-benchmark#8): a wave of 150 requests to one host, each with its
// first token after a second.
func TestManyParallelStreams(t *testing.T) {
	t.Parallel()
	const requests, thinking = 150, time.Second
	server := startScriptServer(t, func(*scriptRequest) script {
		return stream(at(1000, content("a"), finish("stop"), usage(1, 1), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight = load.Constant, 1000, requests
	})
	all := rig.run(t, requests)
	wantThinkingTime(t, rig, server, all, requests, thinking)
	if _, open := server.connections(); open != requests {
		t.Errorf("%d connections were open at the same time, want %d", open, requests)
	}
	for i, o := range all {
		// No second wave: that one would start when the first has ended.
		if delay := o.measures.ScheduleDelay.V; delay > .5 {
			t.Errorf("request %d waited %v s to be sent", i, delay)
		}
	}
}

// TestALimitOfParallelStreamsShowsAsWaiting is the other half of O12: with a limit below the demand, the wait is a phase of its own and not
// the server's.
func TestALimitOfParallelStreamsShowsAsWaiting(t *testing.T) {
	t.Parallel()
	const requests, limit, thinking = 40, 20, 300 * time.Millisecond
	server := startScriptServer(t, func(*scriptRequest) script {
		return stream(at(300, content("a"), finish("stop"), usage(1, 1), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight = load.Constant, 1000, limit
		cfg.Load.OnFull, cfg.Load.Queue = load.Queue, load.QueueConfig{Size: requests, MaxWait: time.Minute}
	})
	all := rig.run(t, requests)
	wantThinkingTime(t, rig, server, all, requests, thinking)
	if _, open := server.connections(); open > limit {
		t.Errorf("%d connections were open at the same time, the limit is %d", open, limit)
	}
	for i, o := range all[limit:] {
		if delay := o.measures.ScheduleDelay.V; delay < .2 {
			t.Errorf("request %d was sent %v s after its instant, but there was no slot for about 0.3 s", limit+i, delay)
		}
	}
}

// wantThinkingTime wants all requests to succeed, with the first token when the server wrote it.
func wantThinkingTime(t *testing.T, rig *rig, server *scriptServer, all []observed, requests int, thinking time.Duration) {
	t.Helper()
	if len(all) != requests || len(server.seen()) != requests {
		t.Fatalf("%d records, the server has seen %d requests, want %d", len(all), len(server.seen()), requests)
	}
	// Requests are told apart by the id that they carry.
	byID := map[string]*metrics.Record{}
	for i := range all {
		byID[all[i].record.RequestID] = &all[i].record
	}
	for i := range requests {
		request, writes := server.wait(t, i)
		r := byID[request.header.Get("X-Request-Id")]
		if r == nil || r.Outcome != metrics.Success || len(r.Content) != 1 {
			t.Fatalf("request %d has the record %+v", i, r)
		}
		if got, earliest, latest := r.Content[0], rig.clock.At(writes[0].before.Add(-tooEarly)), rig.clock.At(writes[0].after.Add(tooLate)); got < earliest || got > latest {
			t.Errorf("request %d: first token %v after the server wrote it", i, time.Duration(got-rig.clock.At(writes[0].before)))
		}
		if ttft := time.Duration(r.Content[0] - r.Time.Start); ttft < thinking {
			t.Errorf("request %d: TTFT %v, but the server thinks for %v", i, ttft, thinking)
		}
	}
}

// TestASilentStreamDelaysNobody is O13 (lightseekorg/tokenspeed#134, noonghunna/benchlocal-cli#157): of four parallel streams one goes silent.
func TestASilentStreamDelaysNobody(t *testing.T) {
	t.Parallel()
	server := startScriptServer(t, func(request *scriptRequest) script {
		if request.number == 1 {
			return silence(at(20, role(), content("a")))
		}
		return stream(at(20, role(), content("a")), at(300, content("b"), finish("stop"), usage(1, 2), done))
	})
	rig := newRig(t, server.url, func(cfg *generator.TargetConfig) {
		cfg.Load.Mode, cfg.Load.Rate, cfg.Load.MaxInFlight = load.Constant, 10, 4
		cfg.Client.Timeouts.Total, cfg.Client.Timeouts.Idle = 60*time.Second, 500*time.Millisecond
	})
	all := rig.run(t, 12)
	wantArrivals(t, rig, 12)
	for i := range server.seen() {
		request, writes := server.wait(t, i)
		r := recordOf(t, all, request)
		if i != 1 {
			if r.Outcome != metrics.Success {
				t.Errorf("request %d: %s %s: %s", i, r.Outcome, r.Class, r.Detail)
			}
			continue
		}
		if r.Outcome != metrics.Failure || r.Class != metrics.ErrTimeoutIdle {
			t.Errorf("silent request: %s %s (%s), want error timeout_idle", r.Outcome, r.Class, r.Detail)
		}
		silent := time.Duration(r.Time.End - rig.clock.At(writes[0].before))
		if silent < 500*time.Millisecond-tooEarly || silent > 560*time.Millisecond {
			t.Errorf("silent request: ended %v after the last byte, want 500 ms (±60 ms)", silent)
		}
		if request.gone.IsZero() {
			t.Error("silent request: its connection was not closed")
		}
	}
	if n := rig.series(t, "aiperf_time_to_first_token_seconds"); n != 11 {
		t.Errorf("%v times to first token were observed, want those of the 11 successes", n)
	}
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

// TestTimeoutsLeaveNothingBehind is the rest of O13: after 100 failures there are as many goroutines and descriptors as before. It is not
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

// TestRefusalsAreNeitherLatencyNorRetried is O14 (patibandlavenkatamanideep/memoryops-ai#147, Azure/azure-openai-benchmark#20): every third
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
		if want := "HTTP 429: slow down [rate_limit_error]"; r.Detail != want {
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
	} {
		if got := rig.series(t, tc.name, tc.label...); got != tc.want {
			t.Errorf("%s%v is %v, want %v", tc.name, tc.label, got, tc.want)
		}
	}
}
