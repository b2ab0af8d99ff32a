package report

import (
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
