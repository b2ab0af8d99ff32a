package load_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

const hour = 3600 * second

// wallAt is the wall-clock time that a text in UTC names.
func wallAt(t *testing.T, text string) int64 {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.UnixNano()
}

// valid makes a configuration that has no findings.
func valid(t *testing.T, change func(*load.Config)) *load.Config {
	t.Helper()
	c := load.DefaultConfig()
	change(&c)
	if errs := c.Validate("l"); len(errs) > 0 {
		t.Fatal(errs)
	}
	return &c
}

func TestAWindowChangesTheRateWithoutABurstOrAGap(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) {
		c.Interval = 10 * time.Second
		c.Schedule = []load.WindowConfig{{
			Days: []load.Day{load.Monday, load.Tuesday, load.Wednesday, load.Thursday, load.Friday},
			From: "08:00", To: "20:00", TZ: "Europe/Budapest", Multiplier: 5,
		}}
	})
	for name, test := range map[string]struct {
		start string
		want  []float64 // seconds
	}{
		"half an interval is left when the window opens":   {"2026-06-01T05:59:55Z", []float64{0, 6, 8, 10, 12}},
		"half an interval is left when it closes":          {"2026-06-01T17:59:55Z", []float64{0, 2, 4, 10, 20, 30}},
		"an arrival of that instant belongs to the window": {"2026-06-01T05:59:50Z", []float64{0, 10, 12, 14}},
		"a Saturday is no working day":                     {"2026-06-06T05:59:55Z", []float64{0, 10, 20, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gaps(arrivals(load.NewSchedule(c, &load.Origin{Wall: wallAt(t, test.start)}, nil), len(test.want)), 1e9)
			for i := range got {
				if i > 0 {
					got[i] += got[i-1]
				}
				if math.Abs(got[i]-test.want[i]) > 2e-9 {
					t.Fatalf("arrivals after %v seconds, want %v", got[:i+1], test.want)
				}
			}
		})
	}
}

func TestTheFirstWindowThatHoldsCounts(t *testing.T) {
	t.Parallel()
	no := false
	c := valid(t, func(c *load.Config) {
		c.Mode, c.Rate, c.TZ = load.Poisson, 5, "Europe/Budapest"
		c.Schedule = []load.WindowConfig{
			{Name: "maintenance", Days: []load.Day{load.Sunday}, From: "10:00", To: "11:00", Enabled: &no},
			{Name: "weekend", Days: []load.Day{load.Saturday, load.Sunday}, Rate: 1},
			{Name: "lunch in UTC", From: "11:00", To: "12:00", TZ: "UTC", Interval: 50 * time.Millisecond},
			{Name: "night", From: "22:00", To: "06:00", Multiplier: 0.5},
		}
	})
	s := load.NewSchedule(c, &load.Origin{Seed: 3, Wall: wallAt(t, "2026-03-27T23:00:00Z")}, nil) // midnight before the Saturday before the change of clocks
	want := map[int]float64{                                                                      // arrivals per second in the hours after
		0: 1, 23: 1, 24: 1,
		32: 1, 33: 0, 34: 1, // the change has shifted 10:00 to 33 h after the start
		46: 1, 47: 2.5, // Monday 00:00
		52: 2.5, 53: 5, 60: 20, 61: 5, 68: 5, 69: 2.5,
	}
	counts := make([]int, 72)
	for _, instant := range until(s, 72*hour) {
		counts[instant/hour]++
	}
	for h, hz := range want {
		if got := counts[h]; math.Abs(float64(got)-3600*hz) > 4*math.Sqrt(3600*hz) {
			t.Errorf("%d arrivals in hour %d, want about %v", got, h, 3600*hz)
		}
		if got, ok := s.Rate(int64(h) * hour); got != hz || !ok {
			t.Errorf("the rate of hour %d is %v, %v; want %v", h, got, ok, hz)
		}
	}
}

