package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestWordList(t *testing.T) {
	t.Parallel()
	words := strings.Fields(wordList)
	if len(words) < 1000 {
		t.Errorf("%d words", len(words))
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Error("the words are not sorted or not unique")
	}
	plain := regexp.MustCompile(fmt.Sprintf("^[a-z]{%d,%d}$", minWord, maxWord))
	for _, w := range words {
		if !plain.MatchString(w) {
			t.Errorf("%q is not %d to %d lower-case letters", w, minWord, maxWord)
		}
	}
	c := english()
	for size := minWord; size <= maxWord; size++ {
		if len(c.byLength[size]) == 0 {
			t.Errorf("no word of %d letters", size)
		}
	}
	if len(c.short)+len(c.long) != len(words) || len(c.short) < 300 || len(c.long) < 300 {
		t.Errorf("%d short and %d long words", len(c.short), len(c.long))
	}
}

func TestPromptHasTheWishedSize(t *testing.T) {
	t.Parallel()
	sentences := regexp.MustCompile(`^[0-9a-f]{16}( [A-Z][a-z]{1,9}( [a-z]{2,10})*\.)*$`)
	for size := range 600 {
		for turn := range uint64(4) {
			got := message(english(), hexadecimal(0xfeed), size, *rand.NewPCG(1, turn))
			want := size
			if size < nonceSize+minWord+2 {
				want = nonceSize
			}
			if len(got) != want {
				t.Fatalf("size %d: %d bytes: %q", size, len(got), got)
			}
			text, instructed := strings.CutSuffix(got, instruction)
			if instructed != (size >= nonceSize+minText+len(instruction)) {
				t.Fatalf("size %d: instruction %v: %q", size, instructed, got)
			}
			if !strings.HasPrefix(text, "000000000000feed") || !sentences.MatchString(text) {
				t.Fatalf("size %d: not nonce and sentences: %q", size, text)
			}
		}
	}
}

// TestWordsStayInStepWithBytes is what makes one fit right for tokenizers of bytes and of words.
func TestWordsStayInStepWithBytes(t *testing.T) {
	t.Parallel()
	c := english()
	perWord := float64(c.cost) / float64(len(c.words))
	for _, size := range []int{500, 5000, 50_000} {
		for turn := range uint64(50) {
			text := strings.ReplaceAll(strings.TrimSuffix(message(c, hexadecimal(0), size, *rand.NewPCG(2, turn)), instruction), ".", "")
			words := float64(len(strings.Fields(text)) - 1)
			if want := float64(len(text)-nonceSize) / perWord; math.Abs(words-want) > 3 {
				t.Fatalf("%v words in %d bytes, want %v", words, len(text), want)
			}
		}
	}
}

func TestALongerPromptBeginsLikeAShorterOne(t *testing.T) {
	t.Parallel()
	short := message(english(), hexadecimal(1), 1000, *rand.NewPCG(3, 4))
	long := message(english(), hexadecimal(1), 1300, *rand.NewPCG(3, 4))
	common := len(short) - len(instruction) - minText
	if short[:common] != long[:common] {
		t.Errorf("%q\n%q", short, long)
	}
}

func BenchmarkPrompt(b *testing.B) {
	for _, size := range []int{700, 25_000, 570_000} { // 128, 4,400 and 100,000 tokens
		b.Run(fmt.Sprint(size, " bytes"), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			var random rand.PCG
			for b.Loop() {
				message(english(), hexadecimal(1), size, random)
			}
		})
	}
}
