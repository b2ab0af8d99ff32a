package budget_test

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
)

// TestACrashWastesLittle copies the file as a crash would leave it.
func TestACrashWastesLittle(t *testing.T) {
	t.Parallel()
	const limit = 1000
	c := budget.Config{RequestsPerDay: limit}
	path, left := file(t), file(t)
	l := open(t, path)
	sent := wants(l, l.Account("a", &c), noon, 300)
	copyFile(t, path, left)

	after := open(t, left)
	a := after.Account("a", &c)
	if got := used(a, noon)["requests/day"]; got < float64(sent) || got > float64(sent+limit/100) {
		t.Errorf("after %d requests and a crash %v are used", sent, got)
	}
	if got := wants(after, a, noon, limit); got > limit-sent || got < limit-sent-limit/100 {
		t.Errorf("after %d of %d requests and a crash %d fit", sent, limit, got)
	}
}

// TestACrashAfterAPeriodHasBegun: what was sent in it before the file could be written again is told ahead, too.
func TestACrashAfterAPeriodHasBegun(t *testing.T) {
	t.Parallel()
	c := budget.Config{RequestsPerHour: 1000}
	path, left := file(t), file(t)
	l := open(t, path)
	a := l.Account("a", &c)
	wants(l, a, noon, 50)
	copyFile(t, path, left)
	later := noon.Add(time.Hour)
	ahead := wants(l, a, later, 5)

	untouched := open(t, left) // a process that sends nothing changes nothing
	untouched.Account("a", &c)
	shut(t, untouched)
	after := open(t, left)
	if got := used(after.Account("a", &c), later)["requests/hour"]; got < float64(ahead) || got > 10 {
		t.Errorf("%d were sent without writing, the file tells of %v", ahead, got)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAFileThatCannotBeWrittenFailsClosed: what it tells ahead is used, and no more, until it can be written again.
func TestAFileThatCannotBeWrittenFailsClosed(t *testing.T) {
	t.Parallel()
	const limit = 1000
	c := budget.Config{RequestsPerDay: limit}
	path, left := file(t), file(t)
	l := open(t, path)
	a := l.Account("a", &c)
	sent := wants(l, a, noon, 100)
	obstacle := path + ".new" // a directory, so that the new file cannot be made
	for os.Mkdir(obstacle, 0o700) != nil {
		// the writer is about to rename one
	}
	sent += wants(l, a, noon, limit)
	if sent >= 100+limit/50 {
		t.Errorf("%d requests were sent", sent)
	}
	if l.Err() == nil {
		t.Error("no error is told")
	}
	if a.Exhausted(noon) {
		t.Error("exhausted, but it is the file")
	}
	copyFile(t, path, left)
	if got := used(open(t, left).Account("a", &c), noon)["requests/day"]; got < float64(sent) {
		t.Errorf("%d were sent, the file tells of %v", sent, got)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	l.RetryNow()
	if got := wants(l, a, noon, limit); got != limit-sent || l.Err() != nil {
		t.Errorf("when it can be written again %d fit, want %d; %v", got, limit-sent, l.Err())
	}
}

// TestTheFileNeverSaysLessThanWasSent reads the file again and again while requests need much and use little, so that what is used goes up
// and down, and one hour follows the other. Each time it must tell at least what had been sent before: the process could have been killed.
func TestTheFileNeverSaysLessThanWasSent(t *testing.T) {
	t.Parallel()
	const hours, senders, tries = 2, 16, 1500
	path := file(t)
	l := open(t, path)
	a := l.Account("a", &budget.Config{RequestsPerHour: 1e9, TokensPerHour: 3_000_000})
	var tried, refused atomic.Int64
	var requests, tokens [hours]atomic.Int64
	now := func() int64 { return tried.Load() * hours / (senders*tries + 1) }
	var running sync.WaitGroup
	for i := range senders {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 11))
			for range tries {
				hour := now()
				tried.Add(1)
				need := budget.Need{OutputTokens: 1 + random.Int64N(20_000)}
				r, ok := l.Reserve(noon.Add(time.Duration(hour)*time.Hour), need, a)
				if !ok {
					refused.Add(1)
					continue
				}
				actual := budget.Need{OutputTokens: random.Int64N(1 + need.OutputTokens/100)}
				if random.IntN(50) == 0 {
					actual = need
				}
				requests[hour].Add(1)
				tokens[hour].Add(actual.OutputTokens)
				runtime.Gosched()
				r.Settle(actual)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
	}()
	for reads := 0; ; reads++ {
		hour := now()
		sent, used := requests[hour].Load(), tokens[hour].Load()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		told, err := budget.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		toldSent, toldUsed := told["a"].Hour(noon.Add(time.Duration(hour) * time.Hour))
		if sent > toldSent || used > toldUsed {
			t.Fatalf("hour %d: %d requests and %d tokens were sent, the file tells of %d and %d", hour, sent, used, toldSent, toldUsed)
		}
		select {
		case <-done:
			if reads < 10 || refused.Load() > senders*tries/2 {
				t.Errorf("%d reads, %d refused: that shows nothing", reads, refused.Load())
			}
			return
		default:
		}
	}
}
