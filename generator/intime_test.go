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
// returns what was merely late; then it is run again, up to three times in all. If the machine's own timers were late meanwhile, it cannot
// tell, and the test is skipped.
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
	const most = 5
	told := strings.Join(late[:min(most, len(late))], "\n")
	if len(late) > most {
		told += fmt.Sprintf("\nand %d more", len(late)-most)
	}
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
