package load_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestBackoffConfigValidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(c *load.BackoffConfig)
		want   []string // keys
	}{
		"the default is valid":              {func(*load.BackoffConfig) {}, nil},
		"all is valid":                      {func(c *load.BackoffConfig) { c.Mode = load.BackoffAll }, nil},
		"an unknown mode":                   {func(c *load.BackoffConfig) { c.Mode = "some" }, []string{"b.mode"}},
		"pauses too short to mean anything": {func(c *load.BackoffConfig) { c.Max, c.ProbeInterval = 1, 1 }, []string{"b.max", "b.probe_interval"}},
		"pauses in which a day would be lost": {
			func(c *load.BackoffConfig) { c.Max, c.ProbeInterval = 24*time.Hour, time.Hour }, []string{"b.max", "b.probe_interval"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := load.DefaultBackoffConfig()
			test.change(&c)
			var got []string
			for _, err := range c.Validate("b") {
				var finding *invalid.Error
				if !errors.As(err, &finding) {
					t.Fatalf("%v has no key", err)
				}
				got = append(got, finding.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func newBackoff(mode load.BackoffMode) *load.Backoff {
	c := load.DefaultBackoffConfig()
	c.Mode = mode
	return load.NewBackoff(&c, [32]byte{1})
}

// answered is a request that failed with an HTTP status, and how long the server asked to be left alone.
func answered(status int, class metrics.ErrorClass, retryAfter ...float64) load.Observation {
	o := load.Observation{Outcome: metrics.Failure, Class: class, Status: status}
	if len(retryAfter) > 0 {
		o.RetryAfter = metrics.Value{V: retryAfter[0], Defined: true}
	}
	return o
}

func limited(retryAfter ...float64) load.Observation {
	return answered(429, metrics.ErrHTTP429, retryAfter...)
}

func broken(retryAfter ...float64) load.Observation {
	return answered(503, metrics.ErrHTTP5xx, retryAfter...)
}

func refused() load.Observation           { return answered(401, metrics.ErrHTTP4xx) }
func refusedConnection() load.Observation { return answered(0, metrics.ErrConnect) }
func succeeded() load.Observation         { return load.Observation{Outcome: metrics.Success, Status: 200} }

// note tells the backoff of a request that was sent at the instant start and ended at now.
func note(b *load.Backoff, o load.Observation, start, now int64) {
	o.Start = start
	b.Note(o, now)
}

// TestWhichFailuresPause notes one failure and looks at the longest that may be paused for it.
func TestWhichFailuresPause(t *testing.T) {
	t.Parallel()
	const now = 1000 * second
	type pauses map[load.BackoffMode]time.Duration // 0 = none; full jitter makes an exponential one shorter
	none := pauses{}
	for name, test := range map[string]struct {
		observation load.Observation
		exact       bool
		want        pauses
	}{
		"429":                           {limited(), false, pauses{"rate_limit": time.Second, "all": time.Second}},
		"429 with Retry-After":          {limited(7.5), true, pauses{"rate_limit": 7500 * time.Millisecond, "all": 7500 * time.Millisecond}},
		"429 with a day":                {limited(86400), true, pauses{"rate_limit": 15 * time.Minute, "all": 15 * time.Minute}},
		"429 with a number without end": {limited(math.MaxFloat64), true, pauses{"rate_limit": 15 * time.Minute, "all": 15 * time.Minute}},
		"429 with a date in the past":   {limited(0), false, pauses{"rate_limit": time.Second, "all": time.Second}},
		"a limit told in a stream":      {answered(200, metrics.ErrHTTP429), false, pauses{"rate_limit": time.Second, "all": time.Second}},
		"503":                           {broken(), false, pauses{"all": time.Second}},
		"503 with Retry-After":          {broken(60), true, pauses{"rate_limit": time.Minute, "all": time.Minute}},
		"529 with Retry-After":          {answered(529, metrics.ErrHTTP5xx, 60), true, pauses{"rate_limit": time.Minute, "all": time.Minute}},
		"500 with Retry-After":          {answered(500, metrics.ErrHTTP5xx, 60), false, pauses{"all": time.Second}},
		"a refused connection":          {refusedConnection(), false, pauses{"all": time.Second}},
		"a name that is not found":      {answered(0, metrics.ErrDNS), false, pauses{"all": time.Second}},
		"a first token that is late":    {answered(200, metrics.ErrTimeoutFirstToken), false, none},
		"400":                           {answered(400, metrics.ErrHTTP4xx), false, none},
		"one 401":                       {refused(), false, none},
		"a request of ours that failed": {answered(0, metrics.ErrClientInternal), false, none},
		"a success":                     {succeeded(), false, none},
		"one that was cancelled":        {load.Observation{Outcome: metrics.Cancelled, Status: 429}, false, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []load.BackoffMode{load.BackoffOff, load.BackoffRateLimit, load.BackoffAll} {
				b := newBackoff(mode)
				note(b, test.observation, now, now)
				got, want := time.Duration(max(0, b.Until()-now)), test.want[mode]
				if got > want || test.exact && got != want || want > 0 && !b.Active(now) {
					t.Errorf("%s: paused for %v, active %v, want %v", mode, got, b.Active(now), want)
				}
				if b.Admit(now) == b.Active(now) || !b.Admit(now+int64(want)) {
					t.Errorf("%s: admitted %v at once, %v afterwards", mode, b.Admit(now), b.Admit(now+int64(want)))
				}
			}
		})
	}
}

// TestPausesDouble lets each request after a pause fail. The longest of many seeds shows the bound, their mean that all of it is used.
func TestPausesDouble(t *testing.T) {
	t.Parallel()
	const seeds, steps = 2000, 12
	for name, test := range map[string]struct {
		observation load.Observation
		longest     time.Duration
	}{
		"429":                  {limited(), 5 * time.Minute},
		"a refused connection": {refusedConnection(), time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var longest, sum [steps]float64
			for seed := range seeds {
				c := load.DefaultBackoffConfig()
				c.Mode = load.BackoffAll
				c.ProbeInterval = time.Minute
				b := load.NewBackoff(&c, [32]byte{byte(seed), byte(seed >> 8)})
				now := second
				for i := range steps {
					note(b, test.observation, now, now)
					pause := float64(b.Until()-now) / 1e9
					longest[i], sum[i] = max(longest[i], pause), sum[i]+pause
					now = b.Until()
				}
			}
			for i := range steps {
				bound := min(math.Pow(2, float64(i)), test.longest.Seconds())
				within(t, "longest pause", longest[i]/bound, 0.98, 1)
				within(t, "mean pause", sum[i]/seeds/bound, 0.47, 0.53)
			}
		})
	}
}

func TestASuccessResetsTheSteps(t *testing.T) {
	t.Parallel()
	b := newBackoff(load.BackoffRateLimit)
	now := second
	for range 20 {
		note(b, limited(), now, now)
		now = b.Until()
	}
	note(b, succeeded(), now, now)
	note(b, limited(), now, now)
	if pause := b.Until() - now; pause > second {
		t.Errorf("the pause after a success is %v", time.Duration(pause))
	}
}

func TestRequestsThatRunWhenAPauseBeginsCountAsOne(t *testing.T) {
	t.Parallel()
	b := newBackoff(load.BackoffRateLimit)
	for i := range int64(10) { // sent together, they are refused one after the other
		note(b, limited(), 5*second, 10*second+i)
	}
	if pause := b.Until() - 10*second; pause > second {
		t.Errorf("ten at once paused for %v", time.Duration(pause))
	}
	note(b, limited(3), 5*second, 11*second)
	if b.Until() != 14*second {
		t.Errorf("a later wish of the server is not followed: until %d", b.Until())
	}
	note(b, limited(1), 5*second, 11*second+1)
	if b.Until() != 14*second {
		t.Errorf("an earlier one shortens the pause: until %d", b.Until())
	}
	note(b, succeeded(), 5*second, 12*second)
	if !b.Active(12 * second) {
		t.Error("a request that the server had let in before ends the pause")
	}
	note(b, succeeded(), 14*second, 15*second)
	if b.Active(15*second) || !b.Admit(15*second) {
		t.Error("paused after a success")
	}
}

func TestAnOutageIsProbed(t *testing.T) {
	t.Parallel()
	b := newBackoff(load.BackoffAll)
	now := second
	for b.Until()-now < 10*second || !b.Active(now) { // until a pause is longer than the time between probes
		if now = max(now, b.Until()); !b.Admit(now) {
			t.Fatal("not admitted")
		}
		note(b, refusedConnection(), now, now)
	}
	began := now
	var probes []int64
	for ; now < began+35*second && b.Active(now); now += second / 2 {
		if b.Admit(now) {
			probes = append(probes, (now-began)/second)
		}
	}
	want := []int64{10, 20, 30}[:len(probes)]
	if diff := cmp.Diff(want, probes); diff != "" || len(probes) == 0 {
		t.Errorf("probes, in seconds (-want +got):\n%s", diff)
	}
	note(b, succeeded(), now-second, now)
	if b.Active(now) {
		t.Error("a probe that succeeded does not end the pause")
	}
}

// admitted counts the arrivals that are let in, one each second; each is answered at once.
func admitted(b *load.Backoff, from, seconds int64, answer load.Observation) int {
	var n int
	for now := from; now < from+seconds*second; now += second {
		if b.Admit(now) {
			n++
			note(b, answer, now, now)
		}
	}
	return n
}

func TestARefusedConfigurationIsAskedOnceAMinute(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403, 404} {
		for mode, want := range map[load.BackoffMode]int{load.BackoffOff: 600, load.BackoffRateLimit: 3 + 9, load.BackoffAll: 3 + 9} {
			b := newBackoff(mode)
			if got := admitted(b, second, 600, answered(status, metrics.ErrHTTP4xx)); got != want {
				t.Errorf("%d in mode %s: %d requests in ten minutes, want %d", status, mode, got, want)
			}
		}
	}
}

func TestOnlyRefusalsInARowCount(t *testing.T) {
	t.Parallel()
	b := newBackoff(load.BackoffRateLimit)
	for range 5 {
		note(b, refused(), second, second)
		note(b, refused(), second, second)
		note(b, answered(400, metrics.ErrHTTP4xx), second, second)
		note(b, refused(), second, second)
		note(b, refused(), second, second)
		note(b, succeeded(), second, second)
	}
	if b.Active(second) {
		t.Error("paused")
	}
	note(b, refused(), second, second)
	note(b, refused(), second, second)
	note(b, load.Observation{Outcome: metrics.Cancelled}, second, second)
	note(b, refused(), second, second)
	if !b.Active(second) || b.Until() != 61*second {
		t.Errorf("active %v, until %d, want a minute", b.Active(second), b.Until())
	}
	note(b, refused(), 0, 30*second)
	if b.Until() != 61*second {
		t.Errorf("one that ran when the pause began prolongs it, until %d", b.Until())
	}
}

func TestARefusedConfigurationThatIsRepairedIsFullyUsedAgain(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]load.Observation{"by a success": succeeded(), "by another failure": answered(500, metrics.ErrHTTP5xx)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackoff(load.BackoffRateLimit)
			admitted(b, second, 100, refused())
			note(b, answered(500, metrics.ErrHTTP5xx), 0, 101*second) // sent before it was refused
			if !b.Active(101 * second) {
				t.Error("an old request ends the pause")
			}
			if got := admitted(b, 130*second, 100, answer); got != 100 {
				t.Errorf("%d of 100 admitted", got)
			}
		})
	}
}

