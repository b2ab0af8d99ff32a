package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// change plans and commits, with the configuration that holds unless one is given.
func (r *rig) change(config *Config, targets ...Target) {
	r.t.Helper()
	if config == nil {
		config = &r.settings.Config
	}
	change, err := r.Plan(*config, targets)
	if err != nil {
		r.t.Fatal(err)
	}
	change.Commit()
}

// failing answers with a page, and every other time with an error.
func failing() http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		serving(vllm(1000, 5000, 3))(w, r)
	}
}

func TestATargetThatDoesNotChangeKeepsEverything(t *testing.T) {
	t.Parallel()
	a, b := newPeer(t, failing()), newPeer(t, serving(vllm(1000, 5000, 3)))
	kept := explicit("a", a.URL+"/metrics")
	kept.Config.Map = []mapping.Rule{{Series: "aiperf_server_requests_waiting", Family: "queue", Labels: map[string]string{"x": "y"}}}
	kept.Credential, kept.CredentialKey = func() (string, string, error) { return "X-Key", "k", nil }, "key"
	r := newRig(t, rigOptions{}, kept, explicit("b", b.URL+"/metrics"))
	r.look()
	r.look()
	a.answer(serving(vllm(2000, 1, 3))) // restarted
	r.look()
	want := r.series("aiperf_server_", "aiperf_scrape_")
	before, source := r.targets["a"], r.sources[0]

	again := explicit("a", a.URL+"/metrics") // as it is read from the file a second time
	again.Config.Map = []mapping.Rule{{Series: "aiperf_server_requests_waiting", Family: "queue", Labels: map[string]string{"x": "y"}}}
	again.Credential, again.CredentialKey = func() (string, string, error) { return "X-Key", "k", nil }, "key"
	r.change(nil, again, explicit("b", b.URL+"/metrics"))
	wantSeries(t, want, r.series("aiperf_server_", "aiperf_scrape_"))
	if r.targets["a"] != before || r.sources[0] != source {
		t.Error("it was made anew")
	}
	if n := want["aiperf_server_restarts_total instance_id="+a.instance()+" target=a"]; n != 1 {
		t.Errorf("%v restarts, want one: the test shows nothing", n)
	}
}

func TestATargetThatChangesIsReadAnewAndItsCountersGoOn(t *testing.T) {
	t.Parallel()
	type setup struct {
		change func(*Target)
		config func(*Config)
		shares bool // what reads it stays
	}
	for name, c := range map[string]setup{
		"another model":                    {func(t *Target) { t.Model = "other" }, nil, true},
		"another credential":               {func(t *Target) { t.CredentialKey = "2" }, nil, false},
		"another configuration of clients": {func(t *Target) { t.HTTP.NoProxy = "h" }, nil, false},
		"another interval of all":          {nil, func(c *Config) { c.Interval *= 2 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, failing())
			given := explicit("t", p.URL+"/metrics")
			given.Credential, given.CredentialKey = func() (string, string, error) { return "X-Key", "k", nil }, "1"
			r := newRig(t, rigOptions{}, given)
			for range 4 {
				r.look()
			}
			source, config := r.sources[0], r.settings.Config
			if c.change != nil {
				c.change(&given)
			}
			if c.config != nil {
				c.config(&config)
			}
			r.change(&config, given)
			if r.targets["t"].settings.Interval != config.Interval {
				t.Errorf("it is read each %v, want %v", r.targets["t"].settings.Interval, config.Interval)
			}
			wantSeries(t, map[string]float64{"aiperf_server_up instance_id=" + p.instance() + " target=t": 0}, r.series("aiperf_server_up"))
			if diff := cmp.Diff(map[scrape.Reason]float64{scrape.Unavailable: 2}, r.errors("t")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if len(r.sources) != 1 || (r.sources[0] == source) != c.shares {
				t.Errorf("%d sources, the same one: %v, want %v", len(r.sources), r.sources[0] == source, c.shares)
			}
			r.look()
			wantSeries(t, map[string]float64{"aiperf_server_up instance_id=" + p.instance() + " target=t": 1}, r.series("aiperf_server_up"))
		})
	}
}

