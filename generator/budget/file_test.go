package budget_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
)

// wants reserves requests until one is refused, at most n, and gives how many there were.
func wants(l *budget.Ledger, a *budget.Account, wall time.Time, n int) int {
	for i := range n {
		if _, ok := l.Reserve(wall, budget.Need{}, a); !ok {
			return i
		}
	}
	return n
}

func TestWhatIsUsedSurvivesARestart(t *testing.T) {
	t.Parallel()
	path := file(t)
	c := everything()
	l := open(t, path)
	a, b := l.Account("a", &c), l.Account(budget.Global, &c)
	r, _ := l.Reserve(noon, budget.Need{InputTokens: 1000, OutputTokens: 2000}, a, b)
	r.Settle(budget.Need{InputTokens: 900, OutputTokens: 1})
	l.Reserve(noon, budget.Need{InputTokens: 10, OutputTokens: 10}, a) // is still running
	wantA, wantB := used(a, noon), used(b, noon)
	shut(t, l)

	l = open(t, path)
	if diff := cmp.Diff(wantA, used(l.Account("a", &c), noon.Add(time.Second))); diff != "" {
		t.Errorf("the target's account after a restart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantB, used(l.Account(budget.Global, &c), noon)); diff != "" {
		t.Errorf("the global account after a restart (-want +got):\n%s", diff)
	}
	shut(t, l)

	l = open(t, path)
	want := map[string]float64{
		"requests/hour": 0, "requests/day": 2, "input_tokens/day": 910, "output_tokens/day": 11, "tokens/hour": 0, "tokens/day": 921,
		"usd/hour": 0, "usd/day": 0.002895,
	}
	if diff := cmp.Diff(want, used(l.Account("a", &c), noon.Add(time.Hour))); diff != "" {
		t.Errorf("after a restart in the next hour (-want +got):\n%s", diff)
	}
	if got := used(l.Account(budget.Global, &c), noon.Add(24*time.Hour))["requests/day"]; got != 0 {
		t.Errorf("after a restart on the next day %v requests are used", got)
	}
}

func TestATargetThatIsAwayForARestartKeepsWhatItHasUsed(t *testing.T) {
	t.Parallel()
	path := file(t)
	c := budget.Config{RequestsPerDay: 10}
	l := open(t, path)
	wants(l, l.Account("a", &c), noon, 4)
	shut(t, l)
	l = open(t, path)
	wants(l, l.Account("b", &c), noon, 2)
	shut(t, l)
	l = open(t, path)
	if got := wants(l, l.Account("a", &c), noon, 100); got != 6 {
		t.Errorf("%d of 6 requests left", got)
	}
}

func TestAFileThatIsNoLedgerIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ contents, want string }{
		"an empty file":       {"", "no budget state file"},
		"another file":        {"global:\n  max_in_flight: 64\n", "no budget state file"},
		"a later version":     {"aiperf-exporter budget state 2 00\n[]\n", "no budget state file"},
		"a file cut short":    {"aiperf-exporter budget state 1 ", "damaged"},
		"a wrong checksum":    {"aiperf-exporter budget state 1 00\n[]\n", "damaged"},
		"no budgets, but sum": {"aiperf-exporter budget state 1 01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b\n\n", "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			if err := os.WriteFile(path, []byte(test.contents), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := budget.Open(path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "remove") || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want one that names the file, says %q and what to do", err, test.want)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != test.contents {
				t.Errorf("the file was changed: %q, %v", got, err)
			}
		})
	}
}

func TestTwoProcessesOnOneFileAreRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	l := open(t, path)
	if _, err := budget.Open(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second ledger: %v", err)
	}
	shut(t, l)
	open(t, path)
}

func TestOpenTellsThatAFileCannotBeWritten(t *testing.T) {
	t.Parallel()
	if _, err := budget.Open(filepath.Join(t.TempDir(), "missing", "budget.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a directory that is missing: %v", err)
	}
	path := file(t)
	if err := os.Mkdir(path+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := budget.Open(path); err == nil {
		t.Error("no error where a file cannot be made")
	}
}

func TestNothingIsReservedAfterClose(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"in memory": "", "with a file": file(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, path)
			a := l.Account("a", &budget.Config{RequestsPerDay: 10})
			r, _ := l.Reserve(noon, budget.Need{}, a)
			shut(t, l)
			if _, ok := l.Reserve(noon, budget.Need{}, a); ok {
				t.Error("reserved")
			}
			r.Settle(budget.Need{})
		})
	}
}

// ledgerFile is the bytes of a file with two accounts, and what they say.
func ledgerFile(tb testing.TB) []byte {
	tb.Helper()
	path := file(tb)
	c := everything()
	l, err := budget.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	a, global := l.Account("vendor", &c), l.Account(budget.Global, &c)
	for range 5 {
		l.Reserve(noon, budget.Need{InputTokens: 123, OutputTokens: 456}, a, global)
	}
	shut(tb, l)
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestAnyDamageIsSeen changes, removes and cuts each byte of a file.
func TestAnyDamageIsSeen(t *testing.T) {
	t.Parallel()
	whole := ledgerFile(t)
	if _, err := budget.Decode(whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for what, damaged := range map[string][]byte{
			"changed":  append(append(bytes.Clone(whole[:i]), whole[i]^0x10), whole[i+1:]...),
			"zero":     append(append(bytes.Clone(whole[:i]), 0), whole[i+1:]...),
			"removed":  append(bytes.Clone(whole[:i]), whole[i+1:]...),
			"doubled":  append(append(bytes.Clone(whole[:i]), whole[i]), whole[i:]...),
			"cut here": whole[:i],
		} {
			if got, err := budget.Decode(damaged); err == nil {
				t.Fatalf("byte %d %s: %v", i, what, got)
			}
		}
	}
}

// FuzzDecode: whatever the bytes are, they are refused, or say at least what was recorded.
func FuzzDecode(f *testing.F) {
	whole := ledgerFile(f)
	want, err := budget.Decode(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("aiperf-exporter budget state 1 "))
	f.Add([]byte{})
	f.Add(bytes.ReplaceAll(whole, []byte("vendor"), []byte("v")))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := budget.Decode(data)
		if err != nil || !bytes.Contains(data, whole[31:95]) { // with another checksum it is another file
			return
		}
		if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("another file with the same checksum (-want +got):\n%s", diff)
		}
	})
}

func TestAccountsOfLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	path := file(t)
	c := budget.Config{RequestsPerDay: 10}
	now := time.Now()
	l := open(t, path)
	wants(l, l.Account("long ago", &c), now.Add(-50*24*time.Hour), 4)
	wants(l, l.Account("lately", &c), now.Add(-24*time.Hour), 4)
	l.Account("never", &c)
	shut(t, l)
	shut(t, open(t, path))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := budget.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, there := got["long ago"]; there || len(got) != 2 {
		t.Errorf("accounts in the file: %v", got)
	}
}