func TestTheSeedMakesPausesReproducible(t *testing.T) {
	t.Parallel()
	a, b := newBackoff(load.BackoffRateLimit), newBackoff(load.BackoffRateLimit)
	for i := range int64(20) {
		now := i * 1000 * second
		note(a, limited(), now, now)
		note(b, limited(), now, now)
		if a.Until() != b.Until() {
			t.Fatalf("pause %d: %d and %d", i, a.Until(), b.Until())
		}
	}
}

func TestBackoffUnderConcurrency(t *testing.T) {
	t.Parallel()
	b := newBackoff(load.BackoffAll)
	answers := []load.Observation{limited(), limited(1e-6), broken(), refused(), succeeded()}
	var requests sync.WaitGroup
	for i := range 8 {
		requests.Go(func() {
			for now := range int64(2000) {
				if b.Admit(now * second) {
					note(b, answers[(i+int(now))%len(answers)], now*second, now*second)
				}
				b.Active(now)
				b.Until()
			}
		})
	}
	requests.Wait()
	note(b, succeeded(), math.MaxInt64, math.MaxInt64)
	if b.Active(0) {
		t.Error("paused after a success")
	}
}

func BenchmarkBackoff(b *testing.B) {
	b.ReportAllocs()
	backoff := newBackoff(load.BackoffAll)
	var now int64
	for b.Loop() {
		now++
		if backoff.Admit(now) {
			note(backoff, succeeded(), now, now)
		}
	}
}
