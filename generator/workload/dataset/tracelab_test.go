package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rounds are the lines of a session, each asked a minute after the one before it. The first calls a tool for so many minutes.
func rounds(session string, first, n, spawning int) []string {
	stamp := func(minute, second int) string {
		return fmt.Sprintf("2026-01-01T%02d:%02d:%02dZ", minute/60, minute%60, second)
	}
	var out []string
	for i := range n {
		tools := ""
		if i == 0 && spawning > 0 {
			tools = fmt.Sprintf(`{"tool_name":"Task","emitted_at":%q,"result_at":%q}`, stamp(first, 2), stamp(first+spawning, 0))
		}
		out = append(out, fmt.Sprintf(`{"session_id":%q,"user":"u","project":"x","round_index":%d,"input_tokens_total":64,"output_tokens":1,"tools":[%s],`+
			`"timing_events":[{"event_type":"user_message","timestamp":%q},{"event_type":"text","timestamp":%q}]}`,
			session, i, tools, stamp(first+i, 0), stamp(first+i, 1)))
	}
	return out
}

// outline is the sessions that are read, with their rows and agents.
func outline(t *testing.T, lines []string, ahead int64) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Format, c.File = TraceLab, path
	r, err := openTraceLab(c.settings())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.(*tracelab).rounds.ahead = ahead
	var out []string
	for {
		e, err := r.read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		one := fmt.Sprintf("%s: %d rows", e.session(), len(e.rows))
		for _, row := range e.rows {
			for _, agent := range row.Agents {
				one += fmt.Sprintf(", agent %s: %d rows", agent.Session, len(agent.Rows))
			}
		}
		out = append(out, one)
	}
}

func TestLookAheadFindsSessionsAndAgentsThatAreNotFurtherApart(t *testing.T) {
	t.Parallel()
	parent, child := rounds("p", 0, 4, 30), rounds("c", 1, 2, 0)
	filler := func(first, n int) (out []string) {
		for i := range n {
			out = append(out, rounds(fmt.Sprint("f", first+i), first+i, 1, 0)...)
		}
		return out
	}
	size := int64(len(parent[1]))
	var lines []string
	lines = append(lines, parent[0], child[0])
	lines = append(lines, filler(100, 6)...)
	lines = append(lines, child[1], parent[1])
	lines = append(lines, filler(200, 6)...)
	lines = append(lines, parent[2:]...)
	lines = append(lines, filler(300, 40)...)
	lines = append(lines, rounds("p", 400, 1, 0)...)

	count := func(all []string, prefix string) (out []string) {
		for _, one := range all {
			if strings.HasPrefix(one, prefix) {
				out = append(out, one)
			}
		}
		return out
	}
	whole := outline(t, lines, 1<<20)
	if diff := cmp.Diff([]string{"p: 5 rows, agent c: 2 rows"}, count(whole, "p")); diff != "" {
		t.Errorf("of the whole file (-want +got):\n%s", diff)
	}
	if len(whole) != 53 {
		t.Errorf("got %d sessions of the whole file, want 53", len(whole))
	}
	part := outline(t, lines, 20*size)
	if diff := cmp.Diff([]string{"p: 4 rows, agent c: 2 rows", "p: 1 rows"}, count(part, "p")); diff != "" {
		t.Errorf("of a part of the file at a time (-want +got):\n%s", diff)
	}
	if len(part) != 54 || len(count(part, "c")) != 0 {
		t.Errorf("got %d sessions of a part at a time, want 54", len(part))
	}
}
