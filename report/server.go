package report

import (
	"context"
	"math"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// ServerWindow keeps what the servers of targets counted, as their metrics were read, to tell afterwards what fell into the window of a report.
// It is safe for concurrent use.
type ServerWindow struct {
	interval int64

	mu      sync.Mutex
	targets map[string]map[string]replica // by target and instance
	noted   chan struct{}                 // closed at the next page
}

// NewServerWindow makes an empty one for servers that are read at this interval.
func NewServerWindow(interval time.Duration) *ServerWindow {
	return &ServerWindow{interval: int64(interval), targets: map[string]map[string]replica{}, noted: make(chan struct{})}
}

// quantity is a counter of a server, or the sum or the count of a histogram.
type quantity int

const (
	promptTokens quantity = iota
	generationTokens
	finishedRequests
	queueSeconds
	queueCount
	ttftSeconds
	ttftCount
	quantities int = iota
)

// serverFamilies are the families that are kept. Those of a histogram are two quantities, its sum and behind it its count.
var serverFamilies = map[string]quantity{
	"aiperf_server_prompt_tokens_total":         promptTokens,
	"aiperf_server_generation_tokens_total":     generationTokens,
	"aiperf_server_requests_finished_total":     finishedRequests,
	"aiperf_server_queue_seconds":               queueSeconds,
	"aiperf_server_time_to_first_token_seconds": ttftSeconds,
}

// Observe takes the families of one page that was read at an instant of the clock of the records. Pages of a replica must come in order.
func (w *ServerWindow) Observe(target, instance string, at int64, families []*dto.MetricFamily) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.targets[target] == nil {
		w.targets[target] = map[string]replica{}
	}
	if w.targets[target][instance] == nil {
		w.targets[target][instance] = replica{}
	}
	w.targets[target][instance].add(at, families)
	close(w.noted)
	w.noted = make(chan struct{})
}

// Await waits until a page of each of the targets, and of every replica seen so far, was read at or after an instant, so that a window may begin or
// end there, or until ctx ends.
func (w *ServerWindow) Await(ctx context.Context, at int64, targets ...string) {
	for {
		reached, noted := w.reached(at, targets)
		if reached {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-noted:
		}
	}
}

// reached tells whether all has been read. The channel is closed at the next page.
func (w *ServerWindow) reached(at int64, targets []string) (bool, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, target := range targets {
		if w.targets[target] == nil {
			return false, w.noted
		}
	}
	for _, instances := range w.targets {
		for _, r := range instances {
			if seen := r[""].readings; seen[len(seen)-1].at < at { // of every page
				return false, w.noted
			}
		}
	}
	return true, w.noted
}

// serverCounts are what the servers of a target did during a window.
type serverCounts struct {
	instances int // replicas that were read
	known     int // of them, those with readings close enough to both ends of the window

	value [quantities]float64 // over the replicas that are known
	has   [quantities]bool
}

// counts sums up the replicas of a target over a window.
func (w *ServerWindow) counts(target string, window span) serverCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out serverCounts
	for _, r := range w.targets[target] {
		if !r.counts() {
			continue
		}
		out.instances++
		value, has := r.during(window, w.interval)
		for q := range out.value {
			out.value[q] += value[q]
			out.has[q] = out.has[q] || has[q]
		}
		if has != ([quantities]bool{}) {
			out.known++
		}
	}
	return out
}

// describeServer fills in what the servers say of the window, all traffic on them included, not only that of this run.
func (r *Report) describeServer(window span) {
	if r.Meta.Servers == nil || !window.any {
		return
	}
	c := r.Meta.Servers.counts(r.Meta.Target, window)
	if c.instances == 0 {
		return
	}
	r.server = &c
	add := func(tag, header, unit string, value float64, ok bool) {
		if ok {
			r.Server = append(r.Server, Metric{Tag: tag, Header: header, Unit: unit, Scalar: true, Stats: Stats{Avg: value}})
		}
	}
	seconds := window.seconds()
	rate, ok := divide(c.value[promptTokens], seconds, c.has[promptTokens])
	add("server_prompt_token_throughput", "Server Prompt Token Throughput", "tokens/sec", rate, ok)
	rate, ok = divide(c.value[generationTokens], seconds, c.has[generationTokens])
	add("server_generation_token_throughput", "Server Generation Token Throughput", "tokens/sec", rate, ok)
	add("server_request_count", "Server Request Count", "requests", math.Round(c.value[finishedRequests]), c.has[finishedRequests])
	queue, ok := divide(c.value[queueSeconds], c.value[queueCount], c.has[queueCount])
	add("server_queue_time", "Server Queue Time", "ms", milliseconds(queue), ok)
	first, ok := divide(c.value[ttftSeconds], c.value[ttftCount], c.has[ttftCount])
	first = milliseconds(first)
	add("server_time_to_first_token", "Server Time to First Token", "ms", first, ok)
	seen, known := r.average("time_to_first_token")
	add("time_to_first_token_residual", "Time to First Token Residual", "ms", seen-first, ok && known)
}

// object says what the servers did, and of how many that is known.
func (c *serverCounts) object(figures []Metric) object {
	return object{
		{"instances", c.instances},
		{"known", c.known},
		{"partial", c.known < c.instances},
		{"metrics", appendMetrics(object{}, figures, func(*Metric) bool { return true })},
	}
}
