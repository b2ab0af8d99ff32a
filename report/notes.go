package report

import (
	"fmt"
	"math"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// lateDispatchMs is the time to send from which this machine is too busy to be trusted with a fine comparison.
const lateDispatchMs = 10

// notes say what a reader should know before believing a figure. Each names the figure that it is about and how many requests it concerns.
func notes(r *Report, t *totals) []string {
	var list []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(r.Meta.Interrupted, "interrupted before it had done what was asked")
	add(r.short() && !r.Meta.Interrupted, "ended before %s: the server refuses them, a budget is spent, or the recording is over", count(r.Meta.Load.Requests, "request"))
	switch n := r.Successes; {
	case n == 0:
	case n == 1:
		add(true, "one request has no distribution: its figures stand in every column")
	case n < 10:
		add(true, "p90 and p99 of %d requests are the maximum in disguise", n)
	case n < 100:
		add(true, "p99 of %d requests is the maximum in disguise; 100 make it a percentile", n)
	}
	add(r.WarmUp > 0, "%s for warm-up left out", count(r.WarmUp, "request"))
	add(t.suspect > 0, "%s suspect: this machine was at fault meanwhile (late wake-ups, own drops, CPU quota, self-test), do not blame the server for them",
		count(t.suspect, "request"))
	noteConnections(r, t, add)
	if dispatch, ok := r.Metric("credit_to_start_latency"); ok {
		add(dispatch.Stats.P99 > lateDispatchMs, "this machine sent late: p99 %.1f ms after the limits had let a request through. That is in no latency, but look at its own load", dispatch.Stats.P99)
	}
	noteTokens(r, t, add)
	noteOthers(r, add)
	return list
}

// noteOthers: what GPUs and servers say of themselves is known only where they were read close to both ends of the run.
func noteOthers(r *Report, add func(bool, string, ...any)) {
	if g := r.Meta.GPUs; g != nil {
		for _, platform := range []Platform{NVIDIA, AMD} {
			e := g.energyOf(platform)
			add(e.devices > 0 && e.known == 0, "no energy: no GPU was read close to both ends of the run")
			add(e.known > 0 && e.known < e.devices, "energy of %d of %s: the others were not read close to both ends of the run, so nothing is divided by it",
				e.known, count(int64(e.devices), "GPU"))
			add(e.integrated > 0, "energy of %s is the area under readings of its power, not a counter", count(int64(e.integrated), "GPU"))
		}
	}
	if c := r.server; c != nil {
		add(c.known == 0, "no server figures: no server was read close to both ends of the run")
		add(c.known > 0 && c.known < c.instances, "server figures of %d of %s: the others were not read close to both ends of the run",
			c.known, count(int64(c.instances), "replica"))
		noteOtherTraffic(r, c, add)
	}
}

// noteOtherTraffic: what a server says is of all its traffic. It shows by what it finished, or by first tokens that were slower than all of ours: of one
// and the same requests the client cannot have seen them sooner.
func noteOtherTraffic(r *Report, c *serverCounts, add func(bool, string, ...any)) {
	ours := r.Successes + r.Failures + r.Cancelled + r.WarmUp
	finished := int64(math.Round(c.value[finishedRequests]))
	more := c.has[finishedRequests] && finished > ours
	add(more, "the server's figures contain other traffic: it finished %d requests, %d of them at most were this run's", finished, ours)
	if residual, ok := r.Metric("time_to_first_token_residual"); ok && !more {
		add(residual.Stats.Avg < 0, "the server's figures contain other traffic: its first tokens were %.1f ms slower than this run's", -residual.Stats.Avg)
	}
}

// noteConnections: a tool that keeps its connections open does not pay for them in the time to first token.
func noteConnections(r *Report, t *totals, add func(bool, string, ...any)) {
	latency := t.sums["request_latency"]
	if ttft, ok := t.sums["time_to_first_token"]; ok {
		latency = ttft
	}
	connection, ok := r.Metric("http_req_connection_overhead")
	add(ok && latency > 0 && connection.Stats.Sum >= latency/100, "latencies contain connecting, %.2f ms on average (%d of %s on a new connection)",
		connection.Stats.Avg, t.fresh, count(r.Successes, "request"))
}

func noteTokens(r *Report, t *totals, add func(bool, string, ...any)) {
	output, input := r.tokenSources["output"], r.tokenSources["input"]
	add(output[metrics.SourceEvents] > 0, "output tokens of %s are counted events, not the server's count: no inter-token latency from them",
		count(output[metrics.SourceEvents], "request"))
	add(output[metrics.SourceTokenizer] > 0, "output tokens of %s were counted in their text, not by the server",
		count(output[metrics.SourceTokenizer], "answer"))
	add(output[metrics.SourceNone] > 0, "the output tokens of %s are not known", count(output[metrics.SourceNone], "request"))
	add(input[metrics.SourceDataset] > 0, "input tokens of %s are the nominal length of the prompt, not the server's count",
		count(input[metrics.SourceDataset], "request"))
	if ratio, ok := share(float64(t.tokens), float64(t.events)); ok {
		add(ratio >= 1.05, "the server sends %.1f tokens in one event: the gap between chunks is not the gap between tokens", ratio)
	}
	if part, ok := share(float64(t.coalesced), float64(t.streamed)); ok {
		add(part >= 0.01, "%.0f %% of the events came together with the one before: their gap of 0 is real, inter-token latency is the better figure", 100*part)
	}
	add(t.wrong > 0, "the length of %s is more than 5 %% or 50 tokens away from what was asked", count(t.wrong, "answer"))
}

// count writes a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
