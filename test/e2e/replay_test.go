//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// mooncake has requests alone at their times, and a session whose second turn follows the first answer after half a second.
const mooncake = `{"timestamp":5000,"text_input":"first","output_length":2}
{"timestamp":5250,"text_input":"hello","output_length":2,"session_id":"talk"}
{"timestamp":5400,"text_input":"second","output_length":2}
{"delay":500,"text_input":"go on","output_length":2,"session_id":"talk"}
{"timestamp":6200,"text_input":"third","output_length":2}
`

// replaying is a target that replays a recording: format, file, keys of the load, URL.
const replaying = `
workloads:
  tape: {dataset: {format: %s, file: %q}}
loads:
  tape: {mode: replay, max_in_flight: 100, max_catchup: 1m, %s}
targets:
  - {name: tape, url: %[4]q, model: peer, endpoint: {type: chat}, workload: tape, load: tape}
`

func TestRecordingIsReplayedAtItsTimes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var greeted time.Time // not later than the first turn of the session had its answer
	p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
		began := time.Now()
		plain(w, r, q)
		if strings.HasSuffix(q.last(), "hello") {
			mu.Lock()
			defer mu.Unlock()
			greeted = began
		}
	})
	config := fmt.Sprintf(replaying, "mooncake_trace", file(t, "trace.jsonl", mooncake), "loop: false, speedup: 0.5", p.url)
	out := t.TempDir()
	e := process.ForTest(t, nil, binary, "run", "--config.file="+file(t, "aiperf-exporter.yml", config), "--duration=5s", "--records", "--out="+out)
	if code, err := e.Wait(process.Within(t, patience)); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	scheduled := map[string]time.Time{}
	for _, r := range records(t, out) {
		scheduled[r.Metadata.RequestID] = time.Unix(0, r.Exporter.Scheduled)
	}
	asked := p.asked("tape")
	if len(asked) != 5 || len(scheduled) != 5 {
		t.Fatalf("%d requests came and %d were recorded, want 5", len(asked), len(scheduled))
	}
	begin := scheduled[asked[0].header.Get("X-Request-Id")]
	want := map[string]time.Duration{"first": 0, "hello": 500 * time.Millisecond, "second": 800 * time.Millisecond, "third": 2400 * time.Millisecond}
	var talk []question
	for i := range asked {
		q := &asked[i]
		at := scheduled[q.header.Get("X-Request-Id")]
		if q.arrived.Before(at) {
			t.Errorf("%q came %v before its time", q.last(), at.Sub(q.arrived))
		}
		if late := q.arrived.Sub(at); late > 2*time.Second { // those that would be sent at the end are later
			t.Errorf("%q came %v late", q.last(), late)
		}
		for text, offset := range want {
			if off := at.Sub(begin) - offset; strings.HasSuffix(q.last(), text) && off.Abs() > time.Millisecond {
				t.Errorf("%q was wanted %v after the first, want %v", text, off+offset, offset)
			}
		}
		if strings.HasSuffix(q.last(), "hello") || q.last() == "go on" {
			talk = append(talk, *q)
		}
	}
	if len(talk) != 2 || talk[0].session() == "" || talk[0].session() != talk[1].session() {
		t.Fatalf("the session has %d turns, want 2 with one correlation id: %+v", len(talk), talk)
	}
	if n := len(talk[1].chat.Messages); n != 3 {
		t.Errorf("the second turn has %d messages, want question, answer and question", n)
	}
	mu.Lock()
	defer mu.Unlock()
	// A recorded pause is not sped up.
	if pause := talk[1].arrived.Sub(greeted); pause < 500*time.Millisecond {
		t.Errorf("the second turn came %v after the first answer, want 500 ms at least", pause)
	}
}

// bailian is a conversation of three requests and one alone. Blocks have 16 tokens.
const bailian = `{"chat_id":1,"parent_chat_id":-1,"timestamp":0.0,"input_length":40,"output_length":3,"type":"text","turn":1,"hash_ids":[1,2,3]}
{"chat_id":2,"parent_chat_id":-1,"timestamp":0.1,"input_length":30,"output_length":4,"type":"text","turn":1,"hash_ids":[1,9]}
{"chat_id":3,"parent_chat_id":1,"timestamp":0.3,"input_length":60,"output_length":5,"type":"text","turn":2,"hash_ids":[1,2,3,4]}
{"chat_id":5,"parent_chat_id":3,"timestamp":0.6,"input_length":70,"output_length":6,"type":"text","turn":3,"hash_ids":[1,2,3,4,5]}
`

