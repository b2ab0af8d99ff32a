package budget_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones of these tests, whatever the machine has

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
)

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestPeriods asks one request at each instant of a budget that has one for each period.
func TestPeriods(t *testing.T) {
	t.Parallel()
	perHour, perDay := budget.Config{RequestsPerHour: 1}, budget.Config{RequestsPerDay: 1}
	type asked struct {
		at string
		ok bool
	}
	for name, test := range map[string]struct {
		config budget.Config
		tz     string
		asked  []asked
	}{
		"an hour begins with the clock": {perHour, "UTC", []asked{
			{"2026-03-04T12:59:59Z", true},
			{"2026-03-04T12:59:59Z", false},
			{"2026-03-04T13:00:00Z", true},
			{"2026-03-04T13:59:59Z", false},
			{"2026-03-04T14:00:00Z", true},
			{"2026-03-05T03:10:00Z", true},
		}},
		"a day begins at midnight": {perDay, "UTC", []asked{
			{"2026-03-04T00:00:00Z", true},
			{"2026-03-04T23:59:59Z", false},
			{"2026-03-05T00:00:00Z", true},
		}},
		"a day begins at the midnight of its zone": {perDay, "America/Los_Angeles", []asked{
			{"2026-01-04T07:59:59Z", true},
			{"2026-01-04T08:00:00Z", true},
			{"2026-01-05T07:59:59Z", false},
			{"2026-01-05T08:00:00Z", true},
		}},
		"an hour of a zone off by half an hour": {perHour, "Asia/Kolkata", []asked{
			{"2026-01-04T10:29:59Z", true},
			{"2026-01-04T10:30:00Z", true},
			{"2026-01-04T11:29:59Z", false},
		}},
		"a day of 23 hours": {perDay, "Europe/Budapest", []asked{
			{"2026-03-29T00:00:00+01:00", true},
			{"2026-03-29T23:59:59+02:00", false},
			{"2026-03-30T00:00:00+02:00", true},
			{"2026-03-30T23:59:59+02:00", false},
		}},
		"a day of 25 hours": {perDay, "Europe/Budapest", []asked{
			{"2026-10-25T00:00:00+02:00", true},
			{"2026-10-25T23:59:59+01:00", false},
			{"2026-10-26T00:00:00+01:00", true},
		}},
		"an hour that the clock shows twice is two": {perHour, "Europe/Budapest", []asked{
			{"2026-10-25T02:00:00+02:00", true},
			{"2026-10-25T02:59:59+02:00", false},
			{"2026-10-25T02:00:00+01:00", true},
			{"2026-10-25T02:59:59+01:00", false},
			{"2026-10-25T03:00:00+01:00", true},
		}},
		"a day without a midnight": {perDay, "Africa/Cairo", []asked{ // 00:00 to 01:00 is left out on 26 April 2024
			{"2024-04-25T12:00:00+02:00", true},
			{"2024-04-25T23:59:59+02:00", false},
			{"2024-04-26T01:00:00+03:00", true},
			{"2024-04-26T23:59:59+03:00", false},
			{"2024-04-27T00:00:00+03:00", true},
		}},
		"a day with two midnights": {perDay, "America/Havana", []asked{ // 01:00 becomes 00:00 on 2 November 2025
			{"2025-11-01T12:00:00-04:00", true},
			{"2025-11-02T00:00:00-04:00", true},
			{"2025-11-02T00:00:00-05:00", false},
			{"2025-11-02T23:59:59-05:00", false},
			{"2025-11-03T00:00:00-05:00", true},
		}},
		"a day that does not exist": {perDay, "Pacific/Apia", []asked{ // 30 December 2011
			{"2011-12-29T23:59:59-10:00", true},
			{"2011-12-31T00:00:00+14:00", true},
			{"2011-12-31T23:59:59+14:00", false},
		}},
		"a clock that goes back does not begin a period": {perHour, "UTC", []asked{
			{"2026-03-04T12:10:00Z", true},
			{"2026-03-04T13:00:01Z", true},
			{"2026-03-04T12:59:59Z", false},
			{"2026-03-04T13:00:00Z", false},
			{"2026-03-04T12:10:00Z", false},
			{"2026-03-04T14:00:00Z", true},
		}},
		"a clock that goes far back and comes again does not begin a period anew": {perHour, "UTC", []asked{
			{"2026-03-04T15:10:00Z", true},
			{"2026-03-04T12:10:00Z", false},
			{"2026-03-04T13:10:00Z", true},
			{"2026-03-04T15:59:59Z", false},
			{"2026-03-04T16:00:00Z", true},
		}},
		"a clock that was years ahead does not stop it for years": {perDay, "UTC", []asked{
			{"2038-01-19T03:14:07Z", true},
			{"2026-03-04T12:00:00Z", false},
			{"2026-03-04T23:59:59Z", false},
			{"2026-03-05T00:00:00Z", true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := test.config
			c.TZ = test.tz
			l := open(t, "")
			a := l.Account("a", &c)
			got := make([]asked, len(test.asked))
			for i, ask := range test.asked {
				_, ok := l.Reserve(instant(t, ask.at), budget.Need{}, a)
				got[i] = asked{ask.at, ok}
			}
			if diff := cmp.Diff(test.asked, got, cmp.AllowUnexported(asked{})); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEverySecondOfAYearIsInOnePeriod walks through a year in steps that hit all changes of the clock, and counts days and hours.
func TestEverySecondOfAYearIsInOnePeriod(t *testing.T) {
	t.Parallel()
	for _, tz := range []string{"UTC", "Europe/Budapest", "America/Havana"} {
		t.Run(tz, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(tz)
			if err != nil {
				t.Fatal(err)
			}
			l := open(t, "")
			day := l.Account("day", &budget.Config{RequestsPerDay: 1, TZ: tz})
			hour := l.Account("hour", &budget.Config{RequestsPerHour: 1, TZ: tz})
			var days, full int
			for at := time.Date(2025, 1, 1, 0, 0, 0, 0, zone); at.In(zone).Year() == 2025; at = at.Add(10 * time.Minute) {
				if _, ok := l.Reserve(at, budget.Need{}, day); ok {
					days++
					if before := at.Add(-time.Second).In(zone); before.Day() == at.In(zone).Day() {
						t.Errorf("a day begins at %v", at.In(zone))
					}
				}
				if _, ok := l.Reserve(at, budget.Need{}, hour); ok {
					full++
				}
			}
			if days != 365 || full != 365*24 {
				t.Errorf("%d days and %d hours", days, full)
			}
		})
	}
}

func TestAReservationBelongsToThePeriodInWhichItWasMade(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{TokensPerHour: 100, TokensPerDay: 1000})
	early, _ := l.Reserve(noon, budget.Need{OutputTokens: 60}, a)
	late, _ := l.Reserve(noon.Add(time.Hour), budget.Need{OutputTokens: 50}, a)
	early.Settle(budget.Need{OutputTokens: 10})
	want := map[string]float64{"tokens/hour": 50, "tokens/day": 60}
	if diff := cmp.Diff(want, used(a, noon.Add(time.Hour))); diff != "" {
		t.Errorf("after the early one has ended (-want +got):\n%s", diff)
	}
	late.Cancel()
	want = map[string]float64{"tokens/hour": 0, "tokens/day": 10}
	if diff := cmp.Diff(want, used(a, noon.Add(time.Hour))); diff != "" {
		t.Errorf("after both have ended (-want +got):\n%s", diff)
	}
}

func TestStateBeginsThePeriodToo(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{RequestsPerHour: 5})
	l.Reserve(noon, budget.Need{}, a)
	if got := used(a, noon.Add(time.Hour))["requests/hour"]; got != 0 {
		t.Errorf("%v used in the next hour", got)
	}
}

func TestANewTimeZoneHoldsFromTheNextPeriod(t *testing.T) {
	t.Parallel()
	l := open(t, "")
	a := l.Account("a", &budget.Config{RequestsPerDay: 1, TZ: "UTC"})
	l.Reserve(noon, budget.Need{}, a)
	l.Account("a", &budget.Config{RequestsPerDay: 1, TZ: "Asia/Tokyo"})
	for _, ask := range []struct {
		at string
		ok bool
	}{
		{"2026-03-05T00:30:00+09:00", false}, // a new day in Tokyo, not in UTC
		{"2026-03-05T09:00:00+09:00", true},
		{"2026-03-06T00:00:00+09:00", true},
	} {
		if _, ok := l.Reserve(instant(t, ask.at), budget.Need{}, a); ok != ask.ok {
			t.Errorf("at %s: %v, want %v", ask.at, ok, ask.ok)
		}
	}
}
