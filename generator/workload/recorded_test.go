package workload_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// recordedConfig is a workload of a file of this name with these lines.
func recordedConfig(tb testing.TB, format dataset.Format, name string, lines ...string) *workload.Config {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	c := workload.DefaultConfig()
	c.Dataset.Format, c.Dataset.File = format, path
	return &c
}

var nonce = regexp.MustCompile("[0-9a-f]{16}")

// withoutNonce is all that a turn says, with a mark where a nonce stands.
func withoutNonce(turn *workload.Turn) string { return nonce.ReplaceAllString(whole(turn), "#") }

func TestRecordedTextsAreAskedAsTheyAre(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"text":"Name three rivers.","output_length":24,"extra":{"temperature":0}}`,
		`{"texts":["One.","Two."]}`,
	}
	c := recordedConfig(t, dataset.SingleTurn, "a.jsonl", lines...)
	c.SystemPrompt = "Be brief."
	w := newWorkload(t, c, 1)
	first, second := next(t, w), next(t, w)
	if got, want := withoutNonce(first), "#\n\nBe brief.\nuser:Name three rivers.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := withoutNonce(second), "#\n\nBe brief.\nuser:One.|Two.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if first.OutputTokens != 24 || second.OutputTokens != 64 || fmt.Sprint(first.Extra) != "map[temperature:0]" {
		t.Errorf("%d and %d output tokens, extra %v", first.OutputTokens, second.OutputTokens, first.Extra)
	}
	if first.PromptBytes != 0 {
		t.Errorf("%d bytes to learn from", first.PromptBytes)
	}
	if nonce.FindString(first.Prompt.System) == nonce.FindString(second.Prompt.System) {
		t.Error("two conversations have the same nonce")
	}
	if third := next(t, w); withoutNonce(third) != withoutNonce(first) || third.Session == first.Session {
		t.Errorf("the next pass begins with %q", whole(third))
	}

	c.SystemPrompt, c.Cache = "", "repeat"
	if got, want := whole(next(t, newWorkload(t, c, 1))), "\nuser:Name three rivers.\n"; got != want {
		t.Errorf("without a nonce %q, want %q", got, want)
	}
	c.Cache = "bust"
	if got, want := withoutNonce(next(t, newWorkload(t, c, 1))), "\nuser:#\n\nName three rivers.\n"; got != want {
		t.Errorf("without a system prompt %q, want %q", got, want)
	}
}

func TestRecordedBodiesAreNotTouched(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}`
	w := newWorkload(t, recordedConfig(t, dataset.MooncakeTrace, "a.jsonl", `{"payload":`+body+`,"output_length":3}`), 1)
	turn := next(t, w)
	if string(turn.Prompt.Payload) != body || len(turn.Prompt.Messages) != 0 || turn.Prompt.System != "" {
		t.Errorf("payload %s, messages %v, system %q", turn.Prompt.Payload, turn.Prompt.Messages, turn.Prompt.System)
	}
}