func TestEveryHourHasTheArrivalsThatItsRateExpects(t *testing.T) {
	t.Parallel()
	series := []load.PointConfig{{At: 0, Rate: 1}, {At: 6 * time.Hour, Rate: 0}, {At: 12 * time.Hour, Rate: 4}, {At: 18 * time.Hour, Rate: 2}}
	for name, change := range map[string]func(*load.Config){
		"windows": func(c *load.Config) {
			c.Rate = 1
			c.Schedule = []load.WindowConfig{{From: "08:00", To: "20:00", TZ: "America/New_York", Multiplier: 3}, {From: "22:00", To: "02:30", Rate: 0.01}}
		},
		"a series": func(c *load.Config) { c.RateSeries, c.TZ = series, "Europe/Budapest" },
		"a ramp":   func(c *load.Config) { c.Rate, c.Ramp = 1, load.RampConfig{Duration: 30 * time.Hour} },
		"a ramp down, into a series with windows": func(c *load.Config) {
			c.RateSeries, c.Ramp = series, load.RampConfig{Duration: 20 * time.Hour, From: 6}
			c.Schedule = []load.WindowConfig{{From: "10:00", To: "11:00", Multiplier: 2}, {From: "14:00", To: "15:30", Rate: 1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const hours = 60
			wall := wallAt(t, "2026-10-24T10:17:00Z") // clocks change
			constant := load.NewSchedule(valid(t, change), &load.Origin{Wall: wall}, nil)
			poisson := load.NewSchedule(valid(t, func(c *load.Config) {
				c.Mode = load.Poisson
				change(c)
			}), &load.Origin{Wall: wall, Seed: 9}, nil)

			var even, random [hours]int
			for _, instant := range until(constant, hours*hour) {
				even[instant/hour]++
			}
			for _, instant := range until(poisson, hours*hour) {
				random[instant/hour]++
			}
			var total float64
			var counted int
			for h := range hours {
				expected := integral(constant, int64(h)*hour, int64(h+1)*hour)
				total += expected
				counted += even[h]
				if math.Abs(float64(counted)-total) > 1 {
					t.Fatalf("%d evenly spaced arrivals until hour %d, want %v", counted, h+1, total)
				}
				if deviation := math.Abs(float64(random[h]) - expected); deviation > 4*math.Sqrt(expected)+1 {
					t.Errorf("%d random arrivals in hour %d, want about %v", random[h], h, expected)
				}
			}
		})
	}
}

// integral adds up the rate, which is linear in each of its steps.
func integral(s *load.Schedule, from, until int64) (sum float64) {
	const step = 10 * second
	for now := from; now < until; now += step {
		hz, _ := s.Rate(now + step/2)
		sum += hz * 10
	}
	return sum
}

func TestARampIsExact(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to float64
		// inverse gives the seconds until which n arrivals are expected in a ramp of 100 s.
		inverse func(n float64) float64
	}{
		"from nothing": {0, 50, func(n float64) float64 { return math.Sqrt(2 * n * 100 / 50) }},
		"upwards":      {10, 50, func(n float64) float64 { return (-10 + math.Sqrt(100+2*0.4*n)) / 0.4 }},
		"downwards":    {50, 10, func(n float64) float64 { return (50 - math.Sqrt(2500-2*0.4*n)) / 0.4 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := valid(t, func(c *load.Config) {
				c.Rate, c.Ramp = test.to, load.RampConfig{Duration: 100 * time.Second, From: test.from}
			})
			const anchor = 12345
			s := load.NewSchedule(c, &load.Origin{Anchor: anchor}, nil)
			expected := int((test.from + test.to) / 2 * 100)
			for n, got := range arrivals(s, expected+100) {
				want := 100 + float64(n-expected)/test.to
				if n < expected {
					want = test.inverse(float64(n))
				}
				if math.Abs(float64(got-anchor)-want*1e9) > 2 {
					t.Fatalf("arrival %d after %d ns, want %.1f", n, got-anchor, want*1e9)
				}
			}
			if hz, _ := s.Rate(anchor + 25*second); math.Abs(hz-(test.from+(test.to-test.from)/4)) > 1e-9 {
				t.Errorf("the rate after a quarter of the ramp is %v", hz)
			}
		})
	}
}

