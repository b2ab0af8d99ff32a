package secret

import (
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// spellers write a word as programs do.
var spellers = map[string]func(string) string{
	"JSON": func(word string) string {
		out, err := json.Marshal(word)
		if err != nil {
			panic(err) // strings can always be encoded
		}
		return string(out[1 : len(out)-1])
	},
	"JSON with slashes escaped": func(word string) string {
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "/", `\/`).Replace(word)
	},
	"JSON in ASCII": func(word string) string {
		out := strconv.QuoteToASCII(word)
		return out[1 : len(out)-1]
	},
	"a query": url.QueryEscape,
	"a path":  url.PathEscape,
	"a path, in small letters": func(word string) string {
		return strings.NewReplacer("%2F", "%2f", "%3F", "%3f", "%5C", "%5c").Replace(url.PathEscape(word))
	},
	"a URL of Python": func(word string) string { // which leaves slashes
		return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(word), "%2F", "/"), "+", "%20")
	},
	"a user":          func(word string) string { return strings.TrimPrefix(url.UserPassword("", word).String(), ":") },
	"HTML":            html.EscapeString,
	"HTML by numbers": strings.NewReplacer("&", "&#38;", "<", "&#x3C;", `"`, "&#34;", "/", "&#47;").Replace,
}

func TestASecretIsKnownHoweverOftenItIsEscaped(t *testing.T) {
	t.Parallel()
	for _, word := range []string{`pass/"word"&<x>+%=1`, `sk-plain-0123456789`, `ca\t "é😀" %2F&amp;`, "-----BEGIN KEY-----\nMIIE/+==\n-----END"} {
		var r Redactor
		r.Add(Literal("a", Secret(word)))
		for first, one := range spellers {
			for second, two := range spellers {
				for third, three := range spellers {
					text := three(two(one(word)))
					if got := r.Redact("before " + text + " after"); got != "before "+Mask+" after" {
						t.Errorf("%q in %s in %s in %s, %s, became %s", word, first, second, third, text, got)
					}
				}
			}
		}
	}
}

func TestATextThatIsAbridgedFirstShowsNoHalfSecret(t *testing.T) {
	t.Parallel()
	const word = `pass/"word"&<x>+%=1`
	var r Redactor
	r.Add(Literal("a", word))
	for name, spell := range spellers {
		text := "the key " + spell(spell(word)) + " is wrong"
		for n := range len(text) {
			got := r.Redact(`"` + Abridged(text, n) + `" [code]`)
			for of, level := (&reading{text: []byte(got)}), 0; of != nil && level <= maxLevels; of, level = of.unescaped(), level+1 {
				if strings.Contains(string(of.text), word[:minRedactedBytes]) {
					t.Errorf("%s, cut to %d bytes: %s", name, n, got)
				}
			}
		}
	}
}

func TestAbridgedKeepsWhatIsShortAndCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		max  int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "lo…"}, {"éééé", 6, "é…"}, {"éééé", 8, "éééé"}, {"longer", 3, "…"}, {"", 3, ""},
	} {
		if got := Abridged(test.text, test.max); got != test.want {
			t.Errorf("%q in %d bytes is %q, want %q", test.text, test.max, got, test.want)
		}
	}
}

func FuzzReadingsKnowWhereTheyComeFrom(f *testing.F) {
	f.Add([]byte(`a\u00e9%2f&quot;\\\\"`))
	f.Add([]byte(`%25%2525\ud83d\ude00\U0001F600&#x3c;&lt`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for r, level := (&reading{text: text}), 0; r != nil && level <= maxLevels; r, level = r.unescaped(), level+1 {
			last := 0
			for at := range len(r.text) + 1 {
				origin := r.origin(at)
				if origin < last || origin > len(text) {
					t.Fatalf("place %d of level %d comes from %d, the one before it from %d, of %d", at, level, origin, last, len(text))
				}
				last = origin
			}
			if last != len(text) {
				t.Fatalf("the end of level %d comes from %d, want %d", level, last, len(text))
			}
		}
	})
}
