package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// minRedactedBytes is the length from which a secret is searched for: a shorter one would blot out ordinary words.
const minRedactedBytes = 8

// Redactor replaces all secrets that it knows in text that somebody else wrote, such as the error message of a server. It is safe for
// concurrent use; the zero Redactor knows no secret.
type Redactor struct {
	mu       sync.Mutex
	sources  []*Source
	words    []string // the values that the spellings and the replacer were made for
	spelled  [][]byte
	replacer *strings.Replacer
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

// Covers tells whether r removes everything that another removes: it knows the same files, as the same sources, and the same values.
func (r *Redactor) Covers(other *Redactor) bool {
	if r == other {
		return true
	}
	r.mu.Lock()
	known := slices.Clone(r.sources)
	r.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	return !slices.ContainsFunc(other.sources, func(s *Source) bool {
		return !slices.ContainsFunc(known, func(k *Source) bool { return k == s || k.path == "" && s.path == "" && k.values() == s.values() })
	})
}

// Redact gives text with each secret of at least 8 bytes replaced by Mask, however it is spelled.
func (r *Redactor) Redact(text string) string {
	if len(text) < minRedactedBytes {
		return text
	}
	if replacer := r.current(); replacer != nil {
		text = replacer.Replace(text)
	}
	if len(quoted([]byte(text))) == 0 { // which is quicker than the expression
		return text
	}
	return credential.ReplaceAllStringFunc(text, maskCredential)
}

// credential is what an Authorization header holds, as servers like to quote it. Basic credentials and the tokens of OAuth 2.0 are in no
// file and no variable.
var credential = regexp.MustCompile(`(?i)\b(basic|bearer)\s+[A-Za-z0-9+/=._~-]{8,}`)

// maskCredential masks a match, unless it is prose: "Bearer authentication" has neither a capital letter inside nor anything but letters.
func maskCredential(match string) string {
	scheme, token := match[:strings.IndexFunc(match, unicode.IsSpace)], strings.TrimSpace(match[strings.IndexFunc(match, unicode.IsSpace):])
	odd := func(c rune) bool { return (c < 'a' || c > 'z') && c != '.' && c != '-' }
	if !strings.ContainsFunc(token[1:], odd) {
		return match
	}
	return scheme + " " + Mask
}

// current gives the replacer for the values of this moment, nil if there are none.
func (r *Redactor) current() *strings.Replacer {
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
	if slices.Equal(words, r.words) {
		return r.replacer
	}
	r.words, r.spelled, r.replacer = words, nil, nil
	var all []string
	for _, word := range slices.Compact(slices.Sorted(slices.Values(words))) { // many targets may have one key
		all = append(all, spellings(word)...)
	}
	for _, form := range all {
		r.spelled = append(r.spelled, []byte(form))
	}
	r.replacer = newReplacer(all)
	return r.replacer
}

// forms are the spellings of the secrets of this moment.
func (r *Redactor) forms() [][]byte {
	r.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spelled
}

// newReplacer puts the longest word first: of two secrets that begin alike, the shorter would leave the rest of the longer.
func newReplacer(words []string) *strings.Replacer {
	if len(words) == 0 {
		return nil
	}
	longest := slices.Clone(words)
	slices.SortStableFunc(longest, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(longest))
	for _, w := range longest {
		pairs = append(pairs, w, Mask)
	}
	return strings.NewReplacer(pairs...)
}
