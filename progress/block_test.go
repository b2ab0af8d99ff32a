package progress

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func request(outcome metrics.Outcome, class metrics.ErrorClass) *metrics.Record {
	return &metrics.Record{Outcome: outcome, Class: class}
}

func ttft(seconds float64) *metrics.Measures {
	return &metrics.Measures{TTFT: metrics.Value{V: seconds, Defined: true}}
}

// some is a run of three targets after ten seconds: one does well, one is slow and full, one fails.
func some(plan Plan) []row {
	plan.Targets = []string{"llama-prod", "vendor", "broken"}
	p := New(plan)
	for i := range 40 {
		p.Finished("llama-prod", request(metrics.Success, ""), ttft(0.1+0.001*float64(i)), nil)
	}
	for range 20 {
		p.Finished("vendor", request(metrics.Success, ""), ttft(1.5), nil)
	}
	p.Dropped("vendor", metrics.DropInFlight, 7)
	p.Finished("broken", request(metrics.Failure, metrics.ErrConnect), &metrics.Measures{}, nil)
	p.Finished("broken", request(metrics.Cancelled, ""), &metrics.Measures{}, nil)
	p.Finished("nobody", request(metrics.Success, ""), ttft(1), nil)
	p.Dropped("nobody", metrics.DropInFlight, 1)
	return p.rows(10*time.Second, map[string]int{"llama-prod": 2, "vendor": 12})
}

func texts(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	return out
}

func TestTheBlockHasALineForEachTarget(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plan          Plan
		width, height int
		want          []string
	}{
		"requests are counted": {
			Plan{Requests: 100},
			130, 30,
			[]string{
				"                                                rate  in flight  ok     failed  dropped  TTFT p50     p95  left",
				"llama-prod  ━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  40/100  4.00/s          2  40          0        0    120 ms  138 ms  0:15",
				"vendor      ━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  20/100  2.00/s         12  20          0        7    1.49 s  1.49 s  0:40",
				"broken      ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄   2/100  0.20/s          0   0  1 connect        0         –       –  8:10",
			},
		},
		"time passes": {
			Plan{Duration: 40 * time.Second},
			130, 30,
			[]string{
				"                                                   rate  in flight  ok     failed  dropped  TTFT p50     p95  left",
				"llama-prod  ━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  0:10/0:40  4.00/s          2  40          0        0    120 ms  138 ms  0:30",
				"vendor      ━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  0:10/0:40  2.00/s         12  20          0        7    1.49 s  1.49 s  0:30",
				"broken      ━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  0:10/0:40  0.20/s          0   0  1 connect        0         –       –  0:30",
			},
		},
		"what comes first ends the run": {
			Plan{Requests: 50, Duration: 20 * time.Second},
			60, 30,
			[]string{
				"                     rate     failed  dropped  left",
				"llama-prod  40/50  4.00/s          0        0  0:03",
				"vendor      20/50  2.00/s          0        7  0:10",
				"broken       2/50  0.20/s  1 connect        0  0:10",
			},
		},
		"a narrow terminal gets what matters": {
			Plan{Requests: 100},
			40, 30,
			[]string{
				"                       failed  left",
				"llama-prod  40/100          0  0:15",
				"vendor      20/100          0  0:40",
				"broken       2/100  1 connect  8:10",
			},
		},
		"a low terminal gets the worst, and the rest in one": {
			Plan{Requests: 100},
			80, 3,
			[]string{
				"                    rate  in flight     failed  dropped  TTFT p50     p95  left",
				"broken     2/100  0.20/s          0  1 connect        0         –       –  8:10",
				"2 others  60/200  6.00/s         14          0        7    130 ms  1.49 s  0:40",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := texts(block(some(test.plan), test.width, test.height, false))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(got, "\n"))
			}
		})
	}
}

var colour = regexp.MustCompile("\x1b\\[[0-9]*m")

func TestNoLineIsWiderThanItSaysOrThanTheTerminal(t *testing.T) {
	t.Parallel()
	for width := 1; width < 140; width++ {
		for _, height := range []int{1, 2, 3, 30} {
			lines := block(some(Plan{Requests: 100}), width, height, true)
			if len(lines) > max(height, 2) {
				t.Errorf("%d lines in a height of %d", len(lines), height)
			}
			for _, l := range lines {
				if n := utf8.RuneCountInString(colour.ReplaceAllString(l.text, "")); n != l.width || n > width {
					t.Errorf("width %d: %q has %d columns and says %d", width, l.text, n, l.width)
				}
			}
		}
	}
}

