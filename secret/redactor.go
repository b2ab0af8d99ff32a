package secret

import (
	"slices"
	"strings"
	"sync"
)

// minRedactedBytes is the length from which a secret is searched for: a shorter one would blot out ordinary words.
const minRedactedBytes = 8

// Redactor replaces all secrets that it knows in text that somebody else wrote, such as the error message of a server. It is safe for
// concurrent use; the zero Redactor knows no secret.
type Redactor struct {
	mu      sync.Mutex
	sources []*Source
	words   []string // the values whose spellings are known
	known   *lexicon // of their spellings, never changed, only replaced; nil = not made yet
}

// Add makes the values of the sources known, also the ones that their files will hold later.
func (r *Redactor) Add(sources ...*Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources = append(r.sources, sources...)
}

// With is a redactor that knows the values of more sources; r itself, if there are none.
func (r *Redactor) With(more ...*Source) *Redactor {
	if len(more) == 0 {
		return r
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Redactor{sources: slices.Concat(r.sources, more)}
}

// Together is a redactor that knows what each of several knows. A text is searched once for all of it: what one removes of a secret, as the token that it
// looks like, would hide the rest of it from the next.
func Together(all ...*Redactor) *Redactor {
	var sources []*Source
	known := map[identity]bool{}
	for _, r := range all {
		for _, s := range r.list() {
			if id := s.identity(); !known[id] {
				known[id] = true
				sources = append(sources, s)
			}
		}
	}
	return &Redactor{sources: sources}
}

func (r *Redactor) list() []*Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sources)
}

// Covers tells whether r removes everything that another removes: it knows the same files, as the same sources, and the same values.
func (r *Redactor) Covers(other *Redactor) bool {
	if r == other {
		return true
	}
	known := map[identity]bool{}
	for _, s := range r.list() {
		known[s.identity()] = true
	}
	return !slices.ContainsFunc(other.list(), func(s *Source) bool { return !known[s.identity()] })
}

// Redact gives text with each secret of at least 8 bytes replaced by Mask, however it is spelled, and where the text was cut, at its end or before a "…",
// the beginning of one of as many bytes.
func (r *Redactor) Redact(text string) string {
	found := r.current().search([]byte(text))
	if len(found) == 0 {
		return text
	}
	var out strings.Builder
	from := 0
	for _, s := range found {
		out.WriteString(text[from:s.from] + Mask)
		from = s.to
	}
	return out.String() + text[from:]
}

// current gives the spellings of the secrets of this moment.
func (r *Redactor) current() *lexicon {
	r.mu.Lock()
	defer r.mu.Unlock()
	var words []string
	for _, s := range r.sources {
		for _, v := range s.values() {
			if len(v) >= minRedactedBytes {
				words = append(words, v.Reveal())
			}
		}
	}
	if r.known != nil && slices.Equal(words, r.words) {
		return r.known
	}
	var forms []string
	for _, word := range slices.Compact(slices.Sorted(slices.Values(words))) { // many targets may have one key
		forms = append(forms, spellings(word)...)
	}
	r.words, r.known = words, newLexicon(forms)
	return r.known
}