// TestRawMessagesGetTheNonceInTheirContent covers every form of content.
func TestRawMessagesGetTheNonceInTheirContent(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"role":"system","content":"Be."}`:                                  `{"content":"#\n\nBe.","role":"system"}`,
		`{"role":"user","content":[{"type":"text","text":"hi"}],"name":"n"}`: `{"content":[{"text":"#","type":"text"},{"type":"text","text":"hi"}],"name":"n","role":"user"}`,
		`{"role":"assistant","content":null,"tool_calls":[]}`:                `{"content":"#","role":"assistant","tool_calls":[]}`,
		`{"role":"assistant"}`:                                               `{"content":"#","role":"assistant"}`,
	} {
		c := recordedConfig(t, dataset.MooncakeTrace, "a.jsonl", `{"messages":[`+message+`,{"role":"user","content":"y"}],"tools":[{"type":"function"}]}`)
		turn := next(t, newWorkload(t, c, 1))
		got := nonce.ReplaceAllString(string(turn.Prompt.Messages[0].Raw), "#")
		if got != want || string(turn.Prompt.Messages[1].Raw) != `{"role":"user","content":"y"}` || string(turn.Prompt.Tools) != `[{"type":"function"}]` {
			t.Errorf("%s became %s, want %s; then %s, tools %s", message, got, want, turn.Prompt.Messages[1].Raw, turn.Prompt.Tools)
		}
		c.Cache = "repeat"
		if got := string(next(t, newWorkload(t, c, 1)).Prompt.Messages[0].Raw); got != message {
			t.Errorf("with repeat %s became %s", message, got)
		}
	}
}

func TestRecordedConversationsGetLiveAnswers(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "a.jsonl",
		`{"session_id":"s","text_input":"one","output_length":5}`,
		`{"session_id":"s","text_input":"two","output_length":6,"delay":250}`)
	w := newWorkload(t, c, 1)
	first := pick(t, w, workload.Pick{Now: 0})
	if !first.KeepAnswer || first.OutputTokens != 5 {
		t.Fatalf("keeps %v, %d output tokens", first.KeepAnswer, first.OutputTokens)
	}
	w.Done(first, says(0, "eins"))
	early := pick(t, w, workload.Pick{Now: int64(249 * time.Millisecond)})
	second := pick(t, w, workload.Pick{Now: int64(250 * time.Millisecond)})
	if early.Session == first.Session || second.Session != first.Session {
		t.Fatal("the delay of the recording was not kept")
	}
	if got, want := withoutNonce(second), "\nuser:#\n\none\nassistant:eins\nuser:two\n"; got != want || second.KeepAnswer || second.OutputTokens != 6 {
		t.Errorf("%q, want %q; keeps %v, %d output tokens", got, want, second.KeepAnswer, second.OutputTokens)
	}
	w.Done(second, says(1, "zwei"))
	if diff := cmp.Diff(workload.Sessions{Active: 1, Completed: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// mooncake is a line of a trace.
func mooncake(length int, ids string) string {
	return fmt.Sprintf(`{"timestamp":0,"input_length":%d,"output_length":5,"hash_ids":[%s]}`, length, ids)
}

// TestEqualHashIDsAreEqualText reads the layouts of the trace format: whole blocks, a last block that is not full, and fresh words.
func TestEqualHashIDsAreEqualText(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "trace.jsonl",
		mooncake(200, "1,2"), mooncake(200, "1,3"), mooncake(150, "1,2"), mooncake(260, "1,2"), mooncake(260, "1,2"))
	c.Dataset.BlockSize = 100
	c.Cache = "repeat"
	w := newWorkload(t, c, 1)
	var texts []string
	for _, turn := range turns(t, w, 5) {
		texts = append(texts, textOf(turn))
		if math.Abs(float64(turn.PromptBytes)-float64(turn.InputTokens)/0.175) > 16/0.175 {
			t.Errorf("%d bytes for %d tokens", turn.PromptBytes, turn.InputTokens)
		}
	}
	const block = 571 // bytes: 100 tokens
	same := func(a, b string) (n int) {
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	if n := same(texts[0], texts[1]); n < block-1 || n > block+3 {
		t.Errorf("prompts of one common block share %d bytes", n)
	}
	if !strings.HasPrefix(texts[0], texts[2]) || len(texts[2]) < block*3/2-2 {
		t.Errorf("a block that is not full is not the beginning of the whole one: %d bytes", len(texts[2]))
	}
	if !strings.HasPrefix(texts[3], texts[0]) || len(texts[3]) < 2*block+200 {
		t.Errorf("fresh words do not follow the blocks: %d bytes", len(texts[3]))
	}
	if n := same(texts[3], texts[4]); n != len(texts[3]) {
		t.Errorf("with repeat, fresh words differ after %d of %d bytes", n, len(texts[3]))
	}

	// The text of an id is the same in every process and for every target of the seed's, and another for a file in another folder.
	again := newWorkload(t, c, 1)
	if next(t, again); textOf(next(t, again)) != texts[1] {
		t.Error("another process makes other blocks")
	}
	other := recordedConfig(t, dataset.MooncakeTrace, "trace.jsonl", mooncake(200, "1,2"))
	other.Dataset.BlockSize, other.Cache = 100, "repeat"
	if n := same(textOf(next(t, newWorkload(t, other, 1))), texts[0]); n > 20 {
		t.Errorf("a file in another folder has the same blocks, %d bytes", n)
	}
}

func TestAPassOverATraceHasOneNonce(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "trace.jsonl", mooncake(200, "1,2"), mooncake(150, "1,4"), mooncake(200, "1,3"))
	c.Dataset.BlockSize = 100
	w := newWorkload(t, c, 1)
	var nonces []string
	for _, turn := range turns(t, w, 6) {
		nonces = append(nonces, textOf(turn)[:nonceSize])
	}
	if nonces[0] != nonces[1] || nonces[1] != nonces[2] || nonces[3] != nonces[5] || nonces[0] == nonces[3] {
		t.Errorf("nonces %v, want one for each pass of three", nonces)
	}
}

func TestRowsThatCannotBeReadAreCounted(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "trace.jsonl", mooncake(200, "1,2"), `{"input_length":`, mooncake(250, "1,3"))
	c.Dataset.BlockSize = 100
	w := newWorkload(t, c, 1)
	var got []int
	for _, turn := range turns(t, w, 3) {
		got = append(got, turn.InputTokens)
	}
	if diff := cmp.Diff([]int{200, 250, 200}, got); diff != "" || w.SkippedRows() != 1 {
		t.Errorf("%d rows skipped, lengths (-want +got):\n%s", w.SkippedRows(), diff)
	}
}

func TestAConversationThatNeedsTooLongAContextIsPassedOver(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "a.jsonl", `{"input_length":500,"output_length":5}`, `{"input_length":50,"output_length":5}`)
	c.MaxContextTokens = 100
	for _, turn := range turns(t, newWorkload(t, c, 1), 3) {
		if turn.InputTokens != 50 {
			t.Errorf("%d tokens", turn.InputTokens)
		}
	}
	c.MaxContextTokens = 10
	w := newWorkload(t, c, 1)
	if _, err := w.Next(workload.Pick{}); err == nil || err.Error() != "no conversation fits into max_context_tokens" {
		t.Errorf("got %v", err)
	}
}

func TestAMissingDatasetIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	c := workload.DefaultConfig()
	c.Dataset.Format, c.Dataset.File = dataset.SingleTurn, filepath.Join(t.TempDir(), "none.jsonl")
	if _, err := workload.New(&c, nil, 1, "a"); err == nil || !strings.HasPrefix(err.Error(), "dataset: ") {
		t.Errorf("got %v", err)
	}
}

func TestARecordingIsReplayedByItsEntries(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "a.jsonl",
		`{"timestamp":1000,"session_id":"s","text_input":"one","output_length":5}`,
		`{"timestamp":1500,"text_input":"alone","output_length":5}`,
		`{"session_id":"s","text_input":"two","output_length":6,"delay":250}`)
	w := newWorkload(t, c, 1)
	r := w.Recording()
	var entries []workload.Entry
	for range 8 {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			entries = append(entries, workload.Entry{})
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	session, again := entries[0].Session, entries[4].Session
	alone := workload.Entry{Key: 3, At: int64(500 * time.Millisecond), HasAt: true}
	want := []workload.Entry{
		{Key: 1, Session: session, HasAt: true},
		{Key: 2, Session: session, Delay: int64(250 * time.Millisecond)},
		alone,
		{}, // the end of the pass
		{Key: 4, Session: again, HasAt: true},
		{Key: 5, Session: again, Delay: int64(250 * time.Millisecond)},
		{Key: 6, At: alone.At, HasAt: true},
		{},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	if session == 0 || session == again {
		t.Errorf("sessions %d and %d of two passes", session, again)
	}

	first := pick(t, w, workload.Pick{Entry: 1})
	w.Done(first, says(1, "eins"))
	third := pick(t, w, workload.Pick{Entry: 3})
	second := pick(t, w, workload.Pick{Entry: 2})
	if got, want := withoutNonce(second), "\nuser:#\n\none\nassistant:eins\nuser:two\n"; got != want || second.Session != first.Session {
		t.Errorf("%q, want %q; session %s after %s", got, want, second.Session, first.Session)
	}
	if got, want := withoutNonce(third), "\nuser:#\n\nalone\n"; got != want || third.Session == first.Session || third.KeepAnswer {
		t.Errorf("%q, want %q; keeps %v", got, want, third.KeepAnswer)
	}
	nextPass := pick(t, w, workload.Pick{Entry: 4})
	if nextPass.Session == first.Session || whole(nextPass) == whole(first) {
		t.Error("the next pass has the session or the nonce of the one before")
	}
	w.Forget(5)
	for _, gone := range []uint64{1, 5, 99} {
		if _, err := w.Next(workload.Pick{Entry: gone}); err == nil {
			t.Errorf("entry %d came twice, after it was forgotten, or from nowhere", gone)
		}
	}
	w.Done(second, says(2, "zwei"))
	w.Done(third, says(2, "x"))
	if diff := cmp.Diff(workload.Sessions{Active: 2}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	for range 4 {
		_, _ = r.Next()
	}
	if diff := cmp.Diff(workload.Sessions{Active: 1, Completed: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions two passes later (-want +got):\n%s", diff)
	}
}

func TestARecordingNeedsADatasetWithTimes(t *testing.T) {
	t.Parallel()
	if _, err := newWorkload(t, make128(), 1).Recording().Next(); err == nil || err.Error() != "the workload has no dataset to replay" {
		t.Errorf("got %v", err)
	}
	c := recordedConfig(t, dataset.MooncakeTrace, "a.jsonl", `{"text_input":"one"}`)
	var wrong *dataset.Error
	if _, err := newWorkload(t, c, 1).Recording().Next(); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
}

func TestTurnsThatNobodyTakesAreBounded(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.MooncakeTrace, "a.jsonl", slices.Repeat([]string{`{"timestamp":0,"input_length":5}`}, 2000)...)
	w := newWorkload(t, c, 1)
	r := w.Recording()
	for n := 0; n < 100_010; {
		if _, err := r.Next(); err == nil {
			n++
		}
	}
	if _, err := w.Next(workload.Pick{Entry: 10}); err == nil {
		t.Error("the oldest turn is still there")
	}
	if _, err := w.Next(workload.Pick{Entry: 11}); err != nil {
		t.Error(err)
	}
}

func BenchmarkNextOfATrace(b *testing.B) {
	b.ReportAllocs()
	c := recordedConfig(b, dataset.MooncakeTrace, "a.jsonl", mooncake(2000, "1,2,3"), mooncake(2000, "1,4,5"))
	w := newWorkload(b, c, 1)
	for b.Loop() {
		w.Done(next(b, w), workload.End{})
	}
}
