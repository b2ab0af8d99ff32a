//go:build unix

package budget_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
)

// TestADiskThatHangsRefusesInsteadOfWaiting puts a pipe without a reader in the place of the new file: opening it does not return.
func TestADiskThatHangsRefusesInsteadOfWaiting(t *testing.T) {
	t.Parallel()
	path := file(t)
	l, err := budget.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c := budget.Config{RequestsPerDay: 1000}
	a := l.Account("a", &c)
	for syscall.Mkfifo(path+".new", 0o600) != nil {
		// the writer is about to rename one
	}
	sent := wants(l, a, noon, 1000)
	if sent >= 1000 || l.Err() == nil {
		t.Errorf("%d requests without writing, error %v", sent, l.Err())
	}
	if _, ok := l.Reserve(noon, budget.Need{}, a); ok {
		t.Error("reserved")
	}
	if l.Close() == nil {
		t.Error("closed")
	}
	if _, err = budget.Open(path); err == nil {
		t.Error("given free while something is still being written")
	}

	reader, err := os.OpenFile(path+".new", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := os.Remove(path + ".new"); err != nil {
		t.Fatal(err)
	}
	left := file(t)
	copyFile(t, path, left)
	if got := used(open(t, left).Account("a", &c), noon)["requests/day"]; got < float64(sent) {
		t.Errorf("%d were sent, the file tells of %v", sent, got)
	}
}
