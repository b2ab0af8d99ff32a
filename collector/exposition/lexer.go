package exposition

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	errUnclosed = errors.New("braces are not closed")
	errName     = errors.New("no valid name of a metric")
	errTwoNames = errors.New("metric has two names")
	errLabel    = errors.New("label is not name=\"value\"")
	errQuotes   = errors.New("name has no closing quote")
)

// identityEnd is the offset behind a name and its labels, where the value comes. Braces and blanks may stand in quotes.
func identityEnd(line []byte) (int, error) {
	i := bytes.IndexAny(line, "{ \t")
	if i < 0 {
		return 0, errNoValue
	}
	name := i
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	if i == len(line) || line[i] != '{' {
		return name, nil
	}
	quoted := false
	for i++; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1, nil
		}
	}
	return 0, errUnclosed
}

// parseIdentity takes a name and its labels, which are all of the text, apart. The labels are appended to labels, in the order of names and
// without those that are empty: to Prometheus such a label is not there.
func parseIdentity(text string, labels []Label) (string, []Label, error) {
	name, rest, braces := strings.Cut(text, "{")
	name, rest = strings.TrimRight(name, blanks), strings.TrimLeft(rest, blanks)
	if (name != "" || !braces) && !isName(name, true) {
		return "", labels, invalidName(name)
	}
	if !braces {
		return name, labels, nil
	}
	for rest != "}" {
		var l Label
		var only bool
		var err error
		if l, only, rest, err = cutLabel(rest); err != nil {
			return "", labels, err
		}
		switch {
		case only && name != "":
			return "", labels, errTwoNames
		case only:
			name = l.Name
		case l.Value != "":
			labels = append(labels, l)
		}
	}
	if name == "" {
		return "", labels, errName
	}
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(labels); i++ {
		if labels[i].Name == labels[i-1].Name {
			return "", labels, fmt.Errorf("label %q stands there twice", labels[i].Name)
		}
	}
	return name, labels, nil
}

// cutLabel takes the first label, and the comma behind it. A name in quotes that has no value is that of the metric.
func cutLabel(s string) (l Label, only bool, rest string, err error) {
	if l.Name, rest, err = cutLabelName(s); err != nil {
		return l, false, "", err
	}
	if s[0] == '"' && rest[0] != '=' {
		rest, err = cutComma(rest)
		return l, true, rest, err
	}
	if l.Name == "__name__" || rest[0] != '=' {
		return l, false, "", errLabel
	}
	rest = strings.TrimLeft(rest[1:], blanks)
	if rest[0] != '"' {
		return l, false, "", errLabel
	}
	if l.Value, rest, err = cutQuoted(rest); err != nil {
		return l, false, "", err
	}
	l.Value = text(l.Value)
	rest, err = cutComma(strings.TrimLeft(rest, blanks))
	return l, false, rest, err
}

// cutLabelName takes the name of a label, which may be in quotes, and blanks behind it.
func cutLabelName(s string) (name, rest string, err error) {
	if s[0] != '"' {
		end := strings.IndexAny(s, "=} \t,")
		if name = s[:end]; !isName(name, false) {
			return "", "", errLabel
		}
		return name, strings.TrimLeft(s[end:], blanks), nil
	}
	if name, rest, err = cutQuoted(s); err != nil {
		return "", "", err
	}
	if name == "" || !utf8.ValidString(name) {
		return "", "", errName
	}
	return name, strings.TrimLeft(rest, blanks), nil
}

// cutComma takes the comma that stands between labels, or is the end of them.
func cutComma(s string) (rest string, err error) {
	switch s[0] {
	case ',':
		return strings.TrimLeft(s[1:], blanks), nil
	case '}':
		return s, nil
	}
	return "", errLabel
}

// cutQuoted takes the string in quotes with which s begins, and undoes its escapes.
func cutQuoted(s string) (value, rest string, err error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return unescape(s[1:i]), s[i+1:], nil
		}
	}
	return "", "", errQuotes
}

// unescape undoes \\, \" and \n. A backslash before anything else is one: Windows paths are written so.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '\\', '"':
				i++
			case 'n':
				b.WriteByte('\n')
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// cutName takes the name of a family, which may be in quotes. No name is no error: what was said is of nothing.
func cutName(b []byte) (name, rest []byte, err error) {
	if len(b) == 0 || b[0] != '"' {
		name, rest = cutField(b)
		return name, rest, nil
	}
	unquoted, after, err := cutQuoted(string(b))
	return []byte(unquoted), trimBlanks([]byte(after)), err
}

// isName tells whether s can stand without quotes as the name of a label, or with colons that of a metric.
func isName(s string, colons bool) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || colons && c == ':'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func invalidName(name string) error { return fmt.Errorf("%q is %w", abridged(name), errName) }

// parseNumber reads a value as Prometheus writes them, and nan with a sign as the C library does.
func parseNumber(b []byte) (float64, error) {
	if word := bytes.TrimLeft(b, "+-"); len(word) >= 3 && len(b)-len(word) <= 1 && bytes.EqualFold(word[:3], []byte("nan")) {
		if len(word) == 3 || word[3] == '(' && word[len(word)-1] == ')' {
			return math.NaN(), nil
		}
	}
	if bytes.ContainsAny(b, "xX_") { // what Go reads beyond
		return 0, fmt.Errorf("%q is no number", abridged(b))
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", abridged(b))
	}
	return v, nil
}

// cutField takes what stands before the first blank.
func cutField(b []byte) (field, rest []byte) {
	for i, c := range b {
		if isBlank(c) {
			return b[:i], trimBlanks(b[i:])
		}
	}
	return b, nil
}

const blanks = " \t"

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// abridged is the beginning of something, for messages.
func abridged[T ~string | ~[]byte](s T) string {
	const most = 40
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}