func TestColoursAreOnlyColours(t *testing.T) {
	t.Parallel()
	rows := some(Plan{Requests: 100})
	without, with := texts(block(rows, 100, 30, false)), texts(block(rows, 100, 30, true))
	for i := range with {
		if got := colour.ReplaceAllString(with[i], ""); got != without[i] {
			t.Errorf("with colours %q, without %q", got, without[i])
		}
	}
	if !strings.Contains(with[3], red+"1 connect"+normal) || strings.Contains(with[1], red) {
		t.Errorf("the failures, and nothing else, should be red: %q", with)
	}
}

func TestHowLongItTakesYet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row  row
		want string
	}{
		"nothing has ended":               {row{requests: 10}, "–"},
		"half has ended":                  {row{requests: 10, ok: 5, rateHz: 0.5}, "0:10"},
		"the rest is on its way":          {row{requests: 10, ok: 10, inFlight: 2, rateHz: 1}, "ending"},
		"all has ended":                   {row{requests: 10, ok: 10, rateHz: 1}, "done"},
		"time is left":                    {row{duration: time.Hour, elapsed: time.Second}, "59:59"},
		"more than an hour is left":       {row{duration: 3 * time.Hour}, "3:00:00"},
		"time is up, requests still run":  {row{duration: time.Minute, elapsed: 61 * time.Second, inFlight: 1}, "ending"},
		"time is up before the requests":  {row{requests: 100, ok: 5, rateHz: 1, duration: time.Minute, elapsed: 50 * time.Second}, "0:10"},
		"requests are done before time":   {row{requests: 10, ok: 5, rateHz: 1, duration: time.Minute, elapsed: 20 * time.Second}, "0:05"},
		"cancelled and failed ones count": {row{requests: 10, cancelled: 5, failed: 5}, "done"},
	} {
		test.row.estimate()
		if got := test.row.remaining(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestOneLineSaysItAll(t *testing.T) {
	t.Parallel()
	rows := some(Plan{Requests: 100, Duration: time.Minute})
	all := sum("run", rows)
	const want = "0:10 of 1:00, 62 of 300 requests, 6.20/s, 14 in flight, 1 failed (last connect), 7 dropped, TTFT p50 130 ms p95 1.49 s, 0:50 left"
	if got := all.sentence(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFiguresHaveThreeDigits(t *testing.T) {
	t.Parallel()
	var got []string
	for _, v := range []float64{0, 0.00123, 0.0123, 0.123, 0.9994, 0.9996, 1.234, 12.34, 1234.5} {
		got = append(got, latency(v))
	}
	want := []string{"0.00 ms", "1.23 ms", "12.3 ms", "123 ms", "999 ms", "1.00 s", "1.23 s", "12.3 s", "1234 s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyTargetsAreDrawnQuickly(t *testing.T) {
	t.Parallel()
	var plan Plan
	for i := range 500 {
		plan.Targets = append(plan.Targets, fmt.Sprintf("target-%03d", i))
	}
	plan.Requests = 10
	p := New(plan)
	p.Finished("target-432", request(metrics.Failure, metrics.ErrConnect), &metrics.Measures{}, nil)
	p.Finished("target-007", request(metrics.Success, ""), ttft(3), nil)
	got := texts(block(p.rows(time.Second, nil), 100, 5, false))
	if len(got) != 5 || !strings.HasPrefix(got[1], "target-432") || !strings.HasPrefix(got[2], "target-007") || !strings.HasPrefix(got[4], "497 others") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func BenchmarkBlockOfManyTargets(b *testing.B) {
	var plan Plan
	for i := range 500 {
		plan.Targets = append(plan.Targets, fmt.Sprintf("target-%03d", i))
	}
	p := New(plan)
	for _, name := range plan.Targets {
		p.Finished(name, request(metrics.Success, ""), ttft(0.3), nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		block(p.rows(time.Second, nil), 120, 40, true)
	}
}

func BenchmarkFinished(b *testing.B) {
	p := New(Plan{Targets: []string{"one"}})
	r, m := request(metrics.Success, ""), ttft(0.3)
	b.ReportAllocs()
	for b.Loop() {
		p.Finished("one", r, m, nil)
	}
}
