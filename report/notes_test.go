package report

import (
	"fmt"
	"slices"
	"testing"
)

func TestSuspectRequestsAreANote(t *testing.T) {
	t.Parallel()
	const note = "2 requests suspect: this machine was at fault meanwhile (late wake-ups, own drops, CPU quota, self-test), do not blame the server for them"
	c := NewCollector(nil)
	add(c, stream(0, 10, 20), stream(100, 10, 20))
	if got := c.Report(testMeta()).Notes; slices.Contains(got, note) {
		t.Errorf("nothing was suspect, and the notes are %q", got)
	}
	success, failed, warmUp := stream(200, 10, 20), failure(300, "connect", 0, "refused"), stream(400, 10, 20)
	success.Suspect, failed.Suspect, warmUp.Suspect, warmUp.Warmup = true, true, true, true
	add(c, success, failed, warmUp)
	if got := c.Report(testMeta()).Notes; !slices.Contains(got, note) {
		t.Errorf("got %q, want among them %q", got, note)
	}
}

func TestOtherTrafficOnTheServerIsNoted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		finished, residual float64
		want               string
	}{
		"it finished more than the run had":           {31, 5, "the server's figures contain other traffic: it finished 31 requests, 20 of them at most were this run's"},
		"its first tokens were slower than the run's": {20, -33.93, "the server's figures contain other traffic: its first tokens were 33.9 ms slower than this run's"},
		"nothing tells of any":                        {20, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &serverCounts{}
			c.value[finishedRequests], c.has[finishedRequests] = tc.finished, true
			r := &Report{Successes: 17, Failures: 2, WarmUp: 1, Server: []Metric{{Tag: "time_to_first_token_residual", Stats: Stats{Avg: tc.residual}}}}
			got := ""
			noteOtherTraffic(r, c, func(holds bool, format string, args ...any) {
				if holds {
					got += fmt.Sprintf(format, args...)
				}
			})
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
