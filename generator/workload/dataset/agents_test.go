package dataset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// since is an instant of the day on which the recordings of the tests were made.
func since(seconds float64) time.Duration {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return time.Duration(day.UnixNano()) + time.Duration(seconds*float64(time.Second))
}

// made is a row of which only lengths were recorded.
func made(session string, at time.Duration, input, output int, ids ...uint64) told {
	return told{Session: session, At: at, HasAt: true, SelfContained: true, InputTokens: input, OutputTokens: output, BlockSize: 64, HashIDs: ids}
}

func TestCapturedRequestsAreAskedAsTheyWere(t *testing.T) {
	t.Parallel()
	raw := func(message string) prompt.Prompt {
		return prompt.Prompt{Messages: []prompt.Message{{Raw: json.RawMessage(message)}}}
	}
	withTools := raw(`{"role":"user","content":"hi"}`)
	withTools.Tools = json.RawMessage(`[{"type":"function"}]`)
	want := standing(
		told{Prompt: raw(`{"role":"user","content":"ping"}`), At: since(2), HasAt: true, InputTokens: 9, OutputTokens: 4},
		told{Prompt: withTools, At: since(1.5), HasAt: true, OutputTokens: 7},
		told{Prompt: raw(`{"role":"user","content":"no limit"}`), At: since(3), HasAt: true, InputTokens: 8, OutputTokens: 30},
	)
	c := config(dataset.SageMakerDataCapture, "testdata/good/sagemaker_data_capture.jsonl")
	if diff := cmp.Diff(want, everything(t, c), placeless()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := c.Warnings()
	if len(got) != 1 || !strings.Contains(got[0], "real users") || !strings.Contains(got[0], c.File) {
		t.Errorf("the warnings are %q, they must tell of the data of users", got)
	}
	if got := config(dataset.WekaTrace, "testdata/good/weka_trace.json").Warnings(); got != nil {
		t.Errorf("a recording without texts warns: %q", got)
	}
}

// agents are the rows of testdata/good/weka_trace.json, made so that pauses are times without a request.
func agents() talk {
	second, half := time.Second, time.Second/2
	first := made("w1", half, 130, 9, 1, 2)
	a := made("w1/a", 2250*ms, 64, 5, 1)
	a.Delay = 950 * ms
	again := made("w1/a", 4*second, 128, 1, 1, 9)
	again.Delay, again.Splits = 750*ms, []int{1}
	b := made("w1/b", 2500*ms, 10, 5, 7)
	b.Delay = 1200 * ms
	c := made("w1/c", 3*second, 10, 5)
	c.Delay = 1700 * ms
	first.Agents = []talk{{Session: "w1/a", Rows: []told{a, again}}, {Session: "w1/b", Rows: []told{b}}, {Session: "w1/c", Rows: []told{c}}}

	second1 := made("w1", 5*second, 200, 20, 1, 2, 3)
	second1.Delay, second1.Splits, second1.Joins = 3700*ms, []int{2}, []string{"w1/a"}
	third := made("w1", 6500*ms, 256, 20, 1, 2, 3, 4)
	third.Delay, third.Splits, third.Joins = half, []int{2, 3}, []string{"w1/b"}
	fourth := made("w1", 7*second, 130, 20, 1, 5)
	fourth.Splits = []int{1}
	last := made("w1", 9*second, 1, 1)
	last.Delay = 2 * second
	return talk{Session: "w1", Rows: []told{first, second1, third, fourth, last}}
}

func TestSubAgentsRunBesideTheirParentWhichJoinsThem(t *testing.T) {
	t.Parallel()
	c := config(dataset.WekaTrace, "testdata/good/weka_trace.json")
	got := everything(t, c)
	if diff := cmp.Diff([]talk{agents()}, got, placeless()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if summary, _ := dataset.Check(c, 0); summary.Filtered != 1 {
		t.Errorf("%d rows were left out, want the one of the agent that nothing began", summary.Filtered)
	}
	if r := got[0].Rows[0].Agents[0].Rows[1]; r.Position() != "testdata/good/weka_trace.json:1" {
		t.Errorf("the row of an agent stands at %q", r.Position())
	}
}

func TestPausesAreThoughtsWhereOnlyTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	c := config(dataset.WekaTrace, "testdata/good/weka_trace.json")
	c.ThinkTimeOnly = true
	var got []time.Duration
	for _, row := range everything(t, c)[0].Rows {
		got = append(got, row.Delay)
	}
	want := []time.Duration{0, 250 * ms, 0, 0, 2 * time.Second} // a pause that was not recorded is the time without a request
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLimitsReachAgents(t *testing.T) {
	t.Parallel()
	c := config(dataset.WekaTrace, "testdata/good/weka_trace.json")
	c.DelayCap, c.MaxOutputTokens = 800*ms, 3
	got := everything(t, c)[0].Rows[0]
	if r := got.Agents[0].Rows[0]; r.Delay != 800*ms || r.OutputTokens != 5 || got.OutputTokens != 3 {
		t.Errorf("the pause before an agent is %v, it answers %d tokens and its parent %d, want 800ms, 5 and 3", r.Delay, r.OutputTokens, got.OutputTokens)
	}
	c = config(dataset.WekaTrace, written(t, "w.json", `{"id":"x","block_size":16,"hash_id_scope":"local","requests":[
		{"t":0,"type":"n","in":10,"out":1},{"t":1,"type":"subagent","agent_id":"a","requests":[{"t":2,"type":"n","in":100,"out":1}]}]}`))
	c.MaxContextTokens = 100
	if summary, _ := dataset.Check(c, 1); summary.Conversations != 0 {
		t.Error("a conversation is asked whose agent needs a longer context than allowed")
	}
	c.MaxContextTokens = 101
	if summary, errs := dataset.Check(c, 1); summary.Conversations != 1 {
		t.Error("a conversation is not asked whose agent needs the context that is allowed", errs)
	}
}

func TestReplayGivesTheRowsOfAgentsByThemselves(t *testing.T) {
	t.Parallel()
	r, err := open(t, config(dataset.WekaTrace, "testdata/good/weka_trace.json")).Recording()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 8 {
		row, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintln(row.At, row.Session, row.Joins, len(row.Agents)))
	}
	want := []string{
		"0s w1 [] 0\n", "1.75s w1/a [] 0\n", "2s w1/b [] 0\n", "2.5s w1/c [] 0\n", "3.5s w1/a [] 0\n", "4.5s w1 [w1/a] 0\n", "6s w1 [w1/b] 0\n", "6.5s w1 [] 0\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplayTellsWhichRowOfWhichSessionARowIs(t *testing.T) {
	t.Parallel()
	r, err := open(t, config(dataset.WekaTrace, "testdata/good/weka_trace.json")).Recording()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // passes
		var got []string
		for {
			row, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(row.Session, " of ", row.Parent, " ", row.Index))
		}
		want := []string{"w1 of  0", "w1/a of w1 0", "w1/b of w1 0", "w1/c of w1 0", "w1/a of w1 1", "w1 of  1", "w1 of  2", "w1 of  3", "w1 of  4"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestWhoDrawsASessionMayChangeItsAgents(t *testing.T) {
	t.Parallel()
	c := config(dataset.TraceLab, "testdata/good/tracelab.jsonl")
	c.Sampling = dataset.Random
	d := open(t, c)
	for range 30 {
		session, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		if session.Session != "claude:p" {
			continue
		}
		agents := session.Rows[0].Agents
		if len(agents) != 1 || len(agents[0].Rows) != 1 || agents[0].Rows[0].InputTokens != 128 {
			t.Fatalf("the agents are %+v", agents)
		}
		agents[0].Rows[0] = dataset.Row{}
		agents[0] = dataset.Conversation{}
		session.Rows[0] = dataset.Row{}
	}
}

func TestTracesOfAFolderAreReplayedOneBehindTheOther(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, trace := range map[string]string{
		"a.json": `{"id":"a","block_size":16,"hash_id_scope":"local","requests":[{"t":1,"type":"n","in":10,"out":1,"api_time":2},
			{"t":2,"type":"subagent","agent_id":"s","duration_ms":8000,"requests":[{"t":4,"type":"n","in":10,"out":1}]}]}`,
		"b.json": `{"id":"b","block_size":16,"hash_id_scope":"local","requests":[{"t":1,"type":"n","in":10,"out":1}]}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(trace), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := open(t, config(dataset.WekaTrace, folder)).Recording()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var got []string
		for range 3 {
			row, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, row.Session+" "+row.At.String())
		}
		if diff := cmp.Diff([]string{"a 0s", "a/s 3s", "b 10s"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last row stands %v", err)
		}
	}
}

func TestTracesOfAFolderDoNotShareANameOfASession(t *testing.T) {
	t.Parallel()
	trace := `{"id":%q,"block_size":16,"hash_id_scope":"local","requests":[{"t":0,"type":"n","in":10,"out":1}]}`
	folder := t.TempDir()
	for name, id := range map[string]string{"a.json": "one", "b.json": "two", "c.json": "one"} {
		if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, trace, id), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	summary, errs := dataset.Check(config(dataset.WekaTrace, folder), 10)
	if summary.Conversations != 2 || len(errs) != 1 || !strings.Contains(errs[0].Error(), `c.json:1: id "one" stands twice`) {
		t.Errorf("got %d conversations and %v, want two and an error about the second that is called one", summary.Conversations, errs)
	}
}

func TestMistakesInTracesOfAgentsAreNamed(t *testing.T) {
	t.Parallel()
	request := func(request string) string {
		return `{"id":"x","block_size":16,"hash_id_scope":"local","requests":[` + request + `]}`
	}
	agent := func(agent string) string {
		return request(`{"t":0,"type":"n","in":10,"out":1},{"t":1,"type":"subagent",` + agent + `}`)
	}
	for _, test := range []struct{ name, trace, want string }{
		{"no id", `{"block_size":16,"hash_id_scope":"local","requests":[]}`, "id: is missing"},
		{"no block size", `{"id":"x","hash_id_scope":"local","requests":[]}`, "block_size: must be between 1 and 65536, got 0"},
		{"hash ids of all files", `{"id":"x","block_size":16,"hash_id_scope":"global","requests":[]}`, `hash_id_scope: must be local, got "global"`},
		{"an unknown key", `{"id":"x","extra":1}`, "extra: is not known"},
		{"a call without a time", request(`{"type":"n","in":1,"out":1}`), "requests[0]: t: is missing"},
		{"a call without a length", request(`{"t":0,"type":"n","out":1}`), "requests[0]: in: is missing"},
		{"a call of endless length", request(`{"t":0,"type":"n","in":10000001,"out":1}`), "requests[0].in: must be at most 10000000 tokens, got 10000001"},
		{"a call of no type", request(`{"t":0,"in":1,"out":1}`), `requests[0]: type: must be n, s or subagent (in a trace), got ""`},
		{"a call at no time", request(`{"t":-1,"type":"n","in":1,"out":1}`), "requests[0].t: must be a number >= 0, got -1"},
		{"a first token without a stream", request(`{"t":0,"type":"n","in":1,"out":1,"ttft":1}`), "requests[0].ttft: only streamed calls have it"},
		{"a call with an unknown key", request(`{"t":0,"type":"n","in":1,"out":1,"x":1}`), "requests[0].x: is not known"},
		{"more blocks than the prompt has", request(`{"t":0,"type":"n","in":16,"out":1,"hash_ids":[1,2]}`), "2 blocks of 16 tokens are more than"},
		{"an agent without a name", agent(`"requests":[]`), "requests[1]: agent_id: is missing"},
		{"an agent in an agent", agent(`"agent_id":"a","requests":[{"t":0,"type":"subagent"}]`), "requests[1].requests[0]: type: must be n, s or subagent"},
		{"an agent with an unknown key", agent(`"agent_id":"a","x":1`), "requests[1].x: is not known"},
		{"two agents of one name", request(`{"t":0,"type":"n","in":1,"out":1},{"t":1,"type":"subagent","agent_id":"a","requests":[{"t":1,"type":"n","in":1,"out":1}]},
			{"t":1,"type":"subagent","agent_id":"a","requests":[{"t":1,"type":"n","in":1,"out":1}]}`), `agent_id "a" stands twice`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config(dataset.WekaTrace, written(t, "w.json", test.trace))
			_, errs := dataset.Check(c, 1)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), c.File+":1: ") || !strings.Contains(errs[0].Error(), test.want) {
				t.Errorf("got %v, want %q", errs, test.want)
			}
		})
	}
}

// minted is what the ids of a session have in common from row to row: for each row how many it keeps and how many are new.
func minted(rows []told) [][2]int {
	var out [][2]int
	seen := map[uint64]bool{}
	for i := range rows {
		kept := 0
		for _, id := range rows[i].HashIDs {
			if seen[id] {
				kept++
			}
			seen[id] = true
		}
		out = append(out, [2]int{kept, len(rows[i].HashIDs) - kept})
	}
	return out
}

func TestBlocksAndSubAgentsOfCodingAgentsAreInferred(t *testing.T) {
	t.Parallel()
	c := config(dataset.TraceLab, "testdata/good/tracelab.jsonl")
	got := everything(t, c)
	if len(got) != 3 {
		t.Fatalf("got %d sessions, want 3: the others are sub-agents", len(got))
	}
	if blocks, want := minted(got[0].Rows), [][2]int{{0, 14}, {14, 1}, {4, 13}}; !cmp.Equal(blocks, want) {
		t.Errorf("kept and new blocks are %v, want %v", blocks, want)
	}
	parent := []told{
		made("claude:p", since(0), 900, 10), made("claude:p", since(24), 1000, 7), made("claude:p", since(35), 1100, 1),
	}
	child := made("claude:c", since(4), 128, 6)
	child.Delay = time.Second // the round that began it ended at 3 s
	parent[0].Agents = []talk{{Session: "claude:c", Rows: []told{child}}}
	parent[1].Delay, parent[1].Splits, parent[1].Joins = 21*time.Second, []int{14}, []string{"claude:c"}
	parent[2].Delay, parent[2].Splits = 5*time.Second, []int{4}
	root := made("codex:q", since(120), 70, 3)
	agent := made("codex:r", since(123), 10, 3)
	agent.Delay = 2 * time.Second
	root.Agents = []talk{{Session: "codex:r", Rows: []told{agent}}}
	want := []talk{
		{Session: "claude:p", Rows: parent},
		{Session: "claude:other", Rows: []told{made("claude:other", since(5), 64, 4)}},
		{Session: "codex:q", Rows: []told{root}},
	}
	idless := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".HashIDs" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, placeless(), idless); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0].Rows[2].Line != 4 || got[0].Rows[0].Agents[0].Rows[0].Line != 2 {
		t.Errorf("rows stand in lines %d and %d, want 4 and 2", got[0].Rows[2].Line, got[0].Rows[0].Agents[0].Rows[0].Line)
	}
	summary, _ := dataset.Check(c, 1)
	if summary.Filtered != 1 {
		t.Errorf("%d rows were left out, want the one that was asked at no time", summary.Filtered)
	}
	c.BlockSize = 100
	if ids := everything(t, c)[0].Rows[0].HashIDs; len(ids) != 9 {
		t.Errorf("900 tokens are %d blocks of 100", len(ids))
	}
}

func TestSessionIsTheAgentOfTheTightestCallThatHoldsIt(t *testing.T) {
	t.Parallel()
	round := func(session, user, from, until string, tools string) string {
		return fmt.Sprintf(`{"session_id":%q,"user":%q,"project":"x","input_tokens_total":9,"output_tokens":1,"tools":[%s],"timing_events":[`+
			`{"event_type":"user_message","timestamp":"2026-01-01T00:%sZ"},{"event_type":"text","timestamp":"2026-01-01T00:%sZ"}]}`+"\n",
			session, user, tools, from, until)
	}
	call := func(name, from, until string) string {
		return fmt.Sprintf(`{"tool_name":%q,"emitted_at":"2026-01-01T00:%sZ","result_at":"2026-01-01T00:%sZ"}`, name, from, until)
	}
	wide, tight := round("wide", "u", "00:00", "00:01", call("Task", "00:01", "10:00")), round("tight", "u", "00:02", "00:03", call("Agent", "00:03", "05:00"))
	for _, test := range []struct {
		name, file string
		want       map[string]string // agents and their parents
	}{
		{"the tightest of two", round("c", "u", "01:00", "02:00", "") + wide + round("tight", "u", "00:02", "00:03", call("Agent", "00:03", "05:00")) +
			round("tight", "u", "12:00", "12:01", ""), map[string]string{"c": "tight"}},
		{"an agent's agent is on its own", wide + tight + round("c", "u", "01:00", "02:00", ""), map[string]string{"tight": "wide"}},
		{"another user", wide + round("c", "v", "01:00", "02:00", ""), nil},
		{"not wholly within", wide + round("c", "u", "09:00", "10:01", ""), nil},
		{"a call that was too short", round("p", "u", "00:00", "00:01", call("Task", "00:01", "00:10.9")) + round("c", "u", "00:02", "00:03", ""), nil},
		{"a call of another tool", round("p", "u", "00:00", "00:01", call("Read", "00:01", "10:00")) + round("c", "u", "00:02", "00:03", ""), nil},
		{"a call before the first round", round("p", "u", "05:00", "05:01", call("Task", "00:01", "10:00")) + round("c", "u", "00:02", "00:03", ""), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got map[string]string
			for _, c := range everything(t, config(dataset.TraceLab, written(t, "t.jsonl", test.file))) {
				for _, row := range c.Rows {
					for _, agent := range row.Agents {
						if got == nil {
							got = map[string]string{}
						}
						got[agent.Session] = c.Session
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompressedTraceOfCodingAgentsIsReadAgainAndAgain(t *testing.T) {
	t.Parallel()
	plain := everything(t, config(dataset.TraceLab, "testdata/good/tracelab.jsonl"))
	packed := everything(t, config(dataset.TraceLab, written(t, "t.jsonl.gz", zipped(t, string(file(t, "good/tracelab.jsonl"))))))
	if diff := cmp.Diff(plain, packed, placeless()); diff != "" {
		t.Errorf("(-plain +compressed):\n%s", diff)
	}
}
