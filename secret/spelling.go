package secret

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// spellings are the forms in which a word may stand in what a server says, once escapes are undone, of which the word may have some itself. Of base64 it is
// what the word alone decides: its neighbours, such as the user before a password, have a part of the first and of the last character.
func spellings(word string) []string {
	var forms []string
	for r, level := (&reading{text: []byte(word)}), 0; r != nil && level <= maxLevels; r, level = r.unescaped(), level+1 {
		forms = append(forms, string(r.text), strings.ReplaceAll(string(r.text), " ", "+")) // as a query has it
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, plain := range []string{word, url.QueryEscape(word)} { // OAuth 2.0 escapes what it encodes
			for before := range 3 { // bytes that share a group of base64 with the beginning of the word
				text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + plain))
				forms = append(forms, text[(before*8+5)/6:(before+len(plain))*8/6])
			}
		}
	}
	// What is shorter could be any word.
	forms = slices.DeleteFunc(forms, func(form string) bool { return len(form) < minRedactedBytes })
	slices.Sort(forms)
	return slices.Compact(forms)
}
