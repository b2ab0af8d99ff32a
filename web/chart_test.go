package web

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

func TestTraceLeavesGapsAndShowsLoneValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   string
	}{
		"a line":                               {[]float64{0, 5, 10, 10}, "M0 20l2-10l2-10h2"},
		"nothing":                              {[]float64{nothing, nothing}, ""},
		"no values":                            {nil, ""},
		"a gap parts the line":                 {[]float64{0, 5, nothing, 5, 0}, "M0 20l2-10M6 10l2 10"},
		"a value alone is a dot":               {[]float64{nothing, 5, nothing, 10}, "M2 10h0M6 0h0"},
		"what is off the scale is at its edge": {[]float64{-1, 50}, "M0 20l2-20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, trace([]int{0, 2, 4, 6, 8}, test.values, 10, 20)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheOnlyValueOfASparklineIsADashInItsMiddle(t *testing.T) {
	t.Parallel()
	one := view.Point{TTFT50: new(0.1), TTFT95: new(0.2)}
	for name, test := range map[string]struct {
		points []view.Point
		want   spark
	}{
		"of a daemon that has just begun": {[]view.Point{one}, spark{P50: "M71 15h8", P95: "M71 10h8", Top: "200 ms"}},
		"of an hour in which little happens": {
			append(append(make([]view.Point, 60), one), make([]view.Point, 59)...), spark{P50: "M33 15h8", P95: "M33 10h8", Top: "200 ms"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, newSpark(test.points)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSparklineEndsAtTheRightAndKeepsAShortRise(t *testing.T) {
	t.Parallel()
	points := make([]view.Point, 7)
	for i := range points {
		points[i].TTFT50, points[i].TTFT95 = new(0.1), new(0.2)
	}
	points[5].TTFT95, points[2].Failures = new(0.4), 1
	want := spark{P50: "M75 15h2h2", P95: "M75 10h2l2-10", Failures: "M77 21v4", Top: "400 ms"}
	if diff := cmp.Diff(want, newSpark(points)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(spark{Top: "1 s"}, newSpark(nil)); diff != "" {
		t.Errorf("without points (-want +got):\n%s", diff)
	}
	full := newSpark(fakePoints(1, view.Failing, testNow, 1))
	if !strings.HasPrefix(full.P95, "M1 ") || len(full.P95) > 300 {
		t.Errorf("a whole hour is %q", full.P95)
	}
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	for top, want := range map[float64][]float64{
		0: {0, 0.25, 0.5, 0.75, 1}, 1: {0, 0.25, 0.5, 0.75, 1}, 4: {0, 1, 2, 3, 4}, 7: {0, 2, 4, 6, 8}, 100: {0, 25, 50, 75, 100},
		230: {0, 100, 200, 300}, 1050: {0, 500, 1000, 1500},
	} {
		at, end := ticks(top)
		if diff := cmp.Diff(want, at); diff != "" || end != at[len(at)-1] {
			t.Errorf("up to %v, end %v (-want +got):\n%s", top, end, diff)
		}
	}
}

func TestChartsSayWhatTheyShow(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) time.Time { return testNow.Add(-ago) }
	points := []view.Point{
		{At: at(59 * time.Minute), Requests: 4, Judged: 4, Good: 4, TTFT50: new(0.2), TTFT95: new(0.5)},
		{At: at(30 * time.Minute), Requests: 6, Failures: 2, Judged: 6, Good: 3, TTFT50: new(0.4), TTFT95: new(2.5)},
		{At: at(0), Requests: 5, Dropped: 1, TTFT50: new(0.3), TTFT95: new(0.6)},
	}
	got := map[string]string{}
	for _, c := range newCharts(points, testNow) {
		got[c.Key] = c.Summary
	}
	want := map[string]string{
		"ttft":     "p50 300 ms, up to 400 ms at 02:34 · p95 600 ms, up to 2.5 s at 02:34",
		"requests": "ended 5, up to 6 at 02:34 · failed 0, up to 2 at 02:34 · dropped 1",
		"latency":  "no values in the last hour",
		"goodput":  "good requests 50 %, up to 100 % at 02:05",
		"tokens":   "no values in the last hour",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first := newCharts(points, testNow)[0]
	if diff := cmp.Diff([]string{"M12 187l348-14l360 7", "M12 167l348-134l360 127"}, []string{first.Lines[0].Path, first.Lines[1].Path}); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	wantHours := []mark{{At: "93.19%", Text: "03:00"}, {At: "68.19%", Text: "02:45"}, {At: "43.19%", Text: "02:30"}, {At: "18.19%", Text: "02:15"}}
	if diff := cmp.Diff(wantHours, first.Hours); diff != "" {
		t.Errorf("hours (-want +got):\n%s", diff)
	}
}

func TestWaterfallCutsOffAFewLongOnesAndSaysSo(t *testing.T) {
	t.Parallel()
	records := make([]view.Record, shownRecords+3)
	for i := range records {
		records[i] = view.Record{ID: "r", At: testNow, Total: 1, Phases: []view.Phase{{Name: "wait", Start: 0, End: 0.25}, {Name: "decode", Start: 0.25, End: 1}}}
	}
	records[1] = view.Record{
		ID: "long", At: testNow, Class: "timeout_total", Total: 60,
		Phases: []view.Phase{{Name: "wait", Start: 0, End: 60}},
		Ticks:  []float64{0.5, 0.5001, 2, 30},
	}
	got := newWaterfall(records, testNow)
	if got.More != 3 || len(got.Rows) != shownRecords {
		t.Errorf("%d rows and %d more", len(got.Rows), got.More)
	}
	wantMarks := []mark{
		{At: "0", Text: "0", First: true}, {At: "25%", Text: "1 s"}, {At: "50%", Text: "2 s"}, {At: "75%", Text: "3 s"}, {At: "100%", Text: "4 s", Last: true},
	}
	if diff := cmp.Diff(wantMarks, got.Marks); diff != "" {
		t.Errorf("scale (-want +got):\n%s", diff)
	}
	want := []part{
		{Name: "wait", Left: "0%", Width: "6.25%", From: "0 ms", Took: "250 ms"},
		{Name: "decode", Left: "6.25%", Width: "18.75%", From: "250 ms", Took: "750 ms"},
	}
	if diff := cmp.Diff(want, got.Rows[0].Parts); diff != "" || got.Rows[0].Clipped {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	long := got.Rows[1]
	if diff := cmp.Diff([]part{{Name: "wait", Left: "0%", Width: "100%", From: "0 ms", Took: "60 s"}}, long.Parts); diff != "" || !long.Clipped || !long.Failed {
		t.Errorf("long row %+v (-want +got):\n%s", long, diff)
	}
	if long.Ticks != "M125 0v1M500 0v1" {
		t.Errorf("ticks %q", long.Ticks)
	}
}

func TestTextsForPeople(t *testing.T) {
	t.Parallel()
	rate := func(achieved float64, asked *float64) string {
		sent, wanted := rates(achieved, asked)
		return strings.TrimSpace(sent + " " + wanted)
	}
	for _, test := range []struct{ got, want string }{
		{span(-time.Second), "0 s"},
		{span(59999 * time.Millisecond), "59 s"},
		{span(time.Hour - 1), "59 min"},
		{span(5*time.Hour + 12*time.Minute), "5 h 12 min"},
		{span(76*time.Hour + 59*time.Minute), "3 d 4 h"},
		{duration(nil), "–"},
		{duration(new(0.00021)), "0.21 ms"},
		{duration(new(0.4123)), "412 ms"},
		{duration(new(1.0)), "1 s"},
		{duration(new(1.2345)), "1.23 s"},
		{duration(new(123.4)), "123 s"},
		{amount(41200), "41\u202f200"},
		{amount(-1234567), "-1\u202f234\u202f567"},
		{amount(9999), "9999"},
		{amount(5.1), "5.1"},
		{percent(nil), "–"},
		{percent(new(1.0)), "100 %"},
		{percent(new(0.99999)), "99.9 %"},
		{percent(new(0.998)), "99.8 %"},
		{percent(new(0.17)), "17 %"},
		{percent(new(0.082)), "8.2 %"},
		{percent(new(0.00001)), "< 0.1 %"},
		{percent(new(0.0)), "0 %"},
		{rate(0.197, new(0.2)), "11.8/min of 12 asked"},
		{rate(0, new(2.0)), "0/s of 2 asked"},
		{rate(0, nil), "0/s"},
		{rate(12.34, nil), "12.3/s"},
		{plural(1, "target", "targets"), "1 target"},
		{plural(0, "target", "targets"), "0 targets"},
		{words("timeout_first_token"), "timeout first token"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestEveryPhaseIsExplained(t *testing.T) {
	t.Parallel()
	names := make([]view.PhaseName, len(phases))
	for i := range phases {
		names[i] = phases[i].Name
	}
	if diff := cmp.Diff(view.PhaseNames, names); diff != "" {
		t.Errorf("(-there are +explained):\n%s", diff)
	}
}
