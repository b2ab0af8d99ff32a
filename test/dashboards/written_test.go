package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueriesOfAPageAreItsFencesAndSpansThatAskSomething(t *testing.T) {
	t.Parallel()
	text := "Look at `aiperf_server_up`, `make demo`, `max by (target) (aiperf_server_up) == 0` and `aiperf_target_info{target=\"NAME\"}`.\n\n" +
		"| a | `aiperf_x{xid=~\"1\\|2\"} > 0` |\n\n```promql\nsum(\n  aiperf_y\n)\n```\n"
	found, err := queriesOf("page.md", text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range found {
		got = append(got, found[i].expr)
	}
	want := []string{
		"sum(\n  aiperf_y\n)", "max by (target) (aiperf_server_up) == 0", `aiperf_target_info{target="steady"}`, `aiperf_x{xid=~"1|2"} > 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := queriesOf("page.md", "```promql\nsum(\n```\n"); err == nil {
		t.Error("a fence that is no query is taken")
	}
}

func TestLimitsOfAQueryAreWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, query, want string }{
		{"a comparison with a number", "sum by (a) (x > 1) >= 3", "sum by (a) (x)"},
		{"what is taken away", "x unless y", "x"},
		{"each side of a choice", "x == 1 or max(y) > 2", "x or max(y)"},
		{"a share has none", "x / y", ""},
		{"a comparison of two series stays", "x > y", ""},
		{"a comparison that gives 0 and 1 stays", "x > bool 1", ""},
		{"what is no query", "sum(", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := withoutLimits(c.query); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAQueryIsAskedOfOneJob(t *testing.T) {
	t.Parallel()
	want := `sum(rate(x{a="b",job="one"}[5m])) / y{job="one"}`
	if got := ofJob(`sum(rate(x{a="b"}[5m])) / y`, "one"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCommandsOfARunbookAreThoseOfThisProgramAndCurl(t *testing.T) {
	t.Parallel()
	got := commandsOf("Run `curl -X POST localhost:9749/-/reload`, then `aiperf-exporter check config FILE` or `reload`; `dmesg`.")
	if diff := cmp.Diff([]string{"curl -X POST localhost:9749/-/reload", "aiperf-exporter check config FILE"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
