package load_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*load.Config)
		want   []string // nil = valid
	}{
		"the default is valid":                 {func(*load.Config) {}, nil},
		"a rate alone is valid":                {func(c *load.Config) { c.Rate = 0.2 }, nil},
		"an interval alone is valid":           {func(c *load.Config) { c.Interval = 10 * time.Second }, nil},
		"the highest rate is valid":            {func(c *load.Config) { c.Rate = 100_000 }, nil},
		"the shortest interval is valid":       {func(c *load.Config) { c.Interval = 10 * time.Microsecond }, nil},
		"the longest interval is valid":        {func(c *load.Config) { c.Interval = 720 * time.Hour }, nil},
		"poisson and queue are valid":          {func(c *load.Config) { c.Mode, c.OnFull = load.Poisson, load.Queue }, nil},
		"rate and interval exclude each other": {func(c *load.Config) { c.Rate, c.Interval = 1, time.Second }, []string{"l.interval: excludes rate, set exactly one of the two"}},
		"a negative rate":                      {func(c *load.Config) { c.Rate = -1 }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got -1"}},
		"a rate that is not a number":          {func(c *load.Config) { c.Rate = math.NaN() }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got NaN"}},
		"an infinite rate":                     {func(c *load.Config) { c.Rate = math.Inf(1) }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got +Inf"}},
		"an absurdly high rate":                {func(c *load.Config) { c.Rate = 100_001 }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got 100001"}},
		"an absurdly low rate":                 {func(c *load.Config) { c.Rate = 1e-9 }, []string{"l.rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got 1e-09"}},
		"a negative interval":                  {func(c *load.Config) { c.Interval = -time.Second }, []string{"l.interval: must be between 10µs and 720h0m0s, got -1s"}},
		"an absurdly short interval":           {func(c *load.Config) { c.Interval = 1 }, []string{"l.interval: must be between 10µs and 720h0m0s, got 1ns"}},
		"an absurdly long interval":            {func(c *load.Config) { c.Interval = 721 * time.Hour }, []string{"l.interval: must be between 10µs and 720h0m0s, got 721h0m0s"}},
		"a mode that nobody knows":             {func(c *load.Config) { c.Mode = "posson" }, []string{`l.mode: unknown mode "posson", must be one of closed, constant, gamma, poisson, probe, replay, users`}},
		"no mode":                              {func(c *load.Config) { c.Mode = "" }, []string{`l.mode: unknown mode "", must be one of closed, constant, gamma, poisson, probe, replay, users`}},
		"nothing may be in flight":             {func(c *load.Config) { c.MaxInFlight = 0 }, []string{"l.max_in_flight: must be >= 1, got 0"}},
		"an unknown policy":                    {func(c *load.Config) { c.OnFull = "wait" }, []string{`l.on_full: must be one of drop, queue, got "wait"`}},
		"every mistake is told at once": {
			func(c *load.Config) {
				c.Queue = load.QueueConfig{Size: 0, MaxWait: -1}
				c.MaxCatchup = 0
				c.WarmupRequests = -1
			},
			[]string{
				"l.queue.size: must be between 1 and 100000, got 0",
				"l.queue.max_wait: must be > 0, got -1ns",
				"l.max_catchup: must be > 0, got 0s",
				"l.warmup_requests: must be >= 0, got -1",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, test.change, test.want)
		})
	}
}

// window is a valid one that tests spoil.
func window(change func(*load.WindowConfig)) func(*load.Config) {
	return func(c *load.Config) {
		w := load.WindowConfig{Days: []load.Day{load.Monday}, From: "08:00", To: "20:00", TZ: "Europe/Budapest", Multiplier: 5}
		change(&w)
		c.Schedule = []load.WindowConfig{w}
	}
}

func series(points ...load.PointConfig) func(*load.Config) {
	return func(c *load.Config) { c.RateSeries = points }
}

func TestConfigValidateKeysOfModes(t *testing.T) {
	t.Parallel()
	no := false
	tests := map[string]struct {
		change func(*load.Config)
		want   []string // nil = valid
	}{
		"gamma with a smoothness":         {func(c *load.Config) { c.Mode, c.Smoothness = load.Gamma, 0.25 }, nil},
		"gamma with a burstiness":         {func(c *load.Config) { c.Mode, c.Burstiness = load.Gamma, 4 }, nil},
		"closed with everything it takes": {func(c *load.Config) { c.Mode, c.Concurrency, c.MinInterval = load.Closed, 8, time.Minute }, nil},
		"closed without anything":         {func(c *load.Config) { c.Mode = load.Closed }, nil},
		"probe with an interval":          {func(c *load.Config) { c.Mode, c.Interval = load.Probe, time.Minute }, nil},
		"users with an interval":          {func(c *load.Config) { c.Mode, c.Users, c.Interval = load.Users, 5, time.Second }, nil},
		"replay with everything it takes": {func(c *load.Config) {
			c.Mode, c.Speedup, c.IdleCap, c.StartOffset, c.EndOffset, c.Loop, c.LoopGap = load.Replay, 2, 1, 3, 4, &no, time.Second
		}, nil},
		"smoothness alone does not choose gamma": {
			func(c *load.Config) { c.Smoothness = 2 },
			[]string{"l.smoothness: belongs to mode gamma, not to constant"},
		},
		"smoothness for a window with gamma": {
			func(c *load.Config) {
				window(func(w *load.WindowConfig) { w.Mode = load.Gamma })(c)
				c.Smoothness = 2
			}, nil,
		},
		"two names of the smoothness": {
			func(c *load.Config) { c.Mode, c.Smoothness, c.Burstiness = load.Gamma, 2, 2 },
			[]string{"l.burstiness: is another name of smoothness, set one of the two"},
		},
		"extreme smoothness": {
			func(c *load.Config) { c.Mode, c.Smoothness = load.Gamma, 0.001 },
			[]string{"l.smoothness: must be between 0.01 and 10000, got 0.001"},
		},
		"burstiness that is not a number": {
			func(c *load.Config) { c.Mode, c.Burstiness = load.Gamma, math.NaN() },
			[]string{"l.burstiness: must be between 0.01 and 10000, got NaN"},
		},
		"a closed loop has no rate, and others no workers": {
			func(c *load.Config) { c.Mode, c.Rate = load.Closed, 1 },
			[]string{"l.rate: belongs to mode constant, gamma, poisson, probe, users, not to closed"},
		},
		"workers of an open loop": {
			func(c *load.Config) { c.Concurrency, c.MinInterval = 2, time.Second },
			[]string{"l.concurrency: belongs to mode closed, not to constant", "l.min_interval: belongs to mode closed, not to constant"},
		},
		"more workers than requests may be in flight": {
			func(c *load.Config) { c.Mode, c.Concurrency = load.Closed, 9 },
			[]string{"l.concurrency: must be <= max_in_flight, 8, got 9"},
		},
		"a negative number of workers, and no pause": {
			func(c *load.Config) { c.Mode, c.Concurrency, c.MinInterval = load.Closed, -1, -1 },
			[]string{"l.concurrency: must be between 1 and 100000, got -1", "l.min_interval: must be between 10µs and 720h0m0s, got -1ns"},
		},
		"a probe with the keys of others": {
			func(c *load.Config) { c.Mode, c.Smoothness, c.Ramp.Duration = load.Probe, 1, time.Second },
			[]string{"l.smoothness: belongs to mode gamma, not to probe", "l.ramp: belongs to mode constant, gamma, poisson, users, not to probe"},
		},
		"users without users and rate": {
			func(c *load.Config) { c.Mode = load.Users },
			[]string{"l.users: is required with mode users", "l.rate: is required with mode users, or interval, or rate_series"},
		},
		"users of another mode": {
			func(c *load.Config) { c.Users = 3 },
			[]string{"l.users: belongs to mode users, not to constant"},
		},
		"a negative number of users": {
			func(c *load.Config) { c.Mode, c.Users, c.Rate = load.Users, -3, 1 },
			[]string{"l.users: must be between 1 and 100000, got -3"},
		},
		"replay of another mode": {
			func(c *load.Config) {
				c.Speedup, c.IdleCap, c.StartOffset, c.EndOffset, c.Loop, c.LoopGap = 2, 1, 3, 4, &no, time.Second
			},
			[]string{
				"l.speedup: belongs to mode replay, not to constant",
				"l.idle_cap: belongs to mode replay, not to constant",
				"l.start_offset: belongs to mode replay, not to constant",
				"l.end_offset: belongs to mode replay, not to constant",
				"l.loop: belongs to mode replay, not to constant",
				"l.loop_gap: belongs to mode replay, not to constant",
			},
		},
		"replay of nonsense": {
			func(c *load.Config) {
				c.Mode, c.Speedup, c.IdleCap, c.StartOffset, c.EndOffset, c.LoopGap = load.Replay, math.Inf(1), -1, 5, 4, 1
			},
			[]string{
				"l.speedup: must be between 0.001 and 1000000, got +Inf",
				"l.idle_cap: must be >= 0, got -1ns",
				"l.end_offset: must be >= start_offset, 5ns, got 4ns",
				"l.loop_gap: must be >= 10µs, got 1ns",
			},
		},
		"a prefill limit beyond the limit of requests": {
			func(c *load.Config) { c.MaxPrefill = 9 },
			[]string{"l.max_prefill: must be between 0 and max_in_flight, 8, got 9"},
		},
		"a negative prefill limit":         {func(c *load.Config) { c.MaxPrefill = -1 }, []string{"l.max_prefill: must be between 0 and max_in_flight, 8, got -1"}},
		"all prefills may be in flight":    {func(c *load.Config) { c.MaxPrefill = 8 }, nil},
		"cancellation of all":              {func(c *load.Config) { c.Cancel = load.CancelConfig{Percent: 100, After: time.Second} }, nil},
		"cancellation of more than all":    {func(c *load.Config) { c.Cancel.Percent = 101 }, []string{"l.cancel.percent: must be between 0 and 100, got 101"}},
		"cancellation before it is sent":   {func(c *load.Config) { c.Cancel.After = -1 }, []string{"l.cancel.after: must be >= 0, got -1ns"}},
		"findings below the backoff block": {func(c *load.Config) { c.Backoff.Mode = "never" }, []string{`l.backoff.mode: must be one of off, rate_limit, all, got "never"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, test.change, test.want)
		})
	}
}

func TestConfigValidateChangesOfTheRate(t *testing.T) {
	t.Parallel()
	no := false
	tests := map[string]struct {
		change func(*load.Config)
		want   []string // nil = valid
	}{
		"a window":                           {window(func(*load.WindowConfig) {}), nil},
		"a window that is always open":       {window(func(w *load.WindowConfig) { *w = load.WindowConfig{Rate: 1} }), nil},
		"a window that crosses midnight":     {window(func(w *load.WindowConfig) { w.From, w.To = "22:00", "06:00" }), nil},
		"a window until midnight":            {window(func(w *load.WindowConfig) { w.To = "24:00" }), nil},
		"a window without requests":          {window(func(w *load.WindowConfig) { w.Multiplier, w.Enabled = 0, &no }), nil},
		"a window that only changes the law": {window(func(w *load.WindowConfig) { w.Multiplier, w.Mode = 0, load.Poisson }), nil},
		"a window of users": {func(c *load.Config) {
			window(func(*load.WindowConfig) {})(c)
			c.Mode, c.Users, c.Rate = load.Users, 2, 1
		}, nil},
		"a window of a closed loop": {
			func(c *load.Config) { window(func(*load.WindowConfig) {})(c); c.Mode = load.Closed },
			[]string{"l.schedule: belongs to mode constant, gamma, poisson, users, not to closed"},
		},
		"a day that nobody knows": {
			window(func(w *load.WindowConfig) { w.Days = []load.Day{"monday"} }),
			[]string{`l.schedule[0].days[0]: must be one of mon, tue, wed, thu, fri, sat, sun, got "monday"`},
		},
		"a day twice": {
			window(func(w *load.WindowConfig) { w.Days = []load.Day{load.Monday, load.Tuesday, load.Monday} }),
			[]string{"l.schedule[0].days[2]: mon is listed twice"},
		},
		"no time of day": {
			window(func(w *load.WindowConfig) { w.From, w.To = "8:00", "20" }),
			[]string{`l.schedule[0].from: must be a time of day between "00:00" and "24:00", got "8:00"`},
		},
		"an end that is no time of day": {
			window(func(w *load.WindowConfig) { w.To = "24:01" }),
			[]string{`l.schedule[0].to: must be a time of day between "00:00" and "24:00", got "24:01"`},
		},
		"an empty window": {
			window(func(w *load.WindowConfig) { w.To = "08:00" }),
			[]string{`l.schedule[0].to: must differ from "from"; a whole day is from "00:00" to "24:00"`},
		},
		"a beginning at the end of the day": {
			window(func(w *load.WindowConfig) { w.From = "24:00" }),
			[]string{`l.schedule[0].from: must be before "24:00", which is "00:00" of the next day`},
		},
		"a time zone that nobody knows": {
			window(func(w *load.WindowConfig) { w.TZ = "Europe/Bukarest" }),
			[]string{`l.schedule[0].tz: unknown time zone "Europe/Bukarest", must be a name such as Europe/Budapest or UTC`},
		},
		"a window that changes nothing": {
			window(func(w *load.WindowConfig) { w.Multiplier = 0 }),
			[]string{"l.schedule[0]: changes nothing, set one of rate, interval, multiplier, mode and enabled: false"},
		},
		"two rates of a window": {
			window(func(w *load.WindowConfig) { w.Rate = 1 }),
			[]string{"l.schedule[0].multiplier: excludes rate, set at most one of rate, interval and multiplier"},
		},
		"a rate of a window that is too high": {
			window(func(w *load.WindowConfig) { w.Rate, w.Multiplier = 1e6, 0 }),
			[]string{"l.schedule[0].rate: must be > 0, at most 100000 requests per second and at least one in 720h0m0s, got 1e+06"},
		},
		"an interval of a window that is too short": {
			window(func(w *load.WindowConfig) { w.Interval, w.Multiplier = 1, 0 }),
			[]string{"l.schedule[0].interval: must be between 10µs and 720h0m0s, got 1ns"},
		},
		"a multiplier that is not a number": {
			window(func(w *load.WindowConfig) { w.Multiplier = math.NaN() }),
			[]string{"l.schedule[0].multiplier: must be > 0, and its rates at most 100000 requests per second and at least one in 720h0m0s, got NaN"},
		},
		"a multiplier that makes too much": {
			window(func(w *load.WindowConfig) { w.Multiplier = 1e7 }),
			[]string{"l.schedule[0].multiplier: must be > 0, and its rates at most 100000 requests per second and at least one in 720h0m0s, got 1e+07"},
		},
		"a window with a law of another kind": {
			window(func(w *load.WindowConfig) { w.Mode = load.Closed }),
			[]string{`l.schedule[0].mode: must be one of constant, gamma, poisson, got "closed"`},
		},
		"a window that changes the law of users": {
			func(c *load.Config) {
				window(func(w *load.WindowConfig) { w.Mode = load.Poisson })(c)
				c.Mode, c.Users, c.Rate = load.Users, 2, 1
			},
			[]string{"l.schedule[0].mode: cannot change the mode users, only constant, gamma, poisson"},
		},
		"too many windows": {
			func(c *load.Config) { c.Schedule = make([]load.WindowConfig, 101) },
			[]string{"l.schedule: must have at most 100 windows, got 101"},
		},
		"a ramp":                         {func(c *load.Config) { c.Ramp = load.RampConfig{Duration: time.Minute, From: 1} }, nil},
		"a ramp that takes no time":      {func(c *load.Config) { c.Ramp.From = 1 }, []string{"l.ramp.duration: is required with ramp.from"}},
		"a ramp that goes back":          {func(c *load.Config) { c.Ramp.Duration = -1 }, []string{"l.ramp.duration: must be >= 0, got -1ns"}},
		"a ramp from a negative rate":    {func(c *load.Config) { c.Ramp = load.RampConfig{Duration: 1, From: -1} }, []string{"l.ramp.from: must be between 0 and 100000 requests per second, got -1"}},
		"a series":                       {series(load.PointConfig{Rate: 1}, load.PointConfig{At: 12 * time.Hour}), nil},
		"a series of a single point":     {series(load.PointConfig{Rate: 1}), []string{"l.rate_series: must have between 2 and 10000 points, got 1"}},
		"a series that never has a rate": {series(load.PointConfig{}, load.PointConfig{At: 1}), []string{"l.rate_series: must have a rate above 0"}},
		"a series that goes back": {
			series(load.PointConfig{Rate: 1, At: 2}, load.PointConfig{At: 2}),
			[]string{"l.rate_series[1].at: must be later than the point before, 2ns, got 2ns"},
		},
		"a point beyond the period": {
			series(load.PointConfig{Rate: 1}, load.PointConfig{At: 24 * time.Hour}),
			[]string{"l.rate_series[1].at: must be >= 0 and below the period of 24h0m0s, got 24h0m0s"},
		},
		"a point beyond a period that is set": {
			func(c *load.Config) {
				series(load.PointConfig{Rate: 1}, load.PointConfig{At: time.Hour})(c)
				c.Period = time.Hour
			},
			[]string{"l.rate_series[1].at: must be >= 0 and below the period of 1h0m0s, got 1h0m0s"},
		},
		"a point with a negative rate": {
			series(load.PointConfig{Rate: 1}, load.PointConfig{At: 1, Rate: -1}),
			[]string{"l.rate_series[1].rate: must be between 0 and 100000 requests per second, got -1"},
		},
		"a period without a series": {func(c *load.Config) { c.Period = time.Hour }, []string{"l.period: belongs to rate_series, which is not set"}},
		"a period that is too short": {
			func(c *load.Config) {
				series(load.PointConfig{Rate: 1}, load.PointConfig{At: 1})(c)
				c.Period = time.Millisecond
			},
			[]string{"l.period: must be between 1s and 720h0m0s, got 1ms"},
		},
		"a series beside a rate": {
			func(c *load.Config) {
				series(load.PointConfig{Rate: 1}, load.PointConfig{At: 1})(c)
				c.Rate = 1
			},
			[]string{"l.rate: excludes rate_series, set exactly one of the two"},
		},
		"a series beside an interval": {
			func(c *load.Config) {
				series(load.PointConfig{Rate: 1}, load.PointConfig{At: 1})(c)
				c.Interval = time.Second
			},
			[]string{"l.interval: excludes rate_series, set exactly one of the two"},
		},
		"a multiplied series with a rate of 0": {
			func(c *load.Config) {
				window(func(*load.WindowConfig) {})(c)
				series(load.PointConfig{Rate: 1}, load.PointConfig{At: 1})(c)
			}, nil,
		},
		"a multiplied series with too high a rate": {
			func(c *load.Config) {
				window(func(*load.WindowConfig) {})(c)
				series(load.PointConfig{Rate: 50_000}, load.PointConfig{At: 1})(c)
			},
			[]string{"l.schedule[0].multiplier: must be > 0, and its rates at most 100000 requests per second and at least one in 720h0m0s, got 5"},
		},
		"a time zone of the load that nobody knows": {
			func(c *load.Config) { c.TZ = "CEST" },
			[]string{`l.tz: unknown time zone "CEST", must be a name such as Europe/Budapest or UTC`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, test.change, test.want)
		})
	}
}

func wantFindings(t *testing.T, change func(*load.Config), want []string) {
	t.Helper()
	c := load.DefaultConfig()
	change(&c)
	got := ""
	if err := errors.Join(c.Validate("l")...); err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestHz(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config load.Config
		want   float64
	}{
		"neither rate nor interval is one in 30 s": {load.Config{}, 1.0 / 30},
		"a rate is taken as it is":                 {load.Config{Rate: 0.2}, 0.2},
		"an interval is turned into a rate":        {load.Config{Interval: 250 * time.Millisecond}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.config.Hz(); got != test.want {
				t.Errorf("Hz = %v, want %v", got, test.want)
			}
		})
	}
}