// TestPoissonStaysPoissonWhateverTheRateDoes: on a clock that runs as fast as arrivals are expected, intervals are exponential.
func TestPoissonStaysPoissonWhateverTheRateDoes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*load.Config)
		// expected is the arrivals that are expected in the first x seconds.
		expected func(x float64) float64
		end      int64
	}{
		"in a ramp": {
			func(c *load.Config) { c.Rate, c.Ramp = 100, load.RampConfig{Duration: 1000 * time.Second} },
			func(x float64) float64 { return x * x / 20 }, 1000 * second,
		},
		"when windows open and close": {
			func(c *load.Config) {
				c.Rate = 1
				for minute := 0; minute < 60; minute += 2 {
					c.Schedule = append(c.Schedule, load.WindowConfig{From: fmt.Sprintf("00:%02d", minute), To: fmt.Sprintf("00:%02d", minute+1), Rate: 20})
				}
			},
			func(x float64) float64 {
				whole := math.Floor(x / 120)
				rest := x - 120*whole
				return whole*60*21 + min(rest, 60)*20 + max(0, rest-60)
			}, hour,
		},
		"in a series": {
			func(c *load.Config) {
				c.Period = time.Minute
				c.RateSeries = []load.PointConfig{{At: 0, Rate: 0}, {At: 30 * time.Second, Rate: 30}}
			},
			func(x float64) float64 {
				whole := math.Floor(x / 60)
				rest := x - 60*whole
				sum := whole * 900
				if rest > 30 {
					return sum + 900 - (60-rest)*(60-rest)/2
				}
				return sum + rest*rest/2
			}, hour / 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := valid(t, func(c *load.Config) {
				c.Mode = load.Poisson
				test.change(c)
			})
			instants := until(load.NewSchedule(c, &load.Origin{Seed: 11}, nil), test.end)
			clock := make([]float64, len(instants))
			var last float64
			for i, instant := range instants {
				now := test.expected(float64(instant) / 1e9)
				clock[i], last = now-last, now
			}
			if expected := test.expected(float64(test.end) / 1e9); math.Abs(float64(len(instants))-expected) > 4*math.Sqrt(expected) {
				t.Errorf("%d arrivals, want about %v", len(instants), expected)
			}
			wantLaw(t, "intervals", clock, exponential)
		})
	}
}

func TestAWindowChangesTheLaw(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) {
		c.Rate, c.Smoothness = 20, 0.25
		c.Schedule = []load.WindowConfig{
			{From: "01:00", To: "02:00", Mode: load.Poisson},
			{From: "02:00", To: "03:00", Mode: load.Gamma, Rate: 40},
		}
	})
	var hours [4][]float64
	var last int64
	for _, instant := range until(load.NewSchedule(c, &load.Origin{Seed: 2}, nil), 4*hour) {
		h := instant / hour
		if last/hour == h {
			hours[h] = append(hours[h], float64(instant-last)/1e9)
		}
		last = instant
	}
	for h, want := range map[int]struct{ hz, cv float64 }{0: {20, 0}, 1: {20, 1}, 2: {40, 2}, 3: {20, 0}} {
		average, cv := meanCV(hours[h])
		if math.Abs(average*want.hz-1) > 0.02 || math.Abs(cv-want.cv) > 0.06 {
			t.Errorf("hour %d: mean interval %v, CV %v; want %v, %v", h, average, cv, 1/want.hz, want.cv)
		}
	}
}

func TestWhatIsDisabledForEverEnds(t *testing.T) {
	t.Parallel()
	no := false
	for name, windows := range map[string][]load.WindowConfig{
		"all day long":      {{Enabled: &no}},
		"day and night":     {{From: "06:00", To: "18:00", TZ: "Europe/Budapest", Enabled: &no}, {From: "18:00", To: "06:00", TZ: "Europe/Budapest", Enabled: &no}},
		"each day by name":  {{Days: []load.Day{"mon", "tue", "wed"}, Enabled: &no}, {Days: []load.Day{"thu", "fri", "sat", "sun"}, Enabled: &no}},
		"despite of others": {{Enabled: &no}, {Rate: 100}},
	} {
		for _, mode := range []load.Mode{load.Constant, load.Poisson, load.Gamma, load.Users} {
			t.Run(fmt.Sprint(name, " ", mode), func(t *testing.T) {
				t.Parallel()
				c := valid(t, func(c *load.Config) {
					c.Mode, c.Rate, c.Schedule = mode, 1, windows
					if mode == load.Users {
						c.Users = 3
					}
				})
				s := load.NewSchedule(c, &load.Origin{Wall: 1_790_000_000 * second}, nil)
				if at, ok := s.Peek(); ok {
					t.Errorf("an arrival at %d", at)
				}
				if skipped := s.SkipLate(hour * 24 * 365); skipped != 0 {
					t.Errorf("%d arrivals were late", skipped)
				}
				if hz, ok := s.Rate(hour); hz != 0 || !ok {
					t.Errorf("the rate is %v, %v; want 0", hz, ok)
				}
			})
		}
	}
}

