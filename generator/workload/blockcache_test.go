package workload

import (
	"strings"
	"testing"
)

func TestBlocksAreMadeOnceWhileTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	var c blockCache
	made := 0
	ask := func(id uint64) {
		t.Helper()
		want := strings.Repeat("x", 64<<10) + string(rune('a'+id%26))
		got := c.get(blockKey{id: id}, func() string {
			made++
			return want
		})
		if got != want {
			t.Fatalf("block %d is another one", id)
		}
	}
	const favourite = 25
	for id := range uint64(2000) { // 125 MiB in all
		ask(favourite)
		ask(id)
		if held := len(c.now) + len(c.old); held > 2*(maxBlockBytes/(64<<10)+2) {
			t.Fatalf("%d blocks are held", held)
		}
	}
	if made != 2000 {
		t.Errorf("%d blocks were made, want each of 2000 once", made)
	}
	if ask(0); made != 2001 {
		t.Error("a block that nobody has asked for since is still there")
	}
}
