package load_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// joining makes a turn wait for agents.
func joining(turn load.Recorded, agents ...uint64) load.Recorded {
	turn.Joins = agents
	return turn
}

// agentOf makes a turn one of a sub-agent.
func agentOf(parent uint64, turn load.Recorded) load.Recorded {
	turn.Parent = parent
	return turn
}

// lasts takes so many milliseconds for each entry, in their order.
func lasts(ms ...int64) func(load.Arrival) time.Duration {
	return func(a load.Arrival) time.Duration { return time.Duration(ms[a.Entry-1]) * time.Millisecond }
}

func TestReplayedTurnsWaitForTheAgentsThatTheyJoin(t *testing.T) {
	t.Parallel()
	const parent, a, b = 1, 2, 3
	turns := func() *recording {
		return recorded(
			timed(parent, 0), agentOf(parent, timed(a, 100)), agentOf(parent, timed(b, 150)), agentOf(parent, timed(a, 200)),
			joining(timed(parent, 500), a, b), agentOf(parent, timed(a, 600)), timed(parent, 700),
		)
	}
	for name, test := range map[string]struct {
		turns *recording
		takes []int64
		want  []asked
	}{
		"agents that are quick delay nothing": {
			turns(),
			[]int64{10, 10, 10, 10, 10, 10, 10},
			[]asked{{1, 1, 0, 0}, {2, 2, 100, 100}, {3, 3, 150, 150}, {4, 2, 200, 200}, {5, 1, 500, 500}, {6, 2, 600, 600}, {7, 1, 700, 700}},
		},
		"a slow agent delays its parent, but not the other agent": {
			turns(),
			[]int64{10, 150, 20, 300, 10, 10, 10}, // the second turn of a begins at 250 and ends at 550
			[]asked{{1, 1, 0, 0}, {2, 2, 100, 100}, {3, 3, 150, 150}, {4, 2, 200, 250}, {5, 1, 500, 550}, {6, 2, 600, 600}, {7, 1, 700, 700}},
		},
		"the slowest decides, and what the agent says later does not count": {
			turns(),
			[]int64{10, 10, 900, 500, 10, 900, 10}, // a has ended at 700 and b at 1050, the third turn of a runs until 1600
			[]asked{{1, 1, 0, 0}, {2, 2, 100, 100}, {3, 3, 150, 150}, {4, 2, 200, 200}, {6, 2, 600, 700}, {5, 1, 500, 1050}, {7, 1, 700, 1060}},
		},
		"the parent's own answer comes last": {
			turns(),
			[]int64{800, 10, 10, 10, 10, 10, 10},
			[]asked{{1, 1, 0, 0}, {2, 2, 100, 100}, {3, 3, 150, 150}, {4, 2, 200, 200}, {6, 2, 600, 600}, {5, 1, 500, 800}, {7, 1, 700, 810}},
		},
		"an agent that is not there has ended": {
			recorded(timed(parent, 0), joining(timed(parent, 100), b, parent)),
			[]int64{10, 10},
			[]asked{{1, 1, 0, 0}, {2, 1, 100, 100}},
		},
		"a turn without a time comes after its pause and its agents": {
			recorded(timed(parent, 0), agentOf(parent, timed(a, 50)), joining(later(parent, 200), a)),
			[]int64{10, 300, 10},
			[]asked{{1, 1, 0, 0}, {2, 2, 50, 50}, {3, 1, 210, 350}},
		},
		"two that join each other do not wait for ever": {
			recorded(timed(a, 0), joining(timed(b, 10), a), joining(timed(a, 20), b), joining(timed(b, 30), a)),
			[]int64{100, 100, 100, 100},
			[]asked{{1, 1, 0, 0}, {2, 2, 10, 100}, {3, 1, 20, 200}, {4, 2, 30, 300}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(load.NewSchedule(replay(t, once), &load.Origin{}, test.turns), 100, lasts(test.takes...))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAJoinEndsWithAnAgentThatIsDropped(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(replay(t, once), &load.Origin{}, recorded(
		timed(1, 0), agentOf(1, timed(2, 0)), agentOf(1, timed(2, 10)), joining(timed(1, 20), 2),
	))
	p, a := s.Pop(), s.Pop()
	s.Ended(p, 1e6, 2e6)
	if _, ok := s.Peek(); ok {
		t.Error("a turn is due though its agent runs")
	}
	s.Ended(a, 0, 0) // it was dropped
	a = s.Pop()
	if _, ok := s.Peek(); a.Entry != 3 || ok {
		t.Errorf("entry %d, and one more is due: %v", a.Entry, ok)
	}
	s.Ended(a, 0, 0)
	if got := s.Pop(); got.Entry != 4 {
		t.Errorf("entry %d comes last, want 4", got.Entry)
	}
}

func TestAPauseEndsWhatWaitsForAgents(t *testing.T) {
	t.Parallel()
	turns := recorded(timed(1, 0), agentOf(1, timed(2, 0)), joining(timed(1, 20), 2), timed(1, 30), timed(1, 5000), timed(1, 5100), alone(6000))
	s := load.NewSchedule(replay(t, once), &load.Origin{}, turns)
	p, a := s.Pop(), s.Pop()
	s.Ended(p, 1e6, 2e6)
	_, _ = s.Peek() // the turn that joins is read, and waits
	s.Skip(1000e6)
	if diff := cmp.Diff([]uint64{3, 4}, turns.forgotten); diff != "" {
		t.Errorf("forgotten (-want +got):\n%s", diff)
	}
	next := s.Pop()
	s.Ended(a, 1e6, 5500e6)
	if last := s.Pop(); next.Entry != 5 || next.Ready != 5000e6 || last.Entry != 7 {
		t.Errorf("entry %d at %d, then entry %d while that runs", next.Entry, next.Ready, last.Entry)
	}
	s.Ended(next, 5000e6, 7000e6)
	if last := s.Pop(); last.Entry != 6 || last.Ready != 7000e6 {
		t.Errorf("entry %d at %d comes last", last.Entry, last.Ready)
	}
}

func TestAShardHasAgentsWithTheirParents(t *testing.T) {
	t.Parallel()
	var turns []load.Recorded
	for parent := uint64(1); parent <= 400; parent += 4 {
		at := int64(parent)
		turns = append(turns, timed(parent, at), agentOf(parent, timed(parent+1, at)), agentOf(parent, timed(parent+2, at)), joining(timed(parent, at+1), parent+1, parent+2))
	}
	family := func(a asked) uint64 { return (a.Entry - 1) / 4 }
	owners := map[uint64]int{}
	total := 0
	for i := range 3 {
		part := play(load.NewSchedule(replay(t, once), &load.Origin{Shard: load.Shard{Index: i, Count: 3}}, recorded(turns...)), 1000, quick)
		total += len(part)
		for _, a := range part {
			if owner, ok := owners[family(a)]; ok && owner != i {
				t.Fatalf("a family is of shards %d and %d", owner, i)
			}
			owners[family(a)] = i
		}
		if len(part) == 0 {
			t.Errorf("shard %d has nothing", i)
		}
	}
	if total != len(turns) {
		t.Errorf("%d turns, want each of %d once", total, len(turns))
	}
}

// TestWhateverJoinsEachTurnComesOnce: joins in every direction, answers of all lengths, and turns that are dropped.
func TestWhateverJoinsEachTurnComesOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var turns []load.Recorded
		for at := range int64(120) {
			turn := timed(1+random.Uint64N(8), at*10)
			for range random.IntN(3) {
				turn.Joins = append(turn.Joins, 1+random.Uint64N(8))
			}
			turns = append(turns, turn)
		}
		takes := make([]int64, len(turns))
		for i := range takes {
			takes[i] = random.Int64N(200)
		}
		got := play(load.NewSchedule(replay(t, once), &load.Origin{}, recorded(turns...)), 1000, lasts(takes...))
		ended := map[uint64]int64{} // by entry
		var entries []uint64
		for _, a := range got {
			entries = append(entries, a.Entry)
			ended[a.Entry] = a.Ready + takes[a.Entry-1]
		}
		slices.Sort(entries)
		if len(slices.Compact(entries)) != len(turns) || len(got) != len(turns) {
			t.Fatalf("seed %d: %d turns came, want each of %d once", seed, len(got), len(turns))
		}
		if wrong := tooEarly(got, turns, ended); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}

// tooEarly tells of a turn that was ready before its time, or before all turns in front of it of its session and those that it joins had
// ended.
func tooEarly(got []asked, turns []load.Recorded, ended map[uint64]int64) string {
	for _, a := range got {
		turn := &turns[a.Entry-1]
		least := turn.At / 1e6
		for _, before := range turns[:a.Entry-1] {
			if before.Session == turn.Session || slices.Contains(turn.Joins, before.Session) {
				least = max(least, ended[before.Key])
			}
		}
		if a.Ready < least {
			return fmt.Sprintf("turn %d is ready at %d, want at least %d", a.Entry, a.Ready, least)
		}
	}
	return ""
}
