package process

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// shown is how much of what a process wrote is shown when its test fails, in bytes.
const shown = 8000

// ForTest starts a program, with variables added to its environment, that runs until the end of the test. If the test fails, the end
// of what the program wrote is shown.
func ForTest(t *testing.T, environment []string, program string, args ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p, err := Start(ctx, environment, program, args...)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if _, err := p.Wait(Within(t, 2*grace)); err != nil {
			t.Error(err)
		}
		if out := p.Output(); t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(program), out[max(0, len(out)-shown):])
		}
	})
	return p
}

// Within is a context with a limit that also serves in a cleanup, when the context of the test itself is done.
func Within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	t.Cleanup(cancel)
	return ctx
}
