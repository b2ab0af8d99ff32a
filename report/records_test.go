package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordsTellThePlaceOfATurnInItsConversation(t *testing.T) {
	t.Parallel()
	type place struct {
		Session string `json:"x_correlation_id"`
		Turn    int    `json:"turn_index"`
		Depth   int    `json:"agent_depth"`
		Root    string `json:"root_correlation_id"`
	}
	c := NewCollector(nil)
	want := []place{{"p", 0, 0, "p"}, {"p", 7, 0, "p"}, {"a", 1, 1, "p"}}
	for i, p := range want {
		r := stream(int64(i)*1000, 100, 200)
		r.Session, r.TurnIndex = p.Session, p.Turn
		if p.Depth > 0 {
			r.ParentSession = p.Root
		}
		add(c, r)
	}
	var lines bytes.Buffer
	if err := c.Report(testMeta()).WriteRecords(&lines); err != nil {
		t.Fatal(err)
	}
	var got []place
	for decoder := json.NewDecoder(&lines); decoder.More(); {
		var line struct{ Metadata place }
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Metadata)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
