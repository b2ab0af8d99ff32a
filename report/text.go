package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decimalsFor gives the figures of a row the same number of decimals, so that they can be compared at a glance: four digits of the largest,
// none if all are whole.
func decimalsFor(values []float64) int {
	largest, whole := 0.0, true
	for _, v := range values {
		largest = max(largest, math.Abs(v))
		whole = whole && v == math.Trunc(v)
	}
	switch {
	case whole || largest >= 1000:
		return 0
	case largest >= 100:
		return 1
	case largest >= 10:
		return 2
	}
	return 3
}

// grouped writes a number with commas between thousands.
func grouped(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// significant writes a number that stands alone.
func significant(v float64) string {
	text := grouped(v, decimalsFor([]float64{v}))
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// percent writes a share with two decimals at most, cut off and not rounded: 99.996 % is not 100 %. What the conversion to binary took away
// is given back first.
func percent(share float64) string {
	hundredths := math.Floor(share*1e4 + 1e-6)
	return strconv.FormatFloat(hundredths/100, 'f', -1, 64)
}

// objective writes a share as it was configured.
func objective(share float64) string { return strconv.FormatFloat(100*share, 'g', 10, 64) }

// printable makes one line of text that is safe on a terminal: a server's own words may hold line breaks and escape sequences.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// wrap breaks text between words into lines of at most width characters; a longer word stands alone.
func wrap(text string, width int) []string {
	var lines []string
	line, length := "", 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			lines = append(lines, line)
			line, length = "", 0
		}
		if length > 0 {
			line += " "
			length++
		}
		line += word
		length += n
	}
	return append(lines, line)
}
