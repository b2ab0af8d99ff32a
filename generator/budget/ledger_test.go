package budget_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
)

// noon lies neither at the beginning nor at the end of a period.
var noon = time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)

func open(tb testing.TB, path string) *budget.Ledger {
	tb.Helper()
	l, err := budget.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	l.Patient()
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func shut(tb testing.TB, l *budget.Ledger) {
	tb.Helper()
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
}

func file(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "budget.json")
}

// used is what State tells of the limits that are set, by kind and period.
func used(a *budget.Account, wall time.Time) map[string]float64 {
	out := map[string]float64{}
	for _, u := range a.State(wall) {
		out[string(u.Kind)+"/"+string(u.Period)] = u.Used
	}
	return out
}

func TestAReservationIsSettledWithWhatWasUsed(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	c := everything()
	a := l.Account("a", &c)
	r, ok := l.Reserve(noon, budget.Need{InputTokens: 1000, OutputTokens: 2000}, a)
	if !ok {
		t.Fatal("refused")
	}
	want := map[string]float64{
		"requests/hour": 1, "requests/day": 1, "input_tokens/day": 1000, "output_tokens/day": 2000, "tokens/hour": 3000, "tokens/day": 3000,
		"usd/hour": 0.033, "usd/day": 0.033,
	}
	if diff := cmp.Diff(want, used(a, noon)); diff != "" {
		t.Errorf("reserved (-want +got):\n%s", diff)
	}
	r.Settle(budget.Need{InputTokens: 900, OutputTokens: 1})
	want = map[string]float64{
		"requests/hour": 1, "requests/day": 1, "input_tokens/day": 900, "output_tokens/day": 1, "tokens/hour": 901, "tokens/day": 901,
		"usd/hour": 0.002715, "usd/day": 0.002715,
	}
	if diff := cmp.Diff(want, used(a, noon)); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	r.Settle(budget.Need{InputTokens: 5})
	r.Cancel()
	if diff := cmp.Diff(want, used(a, noon)); diff != "" {
		t.Errorf("settled again (-want +got):\n%s", diff)
	}
	r, _ = l.Reserve(noon, budget.Need{InputTokens: 7, OutputTokens: 7}, a)
	r.Cancel()
	if diff := cmp.Diff(want, used(a, noon)); diff != "" {
		t.Errorf("cancelled (-want +got):\n%s", diff)
	}
	r = nil
	r.Settle(budget.Need{})
	r.Cancel()
}

func TestEachLimitRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config budget.Config
		fits   int // requests of 10 input and 20 output tokens
	}{
		"requests per hour":     {budget.Config{RequestsPerHour: 3}, 3},
		"requests per day":      {budget.Config{RequestsPerDay: 4}, 4},
		"input tokens per day":  {budget.Config{InputTokensPerDay: 59}, 5},
		"output tokens per day": {budget.Config{OutputTokensPerDay: 60}, 3},
		"tokens per hour":       {budget.Config{TokensPerHour: 60}, 2},
		"tokens per day":        {budget.Config{TokensPerDay: 89}, 2},
		"dollars per hour":      {budget.Config{USDPerHour: .0011, USDPerMillionInput: 10, USDPerMillionOutput: 10}, 3},
		"dollars per day":       {budget.Config{USDPerDay: .0012, USDPerMillionOutput: 20}, 3},
		"the first of several":  {budget.Config{RequestsPerDay: 4, TokensPerHour: 60, OutputTokensPerDay: 60}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, "")
			a := l.Account("a", &test.config)
			var got int
			for range 10 {
				if _, ok := l.Reserve(noon, budget.Need{InputTokens: 10, OutputTokens: 20}, a); ok {
					got++
				}
			}
			if got != test.fits {
				t.Errorf("%d requests fit, want %d", got, test.fits)
			}
			if !a.Exhausted(noon) {
				t.Error("not exhausted")
			}
		})
	}
}

func TestAllAccountsOrNone(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	target := l.Account("a", &budget.Config{RequestsPerDay: 10})
	other := l.Account("b", &budget.Config{RequestsPerDay: 10})
	global := l.Account(budget.Global, &budget.Config{RequestsPerDay: 3})
	for range 2 {
		if _, ok := l.Reserve(noon, budget.Need{}, target, global, nil); !ok {
			t.Error("refused")
		}
	}
	if _, ok := l.Reserve(noon, budget.Need{}, other, global); !ok {
		t.Error("refused")
	}
	if _, ok := l.Reserve(noon, budget.Need{}, target, global); ok {
		t.Error("more than the global budget has")
	}
	if target.Exhausted(noon) || !global.Exhausted(noon) {
		t.Errorf("exhausted: target %v, global %v", target.Exhausted(noon), global.Exhausted(noon))
	}
	if got := used(target, noon)["requests/day"]; got != 2 {
		t.Errorf("the refused request was reserved at the target: %v", got)
	}
}

func TestTheFirstPricesCount(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	dear := l.Account("dear", &budget.Config{USDPerMillionInput: 10})
	free := l.Account("free", &budget.Config{RequestsPerDay: 10})
	global := l.Account(budget.Global, &budget.Config{USDPerDay: 1, USDPerMillionInput: 1, USDPerMillionOutput: 1})
	need := budget.Need{InputTokens: 10_000}
	l.Reserve(noon, need, dear, global)
	if got := used(global, noon)["usd/day"]; got != .1 {
		t.Errorf("by the target's price %v dollars", got)
	}
	l.Reserve(noon, need, free, global)
	if got := used(global, noon)["usd/day"]; got != .11 {
		t.Errorf("with one by the global price %v dollars", got)
	}
}

func TestMoneyDoesNotDrift(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{USDPerDay: 1000, USDPerMillionInput: .1, USDPerMillionOutput: .3})
	for range 100_000 {
		r, ok := l.Reserve(noon, budget.Need{InputTokens: 7, OutputTokens: 9999}, a)
		if !ok {
			t.Fatal("refused")
		}
		r.Settle(budget.Need{InputTokens: 7, OutputTokens: 1})
	}
	if got := used(a, noon)["usd/day"]; got != .1 { // 7*0.1 + 0.3 = 1 millionth each
		t.Errorf("%v dollars", got)
	}
}

func TestMoneyIsRoundedUp(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{USDPerDay: 1, USDPerMillionInput: 1e-6})
	l.Reserve(noon, budget.Need{InputTokens: 1}, a)
	if got := used(a, noon)["usd/day"]; got != 1e-9 {
		t.Errorf("%v dollars for a token", got)
	}
}

func TestNumbersBeyondAllSenseDoNotOverflow(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{TokensPerDay: 1e15, USDPerDay: 1e9, USDPerMillionInput: 1e6, USDPerMillionOutput: 1e6})
	for range 20 {
		if r, ok := l.Reserve(noon, budget.Need{InputTokens: 1, OutputTokens: -5}, a); ok {
			r.Settle(budget.Need{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64})
		}
		l.Reserve(noon, budget.Need{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, a)
	}
	if _, ok := l.Reserve(noon, budget.Need{}, a); !ok {
		if !a.Exhausted(noon) {
			t.Error("refused, and not exhausted")
		}
	} else {
		t.Error("reserved after everything was used")
	}
	for _, u := range a.State(noon) {
		if u.Used < 0 {
			t.Errorf("%v", u)
		}
	}
}

func TestMoreThanWasReservedOverrunsOnce(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{OutputTokensPerDay: 100})
	r, _ := l.Reserve(noon, budget.Need{OutputTokens: 60}, a)
	r.Settle(budget.Need{OutputTokens: 130})
	if _, ok := l.Reserve(noon, budget.Need{OutputTokens: 1}, a); ok {
		t.Error("reserved beyond the limit")
	}
	if got := used(a, noon)["output_tokens/day"]; got != 130 {
		t.Errorf("used %v", got)
	}
}

func TestExhaustedEndsWithThePeriodOrWhenSomethingFits(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{TokensPerHour: 100})
	r, _ := l.Reserve(noon, budget.Need{InputTokens: 100}, a)
	l.Reserve(noon, budget.Need{InputTokens: 1}, a)
	if !a.Exhausted(noon) || !a.Exhausted(noon.Add(29*time.Minute)) {
		t.Error("not exhausted")
	}
	if l.Account("a", &budget.Config{TokensPerHour: 100}); !a.Exhausted(noon) {
		t.Error("not exhausted any more, though somebody else only uses the account")
	}
	if a.Exhausted(noon.Add(30 * time.Minute)) {
		t.Error("exhausted in the next hour")
	}
	r.Settle(budget.Need{InputTokens: 50})
	l.Reserve(noon, budget.Need{InputTokens: 1}, a)
	if a.Exhausted(noon) {
		t.Error("exhausted though a request fitted")
	}
}

func TestNewLimitsKeepWhatIsUsed(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{RequestsPerDay: 1})
	l.Reserve(noon, budget.Need{InputTokens: 5}, a)
	l.Reserve(noon, budget.Need{}, a)
	if b := l.Account("a", &budget.Config{RequestsPerDay: 2, InputTokensPerDay: 10}); a != b {
		t.Error("another account for the same name")
	}
	if a.Exhausted(noon) {
		t.Error("exhausted by the old limit")
	}
	want := map[string]float64{"requests/day": 1, "input_tokens/day": 5}
	if diff := cmp.Diff(want, used(a, noon)); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
}

