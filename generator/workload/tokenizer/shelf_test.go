package tokenizer_test

import (
	"sync"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
)

func TestAFileIsLoadedOnce(t *testing.T) {
	t.Parallel()
	var shelf tokenizer.Shelf
	var loaders sync.WaitGroup
	got := make([]*tokenizer.Tokenizer, 4)
	for i := range got {
		loaders.Go(func() {
			var err error
			if got[i], err = shelf.Load("testdata/tokenizer.json"); err != nil {
				t.Error(err)
			}
		})
	}
	loaders.Wait()
	for _, other := range got {
		if other == nil || other != got[0] {
			t.Errorf("got %p and %p of one file", got[0], other)
		}
	}
	other, err := shelf.Load(changed(t, func(_, _ map[string]any) {}))
	if err != nil || other == got[0] {
		t.Errorf("another file has the same tokenizer, %v", err)
	}
	if _, err := shelf.Load("none"); err == nil {
		t.Error("a file that is not there was loaded")
	}
	if alone, err := (*tokenizer.Shelf)(nil).Load("testdata/tokenizer.json"); err != nil || alone == got[0] {
		t.Errorf("without a shelf a tokenizer is shared, %v", err)
	}
}
