package report

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, got, want string
	}{
		{"thousands are grouped", grouped(1234567, 0), "1,234,567"},
		{"a fraction is not", grouped(1234.56789, 4), "1,234.5679"},
		{"a negative number keeps its sign first", grouped(-1234, 0), "-1,234"},
		{"three digits need no comma", grouped(-999, 0), "-999"},
		{"a lone number has four digits", significant(9.25700), "9.257"},
		{"a lone number has no idle zeros", significant(9.5), "9.5"},
		{"a lone whole number has no point", significant(1200), "1,200"},
		{"nearly all is not all", percent(0.99996), "99.99"},
		{"all is all", percent(1), "100"},
		{"a share is not cut by its conversion", percent(0.57), "57"},
		{"an objective is told in full", objective(0.99999), "99.999"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.got != test.want {
				t.Errorf("got %q, want %q", test.got, test.want)
			}
		})
	}
}

func TestPrintableTextIsOneSafeLine(t *testing.T) {
	t.Parallel()
	if got, want := printable(" a\r\nb\x1b[2J\tc\u202e "), "a b\uFFFD[2J c\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"words fill a line", "aa bb cc dd", []string{"aa bb", "cc dd"}},
		{"a long word stands alone", "a bbbbbbbb c", []string{"a", "bbbbbbbb", "c"}},
		{"characters count, not bytes", "éé éé é", []string{"éé éé", "é"}},
		{"nothing is one empty line", "", []string{""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, wrap(test.text, 5)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNoLineOfATableIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	for name, make := range runs() {
		r := make()
		for _, width := range []int{1, 30, 50, 60, 72, 80, 99, 100, 132, 200} {
			var lines lineLengths
			if err := r.WriteTable(&lines, width); err != nil {
				t.Fatal(err)
			}
			if width >= 50 && lines.longest > width { // less is only enough for a figure beside each name
				t.Errorf("%s: a line of %d characters for a width of %d", name, lines.longest, width)
			}
		}
	}
}

// lineLengths remembers the longest line.
type lineLengths struct{ longest, current int }

func (l *lineLengths) Write(p []byte) (int, error) {
	for text := p; len(text) > 0; {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		l.current++
		if r == '\n' {
			l.current = 0
		}
		l.longest = max(l.longest, l.current)
	}
	return len(p), nil
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestAFailedWriteIsTold(t *testing.T) {
	t.Parallel()
	r := mixedRun()
	for kind, err := range map[string]error{
		"JSON": WriteJSON(fullDisk{}, r), "CSV": r.WriteCSV(fullDisk{}), "records": r.WriteRecords(fullDisk{}), "table": r.WriteTable(fullDisk{}, 80),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want %v", kind, err, errFull)
		}
	}
}