// TestManySendersNeverOverrun: whatever 200 senders need and use, no limit is overrun by more than what one request uses beyond its need.
func TestManySendersNeverOverrun(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"in memory": "", "with a file": file(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, path)
			c := budget.Config{
				RequestsPerHour: 3000, InputTokensPerDay: 400_000, OutputTokensPerDay: 900_000, TokensPerHour: 1_200_000, USDPerDay: 12,
				USDPerMillionInput: 3, USDPerMillionOutput: 15,
			}
			a := l.Account("a", &c)
			global := l.Account(budget.Global, &budget.Config{RequestsPerDay: 2800})
			var mu sync.Mutex
			var sent, input, output int64
			var senders sync.WaitGroup
			for i := range 200 {
				senders.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), 3))
					for range 30 {
						need := budget.Need{InputTokens: random.Int64N(500), OutputTokens: random.Int64N(1000)}
						r, ok := l.Reserve(noon, need, a, global)
						if !ok {
							continue
						}
						if random.IntN(20) == 0 {
							r.Cancel()
							continue
						}
						actual := budget.Need{InputTokens: random.Int64N(need.InputTokens + 1), OutputTokens: random.Int64N(need.OutputTokens + 1)}
						mu.Lock()
						sent, input, output = sent+1, input+actual.InputTokens, output+actual.OutputTokens
						mu.Unlock()
						r.Settle(actual)
					}
				})
			}
			senders.Wait()
			if sent > 2800 || input > c.InputTokensPerDay || output > c.OutputTokensPerDay || input+output > c.TokensPerHour ||
				3*input+15*output > 12e6 {
				t.Errorf("overrun: %d requests, %d input, %d output tokens", sent, input, output)
			}
			if sent < 1500 || !a.Exhausted(noon) && !global.Exhausted(noon) {
				t.Errorf("only %d requests were sent", sent)
			}
			got := used(a, noon)
			if got["input_tokens/day"] != float64(input) || got["output_tokens/day"] != float64(output) || got["requests/hour"] != float64(sent) {
				t.Errorf("the ledger says %v, sent were %d requests, %d input, %d output tokens", got, sent, input, output)
			}
		})
	}
}

func BenchmarkReserveAndSettle(b *testing.B) {
	for name, path := range map[string]string{"in memory": "", "with a file": file(b)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			l := open(b, path)
			c := everything()
			c.RequestsPerHour, c.RequestsPerDay, c.USDPerHour, c.USDPerDay = 1e14, 1e15, 1e8, 1e9
			c.InputTokensPerDay, c.OutputTokensPerDay, c.TokensPerHour, c.TokensPerDay = 1e15, 1e15, 1e15, 1e15
			a, global := l.Account("a", &c), l.Account(budget.Global, &c)
			for b.Loop() {
				r, ok := l.Reserve(noon, budget.Need{InputTokens: 100, OutputTokens: 200}, a, global)
				if !ok {
					b.Fatal("refused")
				}
				r.Settle(budget.Need{InputTokens: 90, OutputTokens: 20})
			}
		})
	}
}

func TestAnAccountThatIsRetiredAndComesBackHasSpentWhatItHad(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", filepath.Join(t.TempDir(), "state")} {
		l, err := budget.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		l.Patient()
		c := budget.Config{RequestsPerDay: 3, TZ: "UTC"}
		wall := time.Now()
		for range 2 {
			if r, ok := l.Reserve(wall, budget.Need{}, l.Account("a", &c)); !ok {
				t.Fatal("refused")
			} else {
				r.Settle(budget.Need{})
			}
		}
		l.Retire("a")
		l.Retire("unknown")
		again := l.Account("a", &c)
		if got := again.State(wall)[0].Used; got != 2 {
			t.Errorf("state file %q: used %v, want 2", path, got)
		}
		if _, ok := l.Reserve(wall, budget.Need{}, again); !ok {
			t.Errorf("state file %q: the third is refused", path)
		}
		if _, ok := l.Reserve(wall, budget.Need{}, again); ok {
			t.Errorf("state file %q: a fourth", path)
		}
		l.Retire("a")
		if err = l.Close(); err != nil {
			t.Error(err)
		}
		if path == "" {
			continue
		}
		if l, err = budget.Open(path); err != nil {
			t.Fatal(err)
		}
		if got := l.Account("a", &c).State(wall)[0].Used; got != 3 {
			t.Errorf("used %v after a restart, want 3", got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
