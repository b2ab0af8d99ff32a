package progress

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen is a terminal that knows what the console uses, and wraps as terminals do that become narrower.
type screen struct {
	t       *testing.T
	columns int
	lines   []string
	at      int // the line of the cursor, which is always at its start when something begins
	frames  int
}

var control = regexp.MustCompile("^\x1b\\[(\\??)([0-9]*)([a-zA-Z])")

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	column := 0
	for text != "" {
		for len(s.lines) <= s.at {
			s.lines = append(s.lines, "")
		}
		if m := control.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			n, _ := strconv.Atoi(m[2])
			switch {
			case m[1] == "?":
				s.frames++
			case m[3] == "A":
				if s.at -= n; s.at < 0 {
					s.t.Fatalf("the cursor leaves the screen by %d", -s.at)
				}
			case m[3] == "J":
				s.lines = s.lines[:s.at]
			case m[3] == "K", m[3] == "m":
			default:
				s.t.Fatalf("unknown control %q", m[0])
			}
			continue
		}
		switch text[0] {
		case '\n':
			s.at, column = s.at+1, 0
			text = text[1:]
		case '\r':
			column = 0
			text = text[1:]
		default:
			end := strings.IndexAny(text, "\x1b\n\r")
			if end < 0 {
				end = len(text)
			}
			if column == 0 {
				s.lines[s.at] = ""
			}
			s.lines[s.at] += text[:end]
			column += end
			text = text[end:]
		}
	}
	if column != 0 {
		s.t.Errorf("the cursor is in the middle of a line after %q", p)
	}
	return len(p), nil
}

// narrow makes the terminal narrower, which wraps its lines.
func (s *screen) narrow(columns int) {
	var out []string
	for i, l := range s.lines {
		for len(l) > columns {
			out = append(out, l[:columns])
			l = l[columns:]
		}
		out = append(out, l)
		if i+1 == s.at {
			s.at = len(out)
		}
	}
	s.lines, s.columns = out, columns
}

// written are the lines without what is empty at the end.
func (s *screen) written() []string {
	out := s.lines
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func newScreen(t *testing.T) (*screen, *Console) {
	t.Helper()
	s := &screen{t: t, columns: 80}
	c := NewConsole(s)
	c.size = func() (columns, rows int, ok bool) { return s.columns, 24, true }
	return s, c
}

func lines(texts ...string) func(int, int) []line {
	return func(int, int) []line {
		var out []line
		for _, text := range texts {
			out = append(out, line{text, len(text)})
		}
		return out
	}
}

func TestMessagesStandAboveTheBlock(t *testing.T) {
	t.Parallel()
	s, c := newScreen(t)
	fmt.Fprintln(c, "before")
	c.show(lines("first", "second"))
	fmt.Fprintln(c, "a warning")
	fmt.Fprint(c, "one without an end")
	c.show(lines("first again", "second", "third"))
	if diff := cmp.Diff([]string{"before", "a warning", "one without an end", "first again", "second", "third"}, s.written()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.show(lines("less"))
	if diff := cmp.Diff([]string{"before", "a warning", "one without an end", "less"}, s.written()); diff != "" {
		t.Errorf("a smaller block (-want +got):\n%s", diff)
	}
	if s.frames == 0 {
		t.Error("terminals are not asked to show frames as wholes")
	}
}

func TestATerminalThatBecomesNarrowerIsErasedWhole(t *testing.T) {
	t.Parallel()
	s, c := newScreen(t)
	fmt.Fprintln(c, "before")
	c.show(lines(strings.Repeat("x", 70), "short"))
	s.narrow(30)
	c.show(lines("new"))
	if diff := cmp.Diff([]string{"before", "new"}, s.written()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheLastBlockStandsOrGoes(t *testing.T) {
	t.Parallel()
	for stands, want := range map[bool][]string{true: {"block", "report"}, false: {"report"}} {
		s, c := newScreen(t)
		c.show(lines("block"))
		c.Leave(stands)
		c.Leave(stands) // there is nothing any more
		fmt.Fprintln(c, "report")
		if diff := cmp.Diff(want, s.written()); diff != "" {
			t.Errorf("stands is %v (-want +got):\n%s", stands, diff)
		}
	}
}

func TestWithoutATerminalMessagesGoThroughAsTheyAre(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := NewConsole(&out)
	fmt.Fprint(c, "a message")
	c.Leave(false)
	if out.String() != "a message" || c.terminal {
		t.Errorf("got %q", out.String())
	}
}

// shown runs two minutes of one target with a request each second, and gives what was written.
func shown(t *testing.T, options Options, length time.Duration) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		options.Console = NewConsole(&out)
		if options.Term != "" {
			options.Console.terminal = true
			options.Console.size = func() (columns, rows int, ok bool) { return 80, 24, true }
		}
		options.InFlight = func() map[string]int { return map[string]int{"one": 1} }
		p := New(Plan{Targets: []string{"one"}, Duration: length})
		d := p.Show(options)
		for range int(length / time.Second) {
			<-time.NewTimer(time.Second).C // of the bubble
			p.Finished("one", request(metrics.Success, ""), ttft(0.1), nil)
		}
		d.End()
	})
	return out.String()
}

func TestALogGetsALineEveryTenSecondsAndOneAtTheEnd(t *testing.T) {
	t.Parallel()
	got := shown(t, Options{Mode: Auto}, 25*time.Second)
	line := regexp.MustCompile(`(?m)^one: (\d:\d\d) of 0:25, \d+ requests, [01]\.\d\d/s, 1 in flight, 0 failed, TTFT p50 \d+ ms p95 \d+ ms(, (\d:\d\d) left)?$`)
	var at []string
	for _, m := range line.FindAllStringSubmatch(got, -1) {
		at = append(at, m[1]+" "+m[3])
	}
	if diff := cmp.Diff([]string{"0:10 0:15", "0:20 0:05", "0:25 "}, at); diff != "" || strings.Count(got, "\n") != 3 || strings.Contains(got, "\x1b") {
		t.Errorf("(-want +got):\n%s\nin %q", diff, got)
	}
}

func TestNothingIsSaidWhereNobodyWouldReadIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options Options
		length  time.Duration
	}{
		"a run that is over soon":     {Options{Mode: Plain}, 9 * time.Second},
		"a run without progress":      {Options{Mode: None, Term: "xterm"}, time.Minute},
		"automatic, and over at once": {Options{Mode: Auto}, 0},
	} {
		if got := shown(t, test.options, test.length); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhichTerminalsGetABlock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options Options
		want    bool
	}{
		"a terminal":                      {Options{Mode: Auto, Term: "xterm"}, true},
		"a terminal that can do nothing":  {Options{Mode: Auto, Term: "dumb"}, false},
		"a file":                          {Options{Mode: Auto}, false},
		"a file, against all advice":      {Options{Mode: TTY}, true},
		"a terminal that is to get lines": {Options{Mode: Plain, Term: "xterm"}, false},
	} {
		if got := strings.Contains(shown(t, test.options, 12*time.Second), begin); got != test.want {
			t.Errorf("%s: a block is %v, want %v", name, got, test.want)
		}
	}
}
