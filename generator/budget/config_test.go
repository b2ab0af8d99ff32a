package budget_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(c *budget.Config)
		want   []string // keys
	}{
		"the default is valid":            {func(*budget.Config) {}, nil},
		"a limit of each kind is valid":   {func(c *budget.Config) { *c = everything() }, nil},
		"a negative limit":                {func(c *budget.Config) { c.RequestsPerDay = -1 }, []string{"b.requests_per_day"}},
		"a limit beyond all sense":        {func(c *budget.Config) { c.TokensPerHour = math.MaxInt64 }, []string{"b.tokens_per_hour"}},
		"money without a price":           {func(c *budget.Config) { c.USDPerDay = 2 }, []string{"b.usd_per_day"}},
		"money that is no number":         {func(c *budget.Config) { c.USDPerHour = math.NaN() }, []string{"b.usd_per_hour"}},
		"a negative price":                {func(c *budget.Config) { c.USDPerMillionInput = -3 }, []string{"b.usd_per_million_input"}},
		"a price without an end":          {func(c *budget.Config) { c.USDPerMillionOutput = math.Inf(1) }, []string{"b.usd_per_million_output"}},
		"a time zone that does not exist": {func(c *budget.Config) { c.TZ = "Europe/Atlantis" }, []string{"b.tz"}},
		"everything wrong is told at once": {func(c *budget.Config) {
			c.RequestsPerHour, c.InputTokensPerDay, c.OutputTokensPerDay, c.TokensPerDay = -1, -1, -1, -1
		}, []string{"b.requests_per_hour", "b.input_tokens_per_day", "b.output_tokens_per_day", "b.tokens_per_day"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := budget.DefaultConfig()
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

// everything is a config with all limits.
func everything() budget.Config {
	return budget.Config{
		RequestsPerHour: 100, RequestsPerDay: 1000, InputTokensPerDay: 10_000, OutputTokensPerDay: 20_000, TokensPerHour: 5000,
		TokensPerDay: 25_000, USDPerHour: 1, USDPerDay: 10, USDPerMillionInput: 3, USDPerMillionOutput: 15, TZ: "Europe/Budapest",
	}
}

func TestDivideKeepsTheWhole(t *testing.T) {
	t.Parallel()
	c := everything()
	c.RequestsPerHour = 101
	got := c.Divide(1, 10)
	want := budget.Config{
		RequestsPerHour: 10, RequestsPerDay: 100, InputTokensPerDay: 1000, OutputTokensPerDay: 2000, TokensPerHour: 500,
		TokensPerDay: 2500, USDPerHour: .1, USDPerDay: 1, USDPerMillionInput: 3, USDPerMillionOutput: 15, TZ: "Europe/Budapest",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("part of ten (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c, c.Divide(0, 1)); diff != "" {
		t.Errorf("part of one (-want +got):\n%s", diff)
	}
}

func TestPartsOfALimitAddUpToIt(t *testing.T) {
	t.Parallel()
	for limit := int64(1); limit < 50; limit++ {
		for count := 2; count < 12; count++ {
			whole := budget.Config{RequestsPerDay: limit}
			sum, least, most := int64(0), limit, int64(0)
			for index := range count {
				part := whole.Divide(index, count)
				n := max(part.RequestsPerDay, 0) // -1 lets nothing pass
				sum, least, most = sum+n, min(least, n), max(most, n)
			}
			if sum != limit || most-least > 1 {
				t.Errorf("%d in %d parts of %d to %d, which are %d", limit, count, least, most, sum)
			}
		}
	}
}

func TestDivideLetsNothingPassWhereNothingIsLeft(t *testing.T) {
	t.Parallel()
	c := budget.Config{RequestsPerDay: 3}
	part := c.Divide(3, 4)
	l := open(t, "")
	a := l.Account("a", &part)
	if _, ok := l.Reserve(noon, budget.Need{}, a); ok {
		t.Error("a request was reserved")
	}
	if diff := cmp.Diff([]budget.Use{{Kind: budget.Requests, Period: budget.Day}}, a.State(noon)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestLimitsAreThoseOfAnUnusedAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]budget.Config{"none": budget.DefaultConfig(), "some": {TokensPerHour: 5, RequestsPerDay: 7}, "all": everything()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := open(t, "").Account("a", &c).State(noon)
			if diff := cmp.Diff(want, c.Limits()); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if c.IsZero() != (len(want) == 0) {
				t.Errorf("IsZero is %v with %d limits", c.IsZero(), len(want))
			}
		})
	}
}

func TestPricesAloneAreABudgetToo(t *testing.T) {
	t.Parallel()
	if c := (budget.Config{USDPerMillionOutput: 15}); c.IsZero() {
		t.Error("left out")
	}
}
