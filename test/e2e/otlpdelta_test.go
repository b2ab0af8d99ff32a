//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/received"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// differing sends differences: form of histograms, address of the collector, URL of the server, pages of GPUs.
const differing = `
collectors:
  server: {interval: 5s}
  gpu: {source: dcgm, dcgm: {interval: 5s, urls: ["%[4]s/dcgm.prom"]}}
otlp:
  enabled: true
  endpoint: http://%[2]s
  interval: 1s
  timeout: 2s
  retry: {initial: 200ms, max: 1s}
  temporality: delta
  histogram: %[1]s
workloads:
  short: {input_tokens: 16, output_tokens: 4}
loads:
  steady: {mode: constant, rate: 20, max_in_flight: 50}
slos:
  quick: {objective: 0.9, time_to_first_token: 150ms}
targets:
  - {name: steady, url: %[3]s, model: truth, endpoint: {type: chat}, workload: short, load: steady, slo: [quick]}
`

// exports is what an exporter says of its exports.
type exports struct{ succeeded, failed, errors, last float64 }

func exportsOf(f scrape.Families, reason string) exports {
	return exports{
		succeeded: f.Sum("aiperf_exporter_otlp_exports_total", scrape.Labels{"result": "success"}),
		failed:    f.Sum("aiperf_exporter_otlp_exports_total", scrape.Labels{"result": "error"}),
		errors:    f.Sum("aiperf_exporter_otlp_errors_total", scrape.Labels{"reason": reason}),
		last:      f.Sum("aiperf_exporter_otlp_last_success_timestamp_seconds", nil),
	}
}

// fails waits until exports have failed for a reason, and gives the time of the last one that arrived.
func (e exporter) fails(t *testing.T, reason string) exports {
	t.Helper()
	before := exportsOf(e.scrape(t), reason)
	var now exports
	eventually(t, patience, func() error {
		now = exportsOf(e.scrape(t), reason)
		if now.failed == before.failed || now.errors == before.errors {
			return fmt.Errorf("%+v, and before %+v; want a failure that is %s", now, before, reason)
		}
		return nil
	})
	return now
}

func TestDifferencesAddUpWhateverHappensToTheCollector(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"explicit", "exponential"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := startSink(t)
			l := startLink(t, s.address)
			from := startServer(t, "-ttft=40ms", "-ttft-spread=200ms", "-itl=2ms")
			e := serve(t, fmt.Sprintf(differing, form, l.address, from.url, pages(t)), "--web.enable-admin-api")
			e.arrivals(t, 2)
			start := e.plan(t)

			l.put(resets)
			down := e.fails(t, "unavailable")
			still := e.fails(t, "unavailable")
			if down.last != still.last || down.succeeded != still.succeeded {
				t.Errorf("the last success moves while there is none: %+v, then %+v", down, still)
			}
			l.put(open)
			e.arrivals(t, 1)

			l.put(swallows)
			e.fails(t, "timeout")
			s.kill(t) // with nothing under way, since nothing gets there
			l.put(open)
			l.reset()
			e.fails(t, "unavailable")
			s.start(t)
			e.arrivals(t, 1)
			if up := exportsOf(e.scrape(t), "timeout"); up.last <= still.last || up.succeeded <= still.succeeded {
				t.Errorf("the last success has not moved: %+v, before %+v", up, still)
			}
			eventually(t, patience, func() error { return asPlanned(start, e.plan(t), 20) })
			for reason, n := range e.scrape(t).By("aiperf_arrivals_dropped_total", "reason", nil) {
				if reason != "scheduler_late" { // the machine's doing
					t.Errorf("%v arrivals dropped for %s", n, reason)
				}
			}

			e.rest(t)
			held := e.hold(t, s)
			c := held.State.Compare(held.Before, held.After, received.Rules{
				LeftOut: func(family string) bool { return isConvention(family) || isForeign(family) }, Restless: isRestless,
			})
			foreignDifferences(t, held)
			for _, err := range append(c.Wrong, held.State.Torn...) {
				t.Error(err)
			}
			t.Logf("series that were compared: %v", c.Compared)
			first, want := held.State.Count("gen_ai_client_operation_time_to_first_chunk_seconds", ""), held.After.Sum("aiperf_time_to_first_token_seconds", nil)
			if first != want {
				t.Errorf("the instruments of the conventions add up to %v first chunks, want %v", first, want)
			}
			if n := held.After.Sum("aiperf_requests_total", nil); n < 100 {
				t.Errorf("there were %v requests, too few to say something", n)
			}
		})
	}
}

// foreignDifferences holds what others count against what they show: what they had counted before they were looked at is no difference.
func foreignDifferences(t *testing.T, held received.Held) {
	t.Helper()
	told := func(family string) (got, shown float64) {
		return held.State.Count(family, ""), held.After.Sum(family, nil)
	}
	if got, shown := told("aiperf_gpu_energy_joules_total"); got != 0 || shown == 0 {
		t.Errorf("GPUs have used %v J, want none: they stand at %v J", got, shown)
	}
	for _, family := range []string{"aiperf_server_generation_tokens_total", "aiperf_server_time_to_first_token_seconds"} {
		if got, shown := told(family); got <= shown/2 || got > shown {
			t.Errorf("%s has grown by %v, want most of %v", family, got, shown)
		}
	}
}

// planned are the arrivals at an instant that lies between two others.
type planned struct {
	arrivals    float64
	after, till time.Time
}

func (e exporter) plan(t *testing.T) planned {
	t.Helper()
	after := time.Now()
	arrivals := e.scrape(t).Sum("aiperf_arrivals_total", nil)
	return planned{arrivals, after, time.Now()}
}

// asPlanned holds what has arrived between two instants against what was planned, per second. A machine that stood still makes up for it.
func asPlanned(first, last planned, rate float64) error {
	got := last.arrivals - first.arrivals
	least, most := rate*last.after.Sub(first.till).Seconds(), rate*last.till.Sub(first.after).Seconds()
	if slack := rate; got < least-slack || got > most+slack {
		return fmt.Errorf("%v arrivals, want %.0f to %.0f", got, least, most)
	}
	return nil
}