// nonceSize is the length of the hexadecimal number that keeps caches from answering.
const nonceSize = 16

// Each request of the trace has the whole conversation in it. What the recording shares stays shared, within a pass only.
func TestPromptsOfATraceShareWhatTheRecordingShared(t *testing.T) {
	t.Parallel()
	p := startPeer(t, func(w http.ResponseWriter, _ *http.Request, _ *question) {
		a := reply{model: "peer", text: "an answer"} // without usage the lengths of blocks stay as they are
		a.write(w)
	})
	serve(t, fmt.Sprintf(replaying, "bailian_trace", file(t, "trace.jsonl", bailian), "loop_gap: 100ms", p.url))
	const passes = 3
	var nonces, sessions []string
	for pass, rows := range wholePasses(t, p, passes) {
		first, alone, second, third := rows[3], rows[4], rows[5], rows[6]
		nonce := first.last()[:nonceSize]
		// The last block of a prompt is cut where the prompt ends.
		shared(t, "first and second turn", first.last(), second.last(), 40.0/60)
		shared(t, "second and third turn", second.last(), third.last(), 60.0/70)
		shared(t, "first turn and the one alone", alone.last(), first.last(), 16.0/40)
		if first.session() != second.session() || second.session() != third.session() || first.session() == alone.session() {
			t.Errorf("pass %d: the turns have the correlation ids %s, %s and %s, the one alone %s", pass,
				first.session(), second.session(), third.session(), alone.session())
		}
		nonces, sessions = append(nonces, nonce), append(sessions, first.session())
	}
	for _, each := range [][]string{nonces, sessions} {
		if slices.Sort(each); len(slices.Compact(each)) != passes {
			t.Errorf("passes share a number: %v", each)
		}
	}
}

// wholePasses waits for so many passes, whose requests begin with a number of their own, and gives their requests by the row, which the recorded
// length of the answer tells. A machine that is late may send those of two passes in any order.
func wholePasses(t *testing.T, p *peer, passes int) (whole []map[int]question) {
	t.Helper()
	eventually(t, patience, func() error {
		whole = nil
		var order []string
		byNonce := map[string]map[int]question{}
		for _, q := range p.asked("tape") {
			nonce := q.last()[:nonceSize]
			rows := byNonce[nonce]
			if rows == nil {
				rows = map[int]question{}
				byNonce[nonce], order = rows, append(order, nonce)
			}
			if _, again := rows[q.chat.MaxTokens]; again {
				t.Fatalf("the row with %d tokens out comes twice with the number %s", q.chat.MaxTokens, nonce)
			}
			rows[q.chat.MaxTokens] = q
			if n := len(q.chat.Messages); n != 1 {
				t.Fatalf("row with %d tokens out has %d messages, want one that says it all", q.chat.MaxTokens, n)
			}
		}
		for _, nonce := range order {
			if len(byNonce[nonce]) == 4 {
				whole = append(whole, byNonce[nonce])
			}
		}
		if len(whole) < passes {
			return fmt.Errorf("%d whole passes of %d, want %d", len(whole), len(order), passes)
		}
		return nil
	})
	return whole[:passes]
}

// shared checks that a prompt begins like a longer one, for about a share of that.
func shared(t *testing.T, what, a, b string, share float64) {
	t.Helper()
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if got := float64(n) / float64(len(b)); got < share-.15 || got > share+.15 {
		t.Errorf("%s have %.2f of their prompt in common, want about %.2f:\n%q\n%q", what, got, share, a, b)
	}
}

func TestRecordingWithoutTimesIsNotReplayed(t *testing.T) {
	t.Parallel()
	config := file(t, "aiperf-exporter.yml", fmt.Sprintf(replaying, "mooncake_trace",
		file(t, "trace.jsonl", `{"text_input":"when?"}`+"\n"), "loop: false", "http://127.0.0.1:1"))
	for name, args := range map[string][]string{
		"check config": {"check", "config", config},
		"run":          {"run", "--config.file=" + config, "--duration=1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process.ForTest(t, nil, binary, args...)
			code, err := p.Wait(process.Within(t, patience))
			if err != nil {
				t.Fatal(err)
			}
			if out := p.Output(); code != 1 || !strings.Contains(out, "trace.jsonl:1: has no instants to replay") {
				t.Errorf("exit code %d, want 1, and what is wrong with the trace in:\n%s", code, out)
			}
		})
	}
}
