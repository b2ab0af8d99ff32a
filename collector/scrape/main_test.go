package scrape_test

import (
	"io"
	"log"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind: a connection, a dial, work of a loop.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discard is the log of a server whose clients fail on purpose.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// descriptors counts the open ones of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no list of open descriptors: %v", err)
	}
	return len(entries)
}
