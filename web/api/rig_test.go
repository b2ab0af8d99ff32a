package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon shows what it is given.
type daemon struct {
	mu      sync.Mutex
	targets []view.Target
	records []view.Record // of every target
	flags   map[string]string
	process view.Process
	asked   int // how often for all targets
	broken  bool
}

func (d *daemon) Targets() []view.Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.broken {
		panic("broken")
	}
	return slices.Clone(d.targets)
}

// askedFor is how often all targets were asked for.
func (d *daemon) askedFor() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *daemon) set(targets ...view.Target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.targets = targets
}

func (d *daemon) Target(name string) (view.Target, bool) {
	for _, t := range d.Targets() {
		if t.Name == name {
			return t, true
		}
	}
	return view.Target{}, false
}

func (d *daemon) Process() view.Process           { return d.process }
func (d *daemon) Records(string) []view.Record    { return d.records }
func (d *daemon) Discovery() []view.DiscoverySet  { return nil }
func (d *daemon) Collectors() []view.Collector    { return nil }
func (d *daemon) Config() (yaml []byte, h string) { return []byte("targets: []\n"), "abc" }
func (d *daemon) Flags() map[string]string        { return d.flags }

// at is when things happen in tests.
var at = time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("", 3600))

// serve makes a handler of the paths of an API as the page room does.
func serve(a *API) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(Prefix+"/", NotFound)
	for _, r := range a.Routes() {
		mux.Handle(r.Path, r)
	}
	return mux
}

func newAPI(d *daemon, change func(*Options)) *API {
	o := &Options{Daemon: d, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(o)
	}
	return New(o)
}

// ask gives the answer to a request without a body.
func ask(t *testing.T, a *API, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	serve(a).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	return w
}
