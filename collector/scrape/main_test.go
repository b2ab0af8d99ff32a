package scrape_test

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind: a connection, a dial, work of a loop.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hush keeps a server whose clients fail on purpose from saying so.
func hush(server *httptest.Server) {
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
}

// descriptors counts the open ones of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no list of open descriptors: %v", err)
	}
	return len(entries)
}

// sleep lets the time of a bubble pass.
func sleep(d time.Duration) { <-time.NewTimer(d).C }
