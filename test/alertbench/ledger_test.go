package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestEpisodesAreCountedOnceAndDelaysAreToTheFirst(t *testing.T) {
	t.Parallel()
	l := ledger{}
	for _, at := range []int64{1000, 31_000, 61_000, 600_000, 630_000} {
		l.fires("a", 1, 2, at)
	}
	l.fires("b", 1, 2, 300_000)
	if got := l.count(0, 1_000_000, "a", "b"); got != 3 {
		t.Errorf("%d episodes, want 3", got)
	}
	for _, test := range []struct {
		instant int64
		want    time.Duration
		seen    bool
	}{
		{0, time.Second, true},
		{40_000, 0, true}, // fires already
		{100_000, 200 * time.Second, true},
		{700_000, 0, false},
	} {
		if got, seen := l.first(1, test.instant, "a", "b"); seen != test.seen || seen && got != test.want {
			t.Errorf("from %d: %v, %v, want %v, %v", test.instant, got, seen, test.want, test.seen)
		}
	}
	slow := ledger{}
	for _, at := range []int64{0, 300_000, 600_000, 1_200_000} {
		slow.goesOn("a", 0, 1, at, 6*time.Minute)
	}
	if got := slow.count(0, 2_000_000, "a"); got != 2 {
		t.Errorf("%d episodes of a group that is evaluated each 5 minutes, want 2", got)
	}
	if _, seen := l.first(0, 0, "a", "b"); seen {
		t.Error("another canary's alert was seen")
	}
}

func TestQuantilesTakeIncidentsThatWereMissedForTheLongest(t *testing.T) {
	t.Parallel()
	var d delays
	for i := 9; i > 0; i-- {
		d.add(time.Duration(i)*time.Minute, true)
	}
	d.add(0, false)
	if got, ok := d.quantile(0.5); !ok || got != 6*time.Minute {
		t.Errorf("median %v, %v, want 6m", got, ok)
	}
	if got, ok := d.quantile(0.95); ok {
		t.Errorf("95th percentile %v, which was never seen", got)
	}
}

func TestResultsReplaceThoseBetweenTheMarks(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &section{title: "title", head: []string{"a", "b"}, rows: [][]string{{"1", "2"}}, notes: []string{"note"}}
	if err := paste(page, "head\n", []*section{s}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + beginMark + "head\n\n### title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n* note\n" + endMark + "after\n"
	if got := string(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
