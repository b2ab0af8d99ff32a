package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// made is a trial in which the server sent so many chunks, half of them while the load was whole.
func made(t *testing.T, cpu float64, peak int64, chunks, requests int, said figures) trial {
	t.Helper()
	var known truth
	text := fmt.Sprintf(`{"requests":%d,"completed":%[1]d,"peak_open":2,"ttft":{"mean":0.05,"p50":0.05,"p99":0.06},"itl":{"mean":0.01,"p50":0.01,"p99":0.011},`+
		`"first_arrival_ns":1500000000,"last_arrival_ns":3500000000,"timeline":{"start_ns":1500000000,"step_ns":1000000000,"chunks":[%d,%d]}}`,
		requests, chunks/2, chunks-chunks/2)
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		t.Fatal(err)
	}
	return trial{used: usage{Started: 1e9, CPU: cpu, Peak: peak}, known: known, said: said}
}

func TestSectionTellsCostAndPrecision(t *testing.T) {
	t.Parallel()
	s := scenario{name: "2x100", title: "2 streams", streams: 2, tokens: 100, gap: 10 * time.Millisecond, firstToken: 10 * time.Millisecond, batch: 1}
	said := figures{requests: 4, ttft: distribution{.051, .052, .063}, itl: distribution{.01, .01, .012}}
	contests := []contest{
		{
			tool: floorTool, start: made(t, .1, 1<<20, 0, 1, figures{requests: 1}),
			rounds: []trial{made(t, .1012, 2<<20, 400, 4, figures{requests: 4}), made(t, .102, 2<<20, 400, 4, figures{requests: 4})},
		},
		{
			tool: ourTool, start: made(t, .2, 1<<20, 100, 1, said),
			rounds: []trial{made(t, .203, 5<<20, 400, 4, said), made(t, .203, 6<<20, 400, 5, said)},
		},
		{tool: aiperfTool, failed: errors.New("not done within 1s")},
	}
	all := results{head: []string{"date: today"}, sections: []section{newSection(&s, contests)}}

	var text strings.Builder
	if err := all.text(&text); err != nil {
		t.Fatal(err)
	}
	want := `date: today

2 streams (` + "`2x100`" + `)

tool             chunks/s  of the load, %  CPU, s                of it start, s  CPU per chunk, µs  × floor             × ours              peak memory, MiB  per stream, KiB           first request after, s
floor            200       100.0           0.10                  0.10            4.0 (3.0 … 5.0)    1.00                0.40 (0.30 … 0.50)  2                 512.0                     0.50
aiperf-exporter  200       100.0           0.20                  0.20            10.0               2.67 (2.00 … 3.33)  1.00                6 (5 … 6)         2304.0 (2048.0 … 2560.0)  0.50
aiperf           –         –               –                     0.00            –                  –                   –                   –                 –                         –

ms: said, error                 TTFT mean      TTFT p50       TTFT p99       ITL mean       ITL p50        ITL p99
(the server, beside the floor)  50.00          50.00          60.00          10.00          10.00          11.00
aiperf-exporter                 51.00, +1.000  52.00, +2.000  63.00, +3.000  10.00, +0.000  10.00, +0.000  12.00, +1.000
aiperf                          –              –              –              –              –              –
* aiperf-exporter, round 2: the server had 5 requests and completed 5, the tool tells of 4
* aiperf failed after 0 rounds: not done within 1s
`
	if diff := cmp.Diff(lines(want), lines(text.String())); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}

	var page strings.Builder
	if err := all.markdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"* date: today\n\n### 2 streams (`2x100`)\n\n| tool | chunks/s | of the load, % |",
		"\n|---|--:|--:|--:|--:|--:|--:|\n",
		"\n| aiperf-exporter | 51.00, +1.000 | 52.00, +2.000 | 63.00, +3.000 | 10.00, +0.000 | 10.00, +0.000 | 12.00, +1.000 |\n",
		"\n\n* aiperf-exporter, round 2:",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is not in\n%s", want, page.String())
		}
	}
}

// lines are those of a text, without the blanks that keep columns in place.
func lines(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		found = append(found, strings.Join(strings.Fields(line), " "))
	}
	return found
}

func TestSaturationTellsWhatASecondOfCPUCanTake(t *testing.T) {
	t.Parallel()
	s := scenario{name: "full", title: "full", streams: 2, tokens: 100}
	got := newSection(&s, []contest{
		{tool: floorTool, start: made(t, .1, 1, 0, 1, figures{requests: 1}), rounds: []trial{made(t, .102, 1, 400, 4, figures{requests: 4})}},
		{tool: ourTool, start: made(t, .2, 1, 0, 1, figures{requests: 1}), rounds: []trial{made(t, .208, 1, 400, 4, figures{requests: 4})}},
	})
	want := []grid{{
		header: []string{"tool", "chunks per CPU second", "× floor", "chunks/s", "CPU, s", "CPU per chunk, µs"},
		rows: [][]string{
			{floorTool, "200000", "1.00", "200", "0.10", "5.00"},
			{ourTool, "50000", "4.00", "200", "0.21", "20.00"},
		},
	}}
	if diff := cmp.Diff(want, got.grids, cmp.AllowUnexported(grid{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSpreadIsThatOfTheRoundsThatHaveANumber(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, test := range map[string]struct {
		values []float64
		want   string
	}{
		"odd":                 {[]float64{3, 1, 2}, "2.0 (1.0 … 3.0)"},
		"even":                {[]float64{4, 1}, "2.5 (1.0 … 4.0)"},
		"one":                 {[]float64{4}, "4.0"},
		"equal when rounded":  {[]float64{4.01, 4.02, 4.03}, "4.0"},
		"a round without one": {[]float64{nan, 4, nan}, "4.0"},
		"none":                {[]float64{nan}, none},
		"no round":            {nil, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newSpread(test.values).cell("%.1f"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestResultsAreWrittenBetweenTheMarks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		page, want string
		wantErr    error
	}{
		"older ones are replaced": {"# Page\n" + beginMark + "old\n" + endMark + "rest\n", "# Page\n" + beginMark + "new\n" + endMark + "rest\n", nil},
		"no marks":                {"# Page\n", "", errMarks},
		"only the first mark":     {beginMark, "", errMarks},
		"marks the wrong way":     {endMark + beginMark, "", errMarks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := replaced([]byte(test.page), []byte("new\n"))
			if !errors.Is(err, test.wantErr) || string(got) != test.want {
				t.Errorf("got %q and error %v, want %q and %v", got, err, test.want, test.wantErr)
			}
		})
	}
}
