//go:build e2e && secrets

package e2e

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fragments are the spellings of the marks that are searched for.
var fragments = func() (out []string) {
	for _, mark := range []string{headMark, tailMark} {
		out = append(out, mark)
		for shift := range 3 { // of the three ways in which it can lie in base64, without what its neighbours share with it
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				text := encoding.EncodeToString([]byte(strings.Repeat("x", shift) + mark))
				out = append(out, text[[]int{0, 2, 3}[shift]:len(text)-2])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}()

// surface is everything that somebody can see. It is searched as it comes: there are gigabytes of it.
type surface struct {
	mu     sync.Mutex
	bytes  int
	places map[string]int // how often each was looked at
	shown  map[string]bool
}

func newSurface() *surface { return &surface{places: map[string]int{}, shown: map[string]bool{}} }

// see fails the test if a secret can be seen there, once for each place and secret.
func (s *surface) see(t *testing.T, where, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[where]++
	s.bytes += len(text)
	for _, fragment := range fragments {
		for from := 0; ; from++ {
			next := strings.Index(text[from:], fragment)
			if next < 0 {
				break
			}
			from += next
			around := text[max(0, from-100):min(len(text), from+100)]
			if what := where + " shows the secret " + nameOf(text[max(0, from-40):min(len(text), from+40)]); !s.shown[what] {
				s.shown[what] = true
				t.Errorf("%s: …%s…", what, around)
			}
		}
	}
}

// nameOf is the longest name of a planted secret in a text, if one is spelled there as it is.
func nameOf(text string) string {
	longest := ""
	for name := range planted {
		if len(name) > len(longest) && (strings.Contains(text, headMark+name) || strings.Contains(text, "~"+name+tailMark)) {
			longest = name
		}
	}
	return longest
}
