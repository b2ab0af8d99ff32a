package transport_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind: a timer of a watchdog, a dial, a reader or writer of net/http.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
