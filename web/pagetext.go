package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// absent stands where there is no value: absence is not zero.
const absent = "–"

// moment is an instant as pages show it: how long ago, and the instant itself for whoever wants to know. The script counts Ago on.
type moment struct{ ISO, Full, Ago string }

// newMoment gives nil for an instant that never was.
func newMoment(now time.Time, at *time.Time) *moment {
	if at == nil || at.IsZero() {
		return nil
	}
	return &moment{ISO: at.UTC().Format("2006-01-02T15:04:05.000Z"), Full: at.UTC().Format("2006-01-02 15:04:05 UTC"), Ago: span(now.Sub(*at))}
}

// span says how long something is, to two places at most: "41 s", "12 min", "5 h 12 min", "3 d 4 h". The script does the same.
func span(d time.Duration) string {
	seconds := int64(max(0, d) / time.Second)
	switch {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%d min", seconds/60)
	case seconds < 86400:
		return fmt.Sprintf("%d h %d min", seconds/3600, seconds%3600/60)
	}
	return fmt.Sprintf("%d d %d h", seconds/86400, seconds%86400/3600)
}

// duration says a measured time in seconds with three significant digits.
func duration(seconds *float64) string {
	switch {
	case seconds == nil:
		return absent
	case *seconds < 1:
		return significant(*seconds*1e3) + " ms"
	}
	return significant(*seconds) + " s"
}

// significant gives three significant digits, all of those before the point, and no exponent.
func significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	decimals := min(3, max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))))
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// amount is a quantity for people: thousands are told apart from 10 000 on.
func amount(v float64) string {
	text := significant(v)
	if math.Abs(v) < 1e4 {
		return text
	}
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// percent never calls a part all, or something nothing.
func percent(ratio *float64) string {
	if ratio == nil {
		return absent
	}
	p := *ratio * 100
	switch {
	case p > 99.9 && p < 100:
		return "99.9 %"
	case p > 0 && p < 0.1:
		return "< 0.1 %"
	case p >= 99 || p < 10:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// rates says the rate at which requests are sent and the one that was asked for, "" if none was, in the unit that suits the larger one.
func rates(achieved float64, asked *float64) (sent, wanted string) {
	largest := achieved
	if asked != nil {
		largest = max(largest, *asked)
	}
	unit, factor := "/s", 1.0
	if largest > 0 && largest < 0.5 {
		unit, factor = "/min", 60
	}
	if asked != nil {
		wanted = "of " + significant(*asked*factor) + " asked"
	}
	return significant(achieved*factor) + unit, wanted
}

// plural puts a noun after its number.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// words makes a name of the closed lists readable: "timeout_first_token" is "timeout first token".
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }
