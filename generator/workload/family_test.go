package workload_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// family is a recorded agent whose first call begins the sub-agents a, of two calls, and b, of one. Its second call, which could be asked a
// quarter of a second after the first, waits for both.
const family = `{"id":"p","block_size":16,"hash_id_scope":"local","requests":[
	{"t":0,"type":"n","in":40,"out":4,"hash_ids":[1,2],"api_time":1},
	{"t":1.5,"type":"subagent","agent_id":"a","duration_ms":3000,"requests":[
		{"t":2,"type":"n","in":32,"out":4,"hash_ids":[1,7],"api_time":1},
		{"t":3.5,"type":"n","in":48,"out":4,"hash_ids":[1,7,8],"api_time":1}]},
	{"t":1.5,"type":"subagent","agent_id":"b","duration_ms":1000,"requests":[{"t":1.75,"type":"n","in":20,"out":4}]},
	{"t":5,"type":"n","in":48,"out":4,"hash_ids":[1,2,3],"api_time":1},
	{"t":7,"type":"n","in":64,"out":4,"hash_ids":[1,2,3,4]}]}`

// ofFamilies asks one family again and again.
func ofFamilies(tb testing.TB) *workload.Workload {
	tb.Helper()
	c := recordedConfig(tb, dataset.WekaTrace, "w.json", family)
	c.Dataset.DelayCap = 250 * time.Millisecond
	return newWorkload(tb, c, 1)
}

// at is an instant in milliseconds.
func at(ms int64) workload.Pick { return workload.Pick{Now: ms * 1e6} }

// kin tells which turn of a family a turn is, and of which.
type kin struct {
	roots  []string
	agents map[string]string
}

// name is such as p0, a1 or b0, with a number for families after the first: p0#1.
func (k *kin) name(turn *workload.Turn) string {
	if k.agents == nil {
		k.agents = map[string]string{}
	}
	root, who := turn.Parent, "p"
	switch {
	case root == "":
		root = turn.Session
	case k.agents[turn.Session] != "":
		who = k.agents[turn.Session]
	default:
		who = map[int]string{32: "a", 20: "b"}[turn.InputTokens]
		k.agents[turn.Session] = who
	}
	family := -1
	for i := range k.roots {
		if k.roots[i] == root {
			family = i
		}
	}
	if family < 0 {
		family = len(k.roots)
		k.roots = append(k.roots, root)
	}
	name := fmt.Sprint(who, turn.Index)
	if family > 0 {
		name += fmt.Sprint("#", family)
	}
	return name
}

