package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// look is what an exporter shows at an instant.
type look struct {
	at   time.Time
	f    scrape.Families
	heap float64 // bytes after a collection of garbage; 0 = not looked at
}

// heapAlloc is in the text of a heap profile.
var heapAlloc = regexp.MustCompile(`# HeapAlloc = (\d+)`)

// look looks at the series, and at the heap if it shall.
func (e *exporter) look(ctx context.Context, heap bool) (l look, err error) {
	for range 2 { // what finalizers free is garbage of the second collection
		if !heap {
			break
		}
		var text []byte
		if text, err = scrape.Bytes(ctx, e.url+"/debug/pprof/heap?gc=1&debug=1", "text/plain"); err != nil {
			return l, err
		}
		found := heapAlloc.FindSubmatch(text)
		if found == nil {
			return l, fmt.Errorf("%s: no HeapAlloc in the heap profile", e.url)
		}
		if l.heap, err = strconv.ParseFloat(string(found[1]), 64); err != nil {
			return l, err
		}
	}
	before := time.Now()
	l.f, err = scrape.Get(ctx, e.url+"/metrics")
	l.at = before.Add(time.Since(before) / 2)
	return l, err
}

func nameOf(group string, number int) string { return fmt.Sprintf("%s.%d", group, number) }

// groupOf is the group of a target.
func groupOf(target string) string {
	group, _, _ := strings.Cut(target, ".")
	return group
}

// count is how the requests of a group have ended.
type count struct {
	succeeded float64
	failed    map[metrics.ErrorClass]float64
	dropped   map[metrics.DropReason]float64
	ttft      float64 // seconds, of all that succeeded
}

// counts are those of the groups since the start.
func (l *look) counts() map[string]*count {
	out := map[string]*count{}
	of := func(labels scrape.Labels) *count {
		group := groupOf(labels["target"])
		if out[group] == nil {
			out[group] = &count{failed: map[metrics.ErrorClass]float64{}, dropped: map[metrics.DropReason]float64{}}
		}
		return out[group]
	}
	for _, m := range l.f.Series("aiperf_requests_total", scrape.Labels{"outcome": string(metrics.Success)}) {
		of(scrape.LabelsOf(m)).succeeded += m.GetCounter().GetValue()
	}
	for _, m := range l.f.Series("aiperf_request_errors_total", nil) {
		labels := scrape.LabelsOf(m)
		of(labels).failed[metrics.ErrorClass(labels["error_class"])] += m.GetCounter().GetValue()
	}
	for _, m := range l.f.Series("aiperf_arrivals_dropped_total", nil) {
		labels := scrape.LabelsOf(m)
		of(labels).dropped[metrics.DropReason(labels["reason"])] += m.GetCounter().GetValue()
	}
	for _, m := range l.f.Series("aiperf_time_to_first_token_seconds", nil) {
		of(scrape.LabelsOf(m)).ttft += m.GetHistogram().GetSampleSum()
	}
	return out
}

// counted is how the requests of each group ended between two looks.
func counted(from, to *look) map[string]*count {
	before, now := from.counts(), to.counts()
	for group, c := range now {
		if was := before[group]; was != nil {
			now[group] = c.since(was)
		}
	}
	return now
}

// since is what was counted after a.
func (c *count) since(a *count) *count {
	out := &count{succeeded: c.succeeded, ttft: c.ttft, failed: map[metrics.ErrorClass]float64{}, dropped: map[metrics.DropReason]float64{}}
	out.succeeded -= a.succeeded
	out.ttft -= a.ttft
	for class, n := range c.failed {
		if n -= a.failed[class]; n > 0 {
			out.failed[class] = n
		}
	}
	for reason, n := range c.dropped {
		if n -= a.dropped[reason]; n > 0 {
			out.dropped[reason] = n
		}
	}
	return out
}

// add takes what was counted in another time, too.
func (c *count) add(other *count) {
	c.succeeded += other.succeeded
	c.ttft += other.ttft
	if c.failed == nil {
		c.failed, c.dropped = map[metrics.ErrorClass]float64{}, map[metrics.DropReason]float64{}
	}
	for class, n := range other.failed {
		c.failed[class] += n
	}
	for reason, n := range other.dropped {
		c.dropped[reason] += n
	}
}

// failures are all of them.
func (c *count) failures() (sum float64) {
	for _, n := range c.failed {
		sum += n
	}
	return sum
}

// meanTTFT is in seconds; NaN if nothing succeeded.
func (c *count) meanTTFT() float64 {
	if c.succeeded == 0 {
		return math.NaN()
	}
	return c.ttft / c.succeeded
}

// delays are how late the requests of a group left, by the upper bound of their bucket in seconds.
func (l *look) delays(group string) map[float64]float64 {
	sums := map[float64]float64{}
	for _, m := range l.f.Series("aiperf_schedule_delay_seconds", nil) {
		if groupOf(scrape.LabelsOf(m)["target"]) != group {
			continue
		}
		for bound, n := range scrape.Natives(m.GetHistogram()) {
			sums[bound] += n
		}
	}
	return sums
}
