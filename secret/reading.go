package secret

import (
	"html"
	"slices"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLevels is how many levels of escapes are undone: a server quotes a URL in JSON, and whoever passes it on quotes that.
const maxLevels = 4

// reading is a text with levels of its escapes undone. It knows where in the text everything came from.
type reading struct {
	text  []byte
	below *reading // with a level more of them; nil = this is the text itself
	jumps []jump   // behind each escape that was undone, in order
}

// jump is a place in a reading, and the one below that belongs to it. In front of the next jump both go on in step.
type jump struct{ at, below int }

// origin is where in the text itself a place belongs.
func (r *reading) origin(at int) int {
	for ; r.below != nil; r = r.below {
		if next := sort.Search(len(r.jumps), func(i int) bool { return r.jumps[i].at > at }); next > 0 {
			at += r.jumps[next-1].below - r.jumps[next-1].at
		}
	}
	return at
}

// unescaped undoes one level of escapes, those of JSON, URLs and HTML alike; nil if there are none.
func (r *reading) unescaped() *reading {
	out := &reading{below: r}
	from := 0
	for at := 0; at < len(r.text); {
		n := 0
		var plain []byte
		switch r.text[at] {
		case '\\':
			plain, n = backslash(r.text[at:])
		case '%':
			plain, n = percent(r.text[at:])
		case '&':
			plain, n = entity(r.text[at:])
		}
		if n == 0 {
			at++
			continue
		}
		if out.text == nil {
			out.text = make([]byte, 0, len(r.text))
		}
		out.text = append(append(out.text, r.text[from:at]...), plain...)
		at += n
		from = at
		out.jumps = append(out.jumps, jump{len(out.text), at})
	}
	if from == 0 {
		return nil
	}
	out.text = append(out.text, r.text[from:]...)
	return out
}

// percent reads a byte as URLs escape it, and tells how long it is; 0 = there is none.
func percent(p []byte) (plain []byte, n int) {
	if c, ok := hexadecimal(p, 1, 2); ok {
		return []byte{byte(c)}, 3
	}
	return nil, 0
}

// controls are the letters behind a backslash that stand for something else.
var controls = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// backslash reads what JSON, Go and Python write with one, and tells how long it is; 0 = it is none of that.
func backslash(p []byte) (plain []byte, n int) {
	if len(p) < 2 {
		return nil, 0
	}
	switch c := p[1]; c {
	case 'x':
		if v, ok := hexadecimal(p, 2, 2); ok {
			return []byte{byte(v)}, 4
		}
	case 'u':
		return codeUnits(p)
	case 'U':
		if v, ok := hexadecimal(p, 2, 8); ok {
			return utf8.AppendRune(nil, rune(v)), 10 //nolint:gosec // what is no character becomes the one that says so
		}
	default:
		if control, ok := controls[c]; ok {
			return []byte{control}, 2
		}
		if c > ' ' && c < utf8.RuneSelf && !isWord(c) {
			return p[1:2], 2
		}
	}
	return nil, 0
}

// codeUnits reads one character in UTF-16, of one unit or two.
func codeUnits(p []byte) (plain []byte, n int) {
	first, ok := hexadecimal(p, 2, 4)
	if !ok {
		return nil, 0
	}
	if utf16.IsSurrogate(rune(first)) && len(p) > 8 && p[6] == '\\' && p[7] == 'u' { //nolint:gosec // four digits
		if second, ok := hexadecimal(p, 8, 4); ok {
			return utf8.AppendRune(nil, utf16.DecodeRune(rune(first), rune(second))), 12 //nolint:gosec // four digits each
		}
	}
	return utf8.AppendRune(nil, rune(first)), 6 //nolint:gosec // four digits
}

// maxEntity bounds the length of a character's name in HTML, or of its number.
const maxEntity = 10

// entity reads a character as HTML escapes it.
func entity(p []byte) (plain []byte, n int) {
	end := slices.Index(p[:min(len(p), maxEntity)], ';')
	if end < 0 {
		return nil, 0
	}
	written := string(p[:end+1])
	if said := html.UnescapeString(written); said != written {
		return []byte(said), end + 1
	}
	return nil, 0
}

// hexadecimal reads so many digits.
func hexadecimal(p []byte, from, digits int) (v uint64, ok bool) {
	if len(p) < from+digits {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p[from:from+digits]), 16, 32)
	return v, err == nil
}