func TestArrivalsComeBackWhenADisabledWindowCloses(t *testing.T) {
	t.Parallel()
	no := false
	c := valid(t, func(c *load.Config) {
		c.Interval = 24 * time.Hour
		c.Schedule = []load.WindowConfig{
			{Days: []load.Day{load.Saturday}, From: "10:00", To: "10:30", Interval: time.Minute},
			{Enabled: &no},
		}
	})
	s := load.NewSchedule(c, &load.Origin{Wall: wallAt(t, "2026-06-01T00:00:00Z")}, nil) // a Monday
	got := arrivals(s, 61)
	saturday := 5*24*hour + 10*hour
	want := map[int]int64{0: saturday, 29: saturday + 29*60*second, 30: saturday + 7*24*hour, 60: saturday + 14*24*hour}
	for n, instant := range want {
		if off := got[n] - instant; off < -2 || off > 2 {
			t.Errorf("arrival %d at %v, want %v", n, time.Duration(got[n]), time.Duration(instant))
		}
	}
}

// TestSkippingIsPoppingWithARateThatChanges falls behind by random times.
func TestSkippingIsPoppingWithARateThatChanges(t *testing.T) {
	t.Parallel()
	for _, mode := range []load.Mode{load.Constant, load.Poisson, load.Gamma} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			no := false
			c := valid(t, func(c *load.Config) {
				c.Mode, c.Ramp = mode, load.RampConfig{Duration: time.Hour}
				c.RateSeries = []load.PointConfig{{At: 0, Rate: 1}, {At: 7 * time.Hour, Rate: 0}, {At: 12 * time.Hour, Rate: 4}}
				c.Schedule = []load.WindowConfig{{From: "03:00", To: "04:00", Enabled: &no}, {From: "10:00", To: "12:00", Rate: 20}}
			})
			origin := &load.Origin{Seed: 3, Anchor: 17, Wall: 1_790_000_000 * second}
			bulk, single := load.NewSchedule(c, origin, nil), load.NewSchedule(c, origin, nil)
			random := rand.New(rand.NewPCG(4, 5))
			var now int64
			for range 60 {
				now += random.Int64N(hour)
				skipped := bulk.SkipLate(now)
				var popped int64
				if now-next(single) > int64(c.MaxCatchup) {
					for ; next(single) < now; popped++ {
						single.Pop()
					}
				}
				if off := next(bulk) - next(single); skipped != popped || off < -1 || off > 1 {
					t.Fatalf("at %d: skipped %d, next %d; one by one %d, next %d", now, skipped, next(bulk), popped, next(single))
				}
			}
		})
	}
}

func TestAnArrivalOfThisInstantIsNotSkipped(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) {
		c.Rate, c.Schedule = 2, []load.WindowConfig{{Multiplier: 0.5}}
	})
	s := load.NewSchedule(c, &load.Origin{}, nil)
	if late := s.SkipLate(10 * second); late != 10 || next(s) != 10*second {
		t.Errorf("%d are late, the next one is at %d; want 10, and the one of this instant", late, next(s))
	}
}

func TestFirstArrivalsOfAVaryingLoadAreSpread(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) {
		c.Rate, c.Schedule = 1, []load.WindowConfig{{Multiplier: 2}}
	})
	var firsts []float64
	for i := range 2000 {
		firsts = append(firsts, float64(next(load.NewSchedule(c, &load.Origin{Instance: "i", Target: fmt.Sprint(i)}, nil)))*2/1e9)
	}
	wantLaw(t, "first arrivals", firsts, func(x float64) float64 { return max(0, min(1, x)) })
}

// TestTheRateNeedsNoHistory: it is the same whatever has been asked before, also from many goroutines.
func TestTheRateNeedsNoHistory(t *testing.T) {
	t.Parallel()
	c := valid(t, func(c *load.Config) {
		c.Rate, c.Schedule = 1, []load.WindowConfig{{From: "00:30", Multiplier: 2}}
	})
	s := load.NewSchedule(c, &load.Origin{}, nil)
	rate := func() []float64 {
		var out []float64
		for _, now := range []int64{-second, 0, hour / 2, hour, 24 * hour} {
			hz, _ := s.Rate(now)
			out = append(out, hz)
		}
		return out
	}
	done := make(chan []float64)
	go func() { done <- rate() }()
	until(s, 3*hour)
	want := []float64{1, 1, 2, 2, 1}
	for _, got := range [][]float64{<-done, rate()} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rates (-want +got):\n%s", diff)
		}
	}
}