func TestAgentsRunBesideTheirParentWhichWaitsForThem(t *testing.T) {
	t.Parallel()
	w := ofFamilies(t)
	var k kin
	ask := func(ms int64, want string) *workload.Turn {
		t.Helper()
		turn := pick(t, w, at(ms))
		if got := k.name(turn); got != want {
			t.Errorf("at %d ms %s is asked, want %s", ms, got, want)
		}
		return turn
	}
	p0 := ask(0, "p0")
	other := ask(10, "p0#1") // agents do not begin before the answer
	w.Done(p0, says(1000*1e6, "x"))
	ask(1249, "p0#2") // nor before the pause that was recorded
	a0, b0 := ask(1250, "a0"), ask(1250, "b0")
	ask(1400, "p0#3") // the parent's pause is over, but its agents run
	w.Done(b0, says(1500*1e6, "x"))
	ask(1600, "p0#4")
	w.Done(a0, says(1700*1e6, "x"))
	ask(1949, "p0#5")
	a1 := ask(1950, "a1")
	w.Done(other, says(1700*1e6, "x"))
	w.Done(a1, says(2000*1e6, "x"))
	ask(2000, "a0#1") // it was due at 1950
	ask(2000, "b0#1")
	p1 := ask(2000, "p1") // only since its agents have ended
	w.Done(p1, says(2100*1e6, "x"))
	p2 := ask(2350, "p2")
	w.Done(p2, says(2400*1e6, "x"))
	ask(5000, "p0#6")

	if p0.Session == a0.Session || a0.Session == b0.Session || a0.Parent != p0.Session || b0.Parent != p0.Session || p1.Parent != "" {
		t.Errorf("sessions %s, %s of %s and %s of %s", p0.Session, a0.Session, a0.Parent, b0.Session, b0.Parent)
	}
	if p1.Session != p0.Session || a1.Session != a0.Session || a1.Parent != p0.Session {
		t.Error("further turns are of other sessions")
	}
	if nonce.FindString(textOf(p0)) != nonce.FindString(whole(b0)) || !strings.HasPrefix(textOf(a0), textOf(p0)[:100]) {
		t.Errorf("the agents share nothing with their parent:\n%s\n%s\n%s", whole(p0), whole(a0), whole(b0))
	}
	if n := len(p2.Prompt.Messages); n != 3 || whole(p2)[:len(whole(p1))] != whole(p1) {
		t.Errorf("the third prompt of the parent is %d messages, and begins not as the second", n)
	}
	// The parent and its agent a have several turns and have completed. Of the others, six are parents and one is an agent.
	if diff := cmp.Diff(workload.Sessions{Active: 7, Completed: 2}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// TestTheWordsOfAgentsAreTheirOwn, and the same whichever answers come first.
func TestTheWordsOfAgentsAreTheirOwn(t *testing.T) {
	t.Parallel()
	file := `{"id":"p","block_size":16,"hash_id_scope":"local","requests":[{"t":0,"type":"n","in":60,"out":4},
		{"t":1,"type":"subagent","agent_id":"a","requests":[{"t":1,"type":"n","in":60,"out":4}]},
		{"t":1,"type":"subagent","agent_id":"b","requests":[{"t":1,"type":"n","in":60,"out":4}]}]}`
	texts := func(secondFirst bool) map[string]bool {
		w := newWorkload(t, recordedConfig(t, dataset.WekaTrace, "w.json", file), 1)
		roots := []*workload.Turn{pick(t, w, at(0)), pick(t, w, at(0))}
		out := map[string]bool{withoutNonce(roots[0]): true, withoutNonce(roots[1]): true}
		if secondFirst {
			roots[0], roots[1] = roots[1], roots[0]
		}
		for _, root := range roots {
			w.Done(root, says(0, "x"))
			for range 2 {
				out[withoutNonce(pick(t, w, at(2000)))] = true
			}
		}
		return out
	}
	got := texts(false)
	if len(got) != 6 {
		t.Errorf("%d texts of two parents and four agents", len(got))
	}
	if diff := cmp.Diff(got, texts(true)); diff != "" {
		t.Errorf("another order of answers makes other texts:\n%s", diff)
	}
}

func TestAFailedAgentEndsItselfAndNotItsParent(t *testing.T) {
	t.Parallel()
	w := ofFamilies(t)
	var k kin
	w.Done(pick(t, w, at(0)), says(0, "x"))
	a0, b0 := pick(t, w, at(250)), pick(t, w, at(250))
	w.Done(b0, says(300*1e6, "x"))
	w.Done(a0, workload.End{Now: 400 * 1e6})
	if got := k.name(pick(t, w, at(400))); got != "p1" {
		t.Errorf("behind the failure %s is asked, want p1", got)
	}
	if diff := cmp.Diff(workload.Sessions{Active: 1, Failed: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestAgentsOfAFailedParentGoOn(t *testing.T) {
	t.Parallel()
	w := ofFamilies(t)
	failed := pick(t, w, at(0))
	w.Done(failed, workload.End{Now: 1})
	var k kin
	if got := k.name(pick(t, w, at(5000))); got != "p0" {
		t.Errorf("%s is asked, though the turn that begins it has failed", got)
	}

	file := strings.Replace(family, `"duration_ms":3000`, `"duration_ms":90000`, 1) // nobody waits for a
	w = newWorkload(t, recordedConfig(t, dataset.WekaTrace, "w.json", file), 1)
	k = kin{}
	ask := func(ms int64, want string) *workload.Turn {
		t.Helper()
		turn := pick(t, w, at(ms))
		if got := k.name(turn); got != want {
			t.Errorf("at %d ms %s is asked, want %s", ms, got, want)
		}
		return turn
	}
	w.Done(ask(0, "p0"), says(1000*1e6, "x"))
	w.Done(ask(1750, "b0"), says(1800*1e6, "x"))
	a0 := ask(2000, "a0")
	p1 := ask(5000, "p1") // its own pause is over, and b has ended
	w.Done(p1, workload.End{Now: 5100 * 1e6})
	w.Done(a0, says(6000*1e6, "x"))
	w.Done(ask(6500, "a1"), says(7000*1e6, "x"))
	if diff := cmp.Diff(workload.Sessions{Completed: 1, Failed: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestATurnOfAFamilyThatWasNotSentIsAskedLater(t *testing.T) {
	t.Parallel()
	w := ofFamilies(t)
	var k kin
	var got []string
	for ms := int64(0); len(got) < 14; ms += 1000 {
		turn := pick(t, w, at(ms))
		got = append(got, k.name(turn))
		if end := says(ms*1e6, "x"); len(got)%2 == 1 {
			w.Done(turn, workload.End{Now: ms * 1e6, Unsent: true})
		} else {
			w.Done(turn, end)
		}
	}
	want := []string{"p0", "p0", "a0", "b0", "a0", "a0", "a1", "a1", "p1", "p1", "p2", "p2", "p0#1", "p0#1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAUserGoesOnWithAllOfAFamily(t *testing.T) {
	t.Parallel()
	w := ofFamilies(t)
	kins := map[uint64]*kin{1: {}, 2: {}}
	got := map[uint64][]string{}
	for round := range int64(8) {
		for user := uint64(1); user <= 2; user++ {
			turn := pick(t, w, workload.Pick{Now: round, User: user})
			got[user] = append(got[user], kins[user].name(turn))
			w.Done(turn, says(round, "x"))
		}
	}
	want := []string{"p0", "a0", "b0", "a1", "p1", "p2", "p0#1", "a0#1"}
	if diff := cmp.Diff(map[uint64][]string{1: want, 2: want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFamiliesThatWaitAreBounded: agents that nobody asks end, and with them the wait of their parents.
func TestFamiliesThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	c := recordedConfig(t, dataset.WekaTrace, "w.json", family)
	w := newWorkload(t, c, 1)
	const families = 5_100
	for range families {
		turn := pick(t, w, workload.Pick{Now: -1})
		w.Done(turn, says(0, "x"))
	}
	// Of 15 300 conversations 5 300 had to go: all of b, which are requests like any other, and some of a, whose parents go on.
	got := w.Sessions()
	if got.Active+int(got.Truncated) != 2*families || got.Truncated < 200 || got.Active > 10_000 {
		t.Errorf("sessions %+v of %d families", got, families)
	}
	var k kin
	turn := pick(t, w, at(60_000))
	if name := k.name(turn); name != "b0" && name != "a0" && name != "p1" {
		t.Errorf("%s is asked, want what has waited longest", name)
	}
}

func TestAReplayedAgentNamesItsParent(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, recordedConfig(t, dataset.WekaTrace, "w.json", family), 1)
	r := w.Recording()
	var k kin
	var got []string
	sessions := map[string]uint64{}
	for range 6 {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		turn := pick(t, w, workload.Pick{Entry: e.Key})
		name := k.name(turn)
		got = append(got, name)
		if before := sessions[name[:1]]; before != 0 && before != e.Session {
			t.Errorf("%s is of session %d, and of %d before", name, e.Session, before)
		}
		sessions[name[:1]] = e.Session
		parent, joins := uint64(0), []uint64(nil)
		switch name {
		case "a0", "a1", "b0":
			parent = sessions["p"]
		case "p1":
			joins = []uint64{sessions["a"], sessions["b"]}
		}
		if e.Parent != parent || !cmp.Equal(e.Joins, joins) {
			t.Errorf("%s has parent %d and joins %v, want %d and %v", name, e.Parent, e.Joins, parent, joins)
		}
	}
	if diff := cmp.Diff([]string{"p0", "b0", "a0", "a1", "p1", "p2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
