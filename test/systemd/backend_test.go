//go:build systemd

package systemd

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// backend is a server for targets, in the network of the machine.
type backend struct {
	*httptest.Server
	authorization chan string
	hold          chan struct{} // each answer waits for it
	once          sync.Once
}

func newBackend(t *testing.T, m *machine) *backend {
	t.Helper()
	b := &backend{authorization: make(chan string, 100), hold: make(chan struct{})}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // somebody looks for metrics
			http.NotFound(w, r)
			return
		}
		b.authorization <- r.Header.Get("Authorization")
		<-b.hold
		_, _ = io.WriteString(w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	b.Listener.Close()
	b.Listener = m.listen(t)
	b.Start()
	t.Cleanup(func() {
		b.release()
		b.Close()
	})
	return b
}

// release lets all answers go.
func (b *backend) release() { b.once.Do(func() { close(b.hold) }) }

// target is the configuration of a target at the server, with a request each second.
func (b *backend) target(more string) string {
	return fmt.Sprintf(`
loads: {default: {mode: constant, interval: 1s}}
workloads: {default: {stream: false}}
targets:
  - name: one
    url: %s
    model: m
    endpoint: {type: chat%s}
    budget: {requests_per_day: 100000}
`, b.URL, more)
}

func (b *backend) asked(t *testing.T) string {
	t.Helper()
	select {
	case got := <-b.authorization:
		return got
	case <-time.NewTimer(patience).C:
		t.Fatal("no request arrives")
		return ""
	}
}
