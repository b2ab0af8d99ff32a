package generator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// An instant of a record may stand that much before and after the server's write that it tells of.
const (
	tooEarly = 3 * time.Millisecond
	tooLate  = 15 * time.Millisecond
)

// inTime runs a case whose figures depend on the machine's moving bytes in time. try fails the test itself where an outcome is wrong, and
// returns what was merely late; then it is run again, up to three times in all. A machine whose own timers were late all the while
// cannot tell, and the test is skipped.
func inTime(t *testing.T, try func() (late []string)) {
	t.Helper()
	const tries = 3
	var busiest time.Duration
	var late []string
	for range tries {
		lateness := watchTimers()
		late = try()
		busiest = max(busiest, lateness())
		if len(late) == 0 {
			return
		}
	}
	told := strings.Join(late, "\n")
	if busiest > tooLate {
		t.Skipf("the machine is too busy: a timer was %v late; late in each of %d tries:\n%s", busiest, tries, told)
	}
	t.Fatalf("late in each of %d tries:\n%s", tries, told)
}

// watchTimers observes how late this machine wakes a goroutine, until the returned function is called; that gives the worst.
func watchTimers() (stop func() time.Duration) {
	const interval = 5 * time.Millisecond
	done, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		timer := time.NewTimer(interval)
		defer timer.Stop()
		for {
			due := time.Now().Add(interval)
			timer.Reset(interval)
			select {
			case <-timer.C:
				most = max(most, time.Since(due))
			case <-done:
				worst <- most
				return
			}
		}
	}()
	return func() time.Duration {
		close(done)
		return <-worst
	}
}

// outside says that a figure is not in its range, and nothing if it is.
func outside(what string, got, least, most float64) []string {
	if got < least || got > most {
		return []string{fmt.Sprintf("%s is %v, want %v to %v", what, got, least, most)}
	}
	return nil
}

// misplaced says that an instant of a record does not fit the writes that brought it, the first and the last of a read, and nothing if it
// does. Events that a client took in one read, because it was late, have the instant of the last.
func misplaced(what string, got, start int64, first, last writtenAt) []string {
	earliest, latest := first.before-int64(tooEarly), last.after+int64(tooLate)
	if got < earliest || got > latest {
		return []string{fmt.Sprintf("%s at %v, want between %v and %v (after the start)", what, time.Duration(got-start),
			time.Duration(earliest-start), time.Duration(latest-start))}
	}
	return nil
}
