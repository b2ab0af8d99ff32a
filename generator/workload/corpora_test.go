package workload

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTextsHaveTheWishedSizeAndFollowFromTheSeed(t *testing.T) {
	t.Parallel()
	for name, make := range corpora {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			c := make()
			for size := range 700 {
				var b strings.Builder
				c.fill(&b, size, *rand.NewPCG(1, 2))
				text := b.String()
				if len(text) != size && (len(text) != 0 || size >= minWord+2) {
					t.Fatalf("%d bytes, want %d: %q", len(text), size, text)
				}
				if len(text) > 0 && text[0] != ' ' && text[0] != '\n' {
					t.Fatalf("begins with %q", text[0])
				}
				for i := range len(text) {
					if text[i] >= 0x7f || (text[i] < ' ' && text[i] != '\n' && text[i] != '\t') {
						t.Fatalf("has the byte %#x: %q", text[i], text)
					}
				}
			}
			long, longer := write(c, 2000, *rand.NewPCG(3, 4)), write(c, 2500, *rand.NewPCG(3, 4))
			if common := 2000 - minText; long[:common] != longer[:common] {
				t.Errorf("a longer text begins differently:\n%s\n%s", long, longer)
			}
			if long == write(c, 2000, *rand.NewPCG(3, 5)) {
				t.Error("another seed makes the same text")
			}
		})
	}
}

func TestPassagesOfTheNovelGoOnFromItsBeginning(t *testing.T) {
	t.Parallel()
	text := write(novel(), 3*len(holmes), *rand.NewPCG(1, 1))
	start := text[:200]
	if !strings.Contains(holmes, start) || !strings.Contains(text, holmes) {
		t.Errorf("no window of the novel: %q", start)
	}
	if len(holmes) > 150_000 {
		t.Errorf("%d bytes are embedded", len(holmes))
	}
}

// TestCodeHasAllItsKinds reads the JSON that it finds.
func TestCodeHasAllItsKinds(t *testing.T) {
	t.Parallel()
	text := write(grammar{}, 100_000, *rand.NewPCG(1, 1))
	for _, want := range []string{"\nfunc ", "return nil\n}", "component=", "duration_ms="} {
		if strings.Count(text, want) < 20 {
			t.Errorf("%q comes %d times", want, strings.Count(text, want))
		}
	}
	objects := 0
	for _, block := range strings.Split(text, "\n{\n")[1:] {
		object, _, whole := strings.Cut(block, "\n}\n")
		var v map[string]any
		if err := json.Unmarshal([]byte("{"+object+"}"), &v); err != nil && whole {
			t.Fatalf("%v: {%s}", err, object)
		}
		objects++
	}
	if objects < 20 {
		t.Errorf("%d objects", objects)
	}
}

func BenchmarkCorpora(b *testing.B) {
	for name, make := range corpora {
		b.Run(fmt.Sprint(string(name), " 25,000 bytes"), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(25_000)
			c := make()
			var random rand.PCG
			for b.Loop() {
				write(c, 25_000, random)
			}
		})
	}
}
