package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// captures makes one by chance, as a ring might hold it.
func captures(random *rand.Rand) *Capture {
	bytesOf := func(most int) []byte {
		out := make([]byte, random.IntN(most))
		for i := range out {
			out[i] = byte(random.Uint32())
		}
		return out
	}
	c := &Capture{
		ID: fmt.Sprint(random.Uint64()), Target: "llama <prod>", Endpoint: "chat", Model: "Qwen/Qwen3-8B", Exporter: "1.2.3",
		Sent:   time.Unix(1_800_000_000, random.Int64N(1e9)).UTC(),
		Reason: Reasons[random.IntN(len(Reasons))], Outcome: metrics.Failure, Class: metrics.ErrTruncated, Detail: "é\n\x00",
		Method: "POST", URL: "http://h/v1/chat/completions",
		RequestHeader: map[string][]string{"Accept": {"text/event-stream"}}, RequestBody: bytesOf(300), RequestBytes: random.Int64N(1000),
		End: metrics.TapeEnds[random.IntN(len(metrics.TapeEnds))],
	}
	c.Timeline = newTimeline(&metrics.Timeline{Sched: 1, Start: random.Int64N(1e12), Sent: random.Int64N(1e12), End: random.Int64N(1e12)}, random.Int64N(1e12))
	c.Measured.Events = random.IntN(9)
	c.Measured.TTFT = new(random.Float64())
	at := time.Duration(random.Int64N(1e9))
	if random.IntN(4) > 0 {
		c.Status, c.HeaderAt, c.Bytes, c.Truncated = 200+random.IntN(800), at, random.Int64N(1000), random.IntN(2) == 0
		c.Header = map[string][]string{"Content-Type": {"text/event-stream"}, "Set-Cookie": {"a", "b"}}
		for range random.IntN(20) {
			at += time.Duration(random.Int64N(1e10))
			c.Body = append(append(c.Body, 'x'), bytesOf(100)...)
			c.Reads = append(c.Reads, Piece{At: at, End: len(c.Body)})
		}
	}
	c.EndAt = at + time.Duration(random.Int64N(1e9))
	return c
}

func TestAFileGivesTheCaptureThatWasWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		want := captures(random)
		var file bytes.Buffer
		if err := want.Write(&file); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	}
}

// small is the file of a small capture.
const small = `{"format":"aiperf-exporter capture","version":1,"exporter":"1.2.3","request_id":"r","target":"t","endpoint_type":"chat","model":"m",` +
	`"sent":"2026-11-30T08:00:00Z","reason":"failed","outcome":"error","error_class":"truncated","timeline":{"start":-0.001,"sent":0},` +
	`"measured":{"content_events":1},"request":{"method":"POST","url":"http://h","header":{},"bytes":2,"body":"e30="},` +
	`"answer":{"status":200,"header":{"A":["b"]},"at":0.25,"bytes":3}}
{"at":0.25,"data":"YWJj"}
{"at":1.5,"end":"cut"}
`

func TestAFileThatNobodyWroteIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Read(strings.NewReader(small)); err != nil {
		t.Fatalf("the file itself: %v", err)
	}
	tests := []struct {
		name, from, to string
		want           string
	}{
		{"nothing", small, "", "is empty"},
		{"something else", small, "hello\n", "line 1: is no header of a capture"},
		{"another format", `"aiperf-exporter capture"`, `"x"`, `line 1: is no header of a capture: format must be "aiperf-exporter capture"`},
		{"a later version", `"version":1`, `"version":2`, "line 1: version 2 of the format is not known to this program, only 1"},
		{"a reason that is none", `"reason":"failed"`, `"reason":"bored"`, `line 1: reason "bored" is not known`},
		{"an impossible status", `"status":200`, `"status":101`, "line 1: the status of an answer must be 200 to 999, got 101"},
		{"a header that would break the answer", `"A":["b"]`, `"A":["b\r\nC: d"]`, `line 1: the value of the header "A" is none`},
		{"a name that would break the answer", `"A":["b"]`, `"A b":["b"]`, `line 1: "A b" is no name of a header`},
		{"an answer before the request", `"at":0.25,"bytes"`, `"at":-0.25,"bytes"`, "line 1: the answer came before the request"},
		{"a piece before the header", `"at":0.25,"data"`, `"at":0.2,"data"`, "line 2: is earlier than the line before"},
		{"a piece without bytes", `"YWJj"`, `""`, "line 2: must have data or end"},
		{"a piece that is not base64", `"YWJj"`, `"!"`, "line 2: illegal base64"},
		{"a piece without an instant", `"at":0.25,"data"`, `"data"`, "line 2: has no at"},
		{"days of waiting", `"at":1.5`, `"at":1e9`, `line 3: "1e9" is no number of seconds within a day`},
		{"an end that is none", `"cut"`, `"burnt"`, `line 3: end "burnt" is not known`},
		{"an end and data", `"end":"cut"`, `"end":"cut","data":"YWJj"`, "line 3: must have data or end"},
		{"no end", `{"at":1.5,"end":"cut"}` + "\n", "", "has no line that tells how it ended, so it is not whole"},
		{"something behind the end", `{"at":1.5,"end":"cut"}`, `{"at":1.5,"end":"cut"}` + "\n" + `{"at":2,"end":"cut"}`, "line 4: follows the end"},
		{"data without an answer", `,"answer":{"status":200,"header":{"A":["b"]},"at":0.25,"bytes":3}`, "", "line 2: has data, but no answer came"},
		{"a line without an end", small, strings.Repeat("x", maxLineBytes+1), "line 1: longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := strings.Replace(small, tt.from, tt.to, 1)
			if file == small {
				t.Fatal("the case changes nothing")
			}
			_, err := Read(strings.NewReader(file))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestFurtherFieldsOfALaterVersionAreIgnored(t *testing.T) {
	t.Parallel()
	if _, err := Read(strings.NewReader(strings.Replace(small, `"at":1.5`, `"at":1.5,"mood":"bad"`, 1))); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	const piece = 3 << 18 // its base64 has 1 MiB
	head, _, _ := strings.Cut(small, "\n")
	line := `{"at":1,"data":"` + strings.Repeat("YWJj", piece/3) + `"}` + "\n"
	file := head + "\n" + strings.Repeat(line, maxStreamBytes/piece+1)
	if _, err := Read(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), "the answer has more than 16777216 bytes") {
		t.Errorf("got %v", err)
	}
}

func FuzzReadGivesWhatCanBeWrittenAndPlayed(f *testing.F) {
	f.Add([]byte(small))
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		var file bytes.Buffer
		if err := captures(random).Write(&file); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		NewPlayer(c, 1)
		var written bytes.Buffer
		if err = c.Write(&written); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Read(&written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
