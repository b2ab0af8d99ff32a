package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// spellings are the forms in which a word may stand in what a server says: JSON, URLs, HTML and base64 each have their own. Of base64 it is what the
// word alone decides: its neighbours, such as the user before a password, have a part of the first and of the last character.
func spellings(word string) []string {
	forms := []string{
		word, url.QueryEscape(word), url.PathEscape(word), strings.ReplaceAll(url.QueryEscape(word), "+", "%20"),
		strings.TrimPrefix(url.UserPassword("", word).String(), ":"), escaped(word, true), escaped(word, false), html.EscapeString(word),
		// A server that quotes a body or a URL escapes what was escaped.
		escaped(escaped(word, true), true), escaped(escaped(word, false), false), url.QueryEscape(url.QueryEscape(word)),
	}
	for _, form := range forms {
		forms = append(forms, strings.ReplaceAll(form, "/", `\/`), percent.ReplaceAllStringFunc(form, strings.ToLower))
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, plain := range []string{word, url.QueryEscape(word)} { // OAuth 2.0 escapes what it encodes
			for before := range 3 { // bytes that share a group of base64 with the beginning of the word
				text := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + plain))
				forms = append(forms, text[(before*8+5)/6:(before+len(plain))*8/6])
			}
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// percent is an escaped byte of a URL, which may be written in small letters.
var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// escaped is the word as JSON has it between quotes.
func escaped(word string, forHTML bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(forHTML)
	if encoder.Encode(word) != nil {
		return word // strings can always be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(out.String(), `"`), "\"\n")
}