func TestATargetThatIsNoLongerToldOfIsReadUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	url := p.URL + "/metrics"
	r := newRig(t, rigOptions{}, explicit("a", url), explicit("b", url))
	shown := func(when string, want ...string) {
		t.Helper()
		all := map[string]float64{}
		for _, name := range want {
			all["aiperf_server_up instance_id="+p.instance()+" target="+name] = 1
			all["aiperf_scrape_skipped_total target="+name] = 0
		}
		r.look()
		if diff := cmp.Diff(all, r.series("aiperf_server_up", "aiperf_scrape_skipped_total")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	shown("at first", "a", "b")
	r.change(nil, explicit("b", url))
	shown("while it drains", "a", "b")
	r.Remove("a")
	shown("after it", "b")
	r.Remove("b")
	shown("one that the configuration has is not removed", "b")
	r.change(nil, explicit("a", url))
	shown("unless the change that leaves it out comes after", "a")
	r.change(nil)
	r.change(nil, explicit("a", url))
	r.Remove("a")
	shown("one that came back while it drained stays", "a")
	none := explicit("a", url)
	none.Config.Kind = mapping.None
	r.change(nil, none)
	shown("one that is not asked any more has nothing to show")
	r.Remove("nobody")
	off := r.settings.Config
	off.Enabled = false
	r.change(nil, explicit("c", url))
	r.change(&off, explicit("a", url))
	shown("nor has any, if nobody is")
	if n := len(r.sources); n != 0 {
		t.Errorf("%d sources are left", n)
	}
}

func TestARemovalWhileAChangeIsPendingTakesNothingAwayFromIt(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	r := newRig(t, rigOptions{}, explicit("a", p.URL+"/metrics"))
	r.change(nil)
	change, err := r.Plan(r.settings.Config, []Target{explicit("a", p.URL+"/metrics"), explicit("b", p.URL+"/metrics")})
	if err != nil {
		t.Fatal(err)
	}
	r.Remove("a") // its last user, but for what is planned
	wantSeries(t, map[string]float64{}, r.series("aiperf_server_up"))
	change.Commit()
	change.Discard() // after it, nothing
	r.look()
	wantSeries(t, map[string]float64{
		"aiperf_server_up instance_id=" + p.instance() + " target=a": 1, "aiperf_server_up instance_id=" + p.instance() + " target=b": 1,
	}, r.series("aiperf_server_up"))
	if n := p.requests.Load(); n != 1 {
		t.Errorf("%d requests, want one for both", n)
	}
}

func TestAChangeThatCannotBeMadeLeavesNoTrace(t *testing.T) {
	t.Parallel()
	p := newPeer(t, serving(vllm(1000, 5000, 3)))
	var open atomic.Int64
	r := newRig(t, rigOptions{client: func(o scrape.Options) (getter, error) {
		client, err := scrape.NewClient(o)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &counted{client, &open}, nil
	}}, explicit("a", p.URL+"/metrics"))
	r.look()
	want := r.series("aiperf_")
	unreadable := explicit("c", "http://c.invalid/metrics")
	unreadable.HTTP.TLSConfig.CAFile = "testdata/no-such-file"
	_, err := r.Plan(r.settings.Config, []Target{explicit("a", p.URL+"/metrics"), explicit("b", "http://b.invalid/metrics"), unreadable})
	if err == nil || !strings.Contains(err.Error(), `target "c"`) {
		t.Errorf("error %v, want one that names the target", err)
	}
	change, err := r.Plan(r.settings.Config, []Target{explicit("b", "http://b.invalid/metrics")})
	if err != nil {
		t.Fatal(err)
	}
	change.Discard()
	wantSeries(t, want, r.series("aiperf_"))
	if n := open.Load(); n != 1 || len(r.sources) != 1 || r.sources[0].plans != 0 {
		t.Errorf("%d clients, %d sources, used by %d changes, want the one that was there", n, len(r.sources), r.sources[0].plans)
	}
}

// counted is a client that counts those that are open.
type counted struct {
	getter
	open *atomic.Int64
}

func (c *counted) Close() {
	c.open.Add(-1)
	c.getter.Close()
}

func TestWhoLooksNeverSeesHalfAChange(t *testing.T) {
	t.Parallel()
	asked := func(names ...string) []Target {
		var out []Target
		for _, name := range []string{"a", "b", "c", "d"} {
			target := explicit(name, "http://h.invalid/metrics")
			if !strings.Contains(strings.Join(names, ""), name) {
				target.Config.Kind = mapping.None
			}
			out = append(out, target)
		}
		return out
	}
	r := newRig(t, rigOptions{}, asked("a", "b")...)
	var changing sync.WaitGroup
	done := make(chan struct{})
	changing.Go(func() {
		defer close(done)
		for range 200 {
			r.change(nil, asked("c", "d")...)
			r.change(nil, asked("a", "b")...)
		}
	})
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
		}
		got := r.series("aiperf_server_up", "aiperf_scrape_skipped_total")
		first, second := has(got, "a", "b"), has(got, "c", "d")
		if len(got) != 4 || first == second {
			t.Fatalf("saw %v, want all of a and b, or all of c and d", got)
		}
	}
	changing.Wait()
}

// has tells whether the state and the log of targets are there.
func has(series map[string]float64, targets ...string) bool {
	for _, name := range targets {
		_, up := series["aiperf_server_up instance_id=h.invalid:80 target="+name]
		_, log := series["aiperf_scrape_skipped_total target="+name]
		if !up || !log {
			return false
		}
	}
	return true
}

func TestSourcesComeAndGoWhileOthersRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked sync.Map
		r := clockwork(t, nil, func(_ context.Context, url string) ([]byte, error) {
			n, _ := asked.LoadOrStore(url, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			return []byte(vllm(1000, 5000, 3)), nil
		}, auto("a", "http://a:1"))
		looks := func(host string) int64 {
			n, ok := asked.Load("http://" + host + "/metrics")
			if !ok {
				return 0
			}
			return n.(*atomic.Int64).Load()
		}
		pass(time.Minute)
		r.change(nil, auto("a", "http://a:1"), auto("b", "http://b:1"))
		pass(time.Minute)
		if a, b := looks("a:1"), looks("b:1"); a != 24 || b != 12 {
			t.Errorf("%d looks at the first in two minutes and %d at the second in one, want one each five seconds", a, b)
		}
		r.change(nil, auto("b", "http://b:1"))
		r.Remove("a")
		pass(time.Minute)
		if a, b := looks("a:1"), looks("b:1"); a != 24 || b != 24 {
			t.Errorf("%d looks at the one that is gone and %d at the other, want 24 of each", a, b)
		}
	})
}

func TestAPanicIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := clockwork(t, nil, func(context.Context, string) ([]byte, error) { panic("a page") }, explicit("a", "http://a:1/metrics"))
		pass(20 * time.Second)
		if n := r.panics.Load(); n < 2 || !strings.Contains(r.journal.String(), "goroutine") {
			t.Errorf("%d panics were told, want at least two, with a stack in the log:\n%s", n, r.journal.String())
		}
	})
}
