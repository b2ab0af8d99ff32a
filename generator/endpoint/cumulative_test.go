package endpoint

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrowthTellsPiecesFromWholes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		mode  Cumulative
		texts []string
		fresh []bool
		want  string
	}{
		{"pieces", CumulativeAuto, []string{"I", " am", " here"}, []bool{true, true, true}, "I am here"},
		{"wholes", CumulativeAuto, []string{"I", "I am", "I am", "I am here"}, []bool{true, true, false, true}, "I am here"},
		{"wholes for long", "", []string{"a", "ab", "abc", "abcd", "abcde", "abcde", ""}, []bool{true, true, true, true, true, false, false}, "abcde"},
		{"the same piece again", CumulativeAuto, []string{"ha", "ha", "ha"}, []bool{true, true, true}, "hahaha"},
		{"the same piece, then another", CumulativeAuto, []string{"ha", "ha", "!"}, []bool{true, true, true}, "haha!"},
		{"a piece that begins with the one before", CumulativeAuto, []string{" ", " the", " cat"}, []bool{true, true, true}, "  the cat"},
		{"empty pieces say nothing", CumulativeAuto, []string{"", "I", "", " am", ""}, []bool{false, true, false, true, false}, "I am"},
		{"an empty text behind wholes", CumulativeAuto, []string{"I", "I am", ""}, []bool{true, true, false}, "I am"},
		{"pieces as the author says", CumulativeNever, []string{"1", "10", "100", ""}, []bool{true, true, true, false}, "110100"},
		{"wholes as the author says", CumulativeAlways, []string{"a", "a", "ab", "x"}, []bool{true, false, true, false}, "ab"},
		{"nothing", CumulativeAuto, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGrowth(c.mode)
			var fresh []bool
			var kept []byte
			for _, text := range c.texts {
				fresh = append(fresh, g.next([]byte(text)))
				kept = g.keep(kept, []byte(text))
			}
			if diff := cmp.Diff(c.fresh, fresh); diff != "" {
				t.Errorf("fresh (-want +got):\n%s", diff)
			}
			if string(kept) != c.want {
				t.Errorf("kept %q, want %q", kept, c.want)
			}
		})
	}
}

// Whatever is written, wholes give it back, and so do pieces that do not go on growing out of each other.
func TestGrowthKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var whole []byte
		pieces, wholes := newGrowth(CumulativeAuto), newGrowth(CumulativeAuto)
		var ofPieces, ofWholes []byte
		grows := 0
		var last []byte
		for range random.IntN(12) {
			piece := bytes.Repeat([]byte{"ab"[random.IntN(2)]}, 1+random.IntN(3))
			if len(last) > 0 && len(piece) > len(last) && bytes.HasPrefix(piece, last) {
				grows++
			}
			whole = append(whole, piece...)
			last = piece
			pieces.next(piece)
			ofPieces = pieces.keep(ofPieces, piece)
			if !wholes.next(whole) {
				t.Fatalf("nothing new in %q", whole)
			}
			ofWholes = wholes.keep(ofWholes, whole)
		}
		if !bytes.Equal(ofWholes, whole) {
			t.Fatalf("wholes of %q give %q", whole, ofWholes)
		}
		if grows == 0 && !bytes.Equal(ofPieces, whole) {
			t.Fatalf("pieces of %q give %q", whole, ofPieces)
		}
	}
}

// Once it is certain how a text grows, nothing of it is held any more.
func TestGrowthHoldsNothingOnceItIsCertain(t *testing.T) {
	t.Parallel()
	g := newGrowth(CumulativeAuto)
	var text []byte
	for range 1000 {
		text = append(text, "0123456789"...)
		g.next(text)
	}
	if g.mode != CumulativeAlways || cap(g.last) > 100 {
		t.Errorf("mode is %q, %d bytes are held", g.mode, cap(g.last))
	}
}
