package load_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// recording hands out turns over and over, and counts how many were read.
type recording struct {
	turns []load.Recorded
	next  int
	read  int
	err   error // after all turns, instead of the end

	forgotten []uint64
}

// Forget implements load.Recording.
func (r *recording) Forget(key uint64) { r.forgotten = append(r.forgotten, key) }

// Next implements load.Recording.
func (r *recording) Next() (load.Recorded, error) {
	if r.next == len(r.turns) {
		r.next = 0
		if r.err != nil {
			return load.Recorded{}, r.err
		}
		return load.Recorded{}, io.EOF
	}
	r.next++
	r.read++
	return r.turns[r.next-1], nil
}

// recorded numbers turns from 1 on.
func recorded(turns ...load.Recorded) *recording {
	for i := range turns {
		turns[i].Key = uint64(i) + 1
	}
	return &recording{turns: turns}
}

// alone is a turn without a session; like all of them here, in milliseconds.
func alone(at int64) load.Recorded { return load.Recorded{At: at * 1e6, HasAt: true} }

// timed is a turn of a session at its own time.
func timed(session uint64, at int64) load.Recorded {
	return load.Recorded{Session: session, At: at * 1e6, HasAt: true}
}

// later is a turn of a session that follows after a delay.
func later(session uint64, delay int64) load.Recorded {
	return load.Recorded{Session: session, Delay: delay * 1e6}
}

// asked is an arrival as a test writes it, in milliseconds.
type asked struct {
	Entry, User  uint64
	Sched, Ready int64
}

// play takes up to n arrivals, each of which is answered after takes; the answers come in the order of their ends.
func play(s *load.Schedule, n int, takes func(load.Arrival) time.Duration) []asked {
	type running struct {
		arrival load.Arrival
		ended   int64
	}
	var out []asked
	var inFlight []running
	for len(out) < n {
		at, ok := s.Peek()
		first := -1
		for i := range inFlight {
			if first < 0 || inFlight[i].ended < inFlight[first].ended {
				first = i
			}
		}
		if first >= 0 && (!ok || inFlight[first].ended <= at) {
			r := inFlight[first]
			inFlight = append(inFlight[:first], inFlight[first+1:]...)
			s.Ended(r.arrival, r.arrival.Ready, r.ended)
			continue
		}
		if !ok {
			return out
		}
		a := s.Pop()
		out = append(out, asked{a.Entry, a.User, a.Sched / 1e6, a.Ready / 1e6})
		inFlight = append(inFlight, running{a, a.Ready + int64(takes(a))})
	}
	return out
}

func quick(load.Arrival) time.Duration { return time.Millisecond }

func replay(t *testing.T, change func(*load.Config)) *load.Config {
	t.Helper()
	return valid(t, func(c *load.Config) {
		c.Mode = load.Replay
		change(c)
	})
}

func once(c *load.Config) {
	no := false
	c.Loop = &no
}

func TestReplayKeepsTheTimesOfTheRecording(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		turns  *recording
		change func(*load.Config)
		want   []asked
	}{
		"from its first turn on": {
			recorded(alone(3000), alone(3100), alone(3100), alone(5000)), once,
			[]asked{{1, 0, 0, 0}, {2, 0, 100, 100}, {3, 0, 100, 100}, {4, 0, 2000, 2000}},
		},
		"three times as fast": {
			recorded(alone(0), alone(300), alone(1000)),
			func(c *load.Config) { once(c); c.Speedup = 3 },
			[]asked{{1, 0, 0, 0}, {2, 0, 100, 100}, {3, 0, 333, 333}},
		},
		"idle times are cut after the speed-up": {
			recorded(alone(0), alone(3000), alone(3100), alone(9100)),
			func(c *load.Config) { once(c); c.Speedup, c.IdleCap = 2, time.Second },
			[]asked{{1, 0, 0, 0}, {2, 0, 1000, 1000}, {3, 0, 1050, 1050}, {4, 0, 2050, 2050}},
		},
		"offsets are inclusive, and the first is the zero": {
			recorded(alone(0), alone(999), alone(1000), alone(1500), alone(2000), alone(2001)),
			func(c *load.Config) { once(c); c.StartOffset, c.EndOffset = time.Second, 2*time.Second },
			[]asked{{3, 0, 0, 0}, {4, 0, 500, 500}, {5, 0, 1000, 1000}},
		},
		"an offset between two turns keeps its distance": {
			recorded(alone(0), alone(1700)),
			func(c *load.Config) { once(c); c.StartOffset = time.Second },
			[]asked{{2, 0, 700, 700}},
		},
		"over and over, with a pause": {
			recorded(alone(50), alone(150)),
			func(c *load.Config) { c.LoopGap = 400 * time.Millisecond },
			[]asked{{1, 0, 0, 0}, {2, 0, 100, 100}, {1, 0, 500, 500}, {2, 0, 600, 600}, {1, 0, 1000, 1000}},
		},
		"a pause of a second by itself": {
			recorded(alone(0)), func(*load.Config) {},
			[]asked{{1, 0, 0, 0}, {1, 0, 1000, 1000}, {1, 0, 2000, 2000}},
		},
		"times that go back stand still": {
			recorded(alone(0), alone(200), alone(100), alone(300)), once,
			[]asked{{1, 0, 0, 0}, {2, 0, 200, 200}, {3, 0, 200, 200}, {4, 0, 300, 300}},
		},
		"a turn of its own without a time comes with the one before": {
			recorded(alone(0), alone(100), load.Recorded{Delay: 7e6}, alone(105)), once,
			[]asked{{1, 0, 0, 0}, {2, 0, 100, 100}, {4, 0, 105, 105}, {3, 0, 107, 107}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := replay(t, test.change)
			s := load.NewSchedule(c, &load.Origin{}, test.turns)
			n := len(test.want)
			if c.Loop != nil {
				n++ // there must not be another one
			}
			if diff := cmp.Diff(test.want, play(s, n, quick)); diff != "" {
				t.Errorf("arrivals (-want +got):\n%s", diff)
			}
			if err := s.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReplayAsksTheTurnsOfASessionOneAfterTheOther(t *testing.T) {
	t.Parallel()
	answer := func(ms int64) func(load.Arrival) time.Duration {
		return func(load.Arrival) time.Duration { return time.Duration(ms) * time.Millisecond }
	}
	for name, test := range map[string]struct {
		turns  *recording
		change func(*load.Config)
		takes  func(load.Arrival) time.Duration
		want   []asked
	}{
		"a time that has come waits for the answer before": {
			recorded(timed(1, 0), timed(1, 100), timed(1, 1000)), once, answer(250),
			[]asked{{1, 1, 0, 0}, {2, 1, 100, 250}, {3, 1, 1000, 1000}},
		},
		"a turn without a time comes after its delay": {
			recorded(timed(1, 0), later(1, 40), later(1, 0), alone(10_000)), once, answer(250),
			[]asked{{1, 1, 0, 0}, {2, 1, 290, 290}, {3, 1, 540, 540}, {4, 0, 10_000, 10_000}},
		},
		"sessions do not wait for each other": {
			recorded(timed(7, 0), timed(8, 10), timed(7, 20), timed(8, 30), alone(40)), once, answer(100),
			[]asked{{1, 1, 0, 0}, {2, 2, 10, 10}, {5, 0, 40, 40}, {3, 1, 20, 100}, {4, 2, 30, 110}},
		},
		"a delay that ends before the turns that the file has first": {
			recorded(timed(1, 0), later(1, 5), timed(2, 3), timed(3, 100)), once, answer(1),
			[]asked{{1, 1, 0, 0}, {3, 2, 3, 3}, {2, 1, 6, 6}, {4, 3, 100, 100}},
		},
		"a turn that the file has after the delay of its session comes where it stands": {
			recorded(timed(1, 0), alone(100), later(1, 5), alone(200)), once, answer(1),
			[]asked{{1, 1, 0, 0}, {2, 0, 100, 100}, {3, 1, 100, 100}, {4, 0, 200, 200}},
		},
		"a session without any time begins where it stands": {
			recorded(alone(0), later(4, 0), later(4, 20), alone(500)), once, answer(10),
			[]asked{{1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 30, 30}, {4, 0, 500, 500}},
		},
		"each pass has sessions of its own, and they overlap": {
			recorded(timed(1, 0), timed(1, 100)), func(c *load.Config) { c.LoopGap = 100 * time.Millisecond }, answer(350),
			[]asked{{1, 1, 0, 0}, {1, 2, 200, 200}, {2, 1, 100, 350}, {1, 3, 400, 400}, {2, 2, 300, 550}},
		},
		"turns that follow one that is left out are too": {
			recorded(timed(1, 0), later(1, 5), timed(2, 1000), later(2, 5), timed(2, 3000), later(2, 5)),
			func(c *load.Config) { once(c); c.StartOffset, c.EndOffset = time.Second, 2*time.Second }, answer(10),
			[]asked{{3, 1, 0, 0}, {4, 1, 15, 15}},
		},
		"delays are shortened by the speed-up, and not cut as idle times are": {
			recorded(timed(1, 0), later(1, 5000), alone(60_000)),
			func(c *load.Config) { once(c); c.IdleCap, c.Speedup = time.Second, 2 }, answer(10),
			[]asked{{1, 1, 0, 0}, {3, 0, 1000, 1000}, {2, 1, 2510, 2510}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := replay(t, test.change)
			s := load.NewSchedule(c, &load.Origin{}, test.turns)
			n := len(test.want)
			if c.Loop != nil {
				n++ // there must not be another one
			}
			if diff := cmp.Diff(test.want, play(s, n, test.takes)); diff != "" {
				t.Errorf("arrivals (-want +got):\n%s", diff)
			}
			if err := s.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReplayEndsWithoutLoop(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(replay(t, once), &load.Origin{}, recorded(timed(1, 0), later(1, 5)))
	if got := play(s, 10, quick); len(got) != 2 {
		t.Errorf("%d arrivals, want 2", len(got))
	}
	if at, ok := s.Peek(); ok || s.Err() != nil || s.Passes() != 0 {
		t.Errorf("after the end: Peek %d, %v, Err %v, Passes %d", at, ok, s.Err(), s.Passes())
	}
	if hz, ok := s.Rate(0); ok {
		t.Errorf("a replay has the rate %v", hz)
	}
}

func TestReplayCountsPasses(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(replay(t, func(*load.Config) {}), &load.Origin{}, recorded(alone(0), alone(10)))
	play(s, 7, quick)
	if got := s.Passes(); got != 3 {
		t.Errorf("%d passes after the first, want 3", got)
	}
}

func TestReplayTellsWhatIsWrongWithARecording(t *testing.T) {
	t.Parallel()
	broken := errors.New("t.jsonl:3: no such thing")
	torn := recorded(alone(0), alone(10))
	torn.err = broken
	for name, test := range map[string]struct {
		turns    *recording
		change   func(*load.Config)
		arrivals int
		want     string
	}{
		"it breaks after what could be read": {torn, once, 2, "recording: t.jsonl:3: no such thing"},
		"it is empty":                        {recorded(), once, 0, "recording: no turn has a time, which mode replay needs"},
		"it has no times":                    {recorded(later(1, 0), later(1, 0)), func(*load.Config) {}, 2, "recording: no turn has a time, which mode replay needs"},
		"nothing lies between the offsets": {
			recorded(alone(0), alone(10)), func(c *load.Config) { c.StartOffset = time.Second }, 0,
			"recording: no turn lies between start_offset and end_offset",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load.NewSchedule(replay(t, test.change), &load.Origin{}, test.turns)
			if got := play(s, 10, quick); len(got) != test.arrivals {
				t.Errorf("%d arrivals, want %d", len(got), test.arrivals)
			}
			if err := s.Err(); err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
	s := load.NewSchedule(replay(t, once), &load.Origin{}, torn)
	play(s, 10, quick)
	if !errors.Is(s.Err(), broken) {
		t.Errorf("%v hides its cause", s.Err())
	}
}

// TestReplayForgetsWhatItLeavesOut: whoever keeps the turns of a recording until they are asked must not keep the others for ever.
func TestReplayForgetsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(*load.Config)
		shard     load.Shard
		forgotten []uint64
	}{
		"nothing":                        {once, load.Shard{}, nil},
		"what lies before and after":     {func(c *load.Config) { once(c); c.StartOffset, c.EndOffset = time.Second, 2*time.Second }, load.Shard{}, []uint64{1, 2, 6}},
		"what belongs to the other half": {once, load.Shard{Index: 0, Count: 2}, []uint64{1, 2}},
		"and to the one half":            {once, load.Shard{Index: 1, Count: 2}, []uint64{3, 4, 5, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recorded(timed(1, 0), later(1, 5), timed(2, 1000), later(2, 5), alone(2000), alone(3000))
			s := load.NewSchedule(replay(t, test.change), &load.Origin{Shard: test.shard}, r)
			arrivals := play(s, 10, quick)
			if diff := cmp.Diff(test.forgotten, r.forgotten); diff != "" || len(arrivals)+len(r.forgotten) != 6 {
				t.Errorf("%d arrivals, forgotten (-want +got):\n%s", len(arrivals), diff)
			}
		})
	}
}

// TestReplayReadsNoMoreThanItNeeds: a turn ahead, and beyond those that wait for an answer.
func TestReplayReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	var turns []load.Recorded
	for i := range int64(100_000) {
		turns = append(turns, alone(i))
	}
	r := recorded(turns...)
	s := load.NewSchedule(replay(t, once), &load.Origin{}, r)
	for n := 1; n <= 100; n++ {
		s.Peek()
		if s.Pop(); r.read > n+1 {
			t.Fatalf("%d turns read for %d arrivals", r.read, n)
		}
	}
	// A session of which nothing is answered holds its other turns, and not all others come to their turn any more.
	turns = turns[:0]
	for i := range int64(100_000) {
		turns = append(turns, timed(1, i))
	}
	r = recorded(turns...)
	s = load.NewSchedule(replay(t, once), &load.Origin{}, r)
	first := s.Pop()
	if at, ok := s.Peek(); ok || r.read > 10_001 {
		t.Fatalf("%d turns read, next arrival at %d, %v", r.read, at, ok)
	}
	s.Ended(first, 0, 20*second)
	want := []load.Arrival{{Sched: 1e6, Ready: 20 * second, User: 1, Entry: 2}}
	if diff := cmp.Diff(want, []load.Arrival{s.Pop()}); diff != "" {
		t.Errorf("after an answer (-want +got):\n%s", diff)
	}
}

func TestReplayForgetsIdleSessions(t *testing.T) {
	t.Parallel()
	var turns []load.Recorded
	for i := range int64(25_000) {
		turns = append(turns, timed(uint64(i)+1, i))
	}
	turns = append(turns, later(25_000, 7), later(1, 7)) // one that is remembered, one that is not: both can go on
	s := load.NewSchedule(replay(t, once), &load.Origin{}, recorded(turns...))
	got := play(s, len(turns), func(load.Arrival) time.Duration { return time.Millisecond / 2 })
	want := []asked{{25_002, 25_001, 25_006, 25_006}, {25_001, 25_000, 25_006, 25_006}}
	if diff := cmp.Diff(want, got[25_000:]); diff != "" {
		t.Errorf("the last turns (-want +got):\n%s", diff)
	}
}

func TestReplayDropsWhatIsLateButNotWhatWaited(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(replay(t, once), &load.Origin{}, recorded(
		timed(1, 0), timed(2, 0), timed(1, 500), timed(2, 600), later(2, 100), alone(700), alone(6000), alone(6001), alone(20_000)))
	first, other := s.Pop(), s.Pop()
	s.Ended(other, 0, 1e6)
	s.Peek()
	s.Ended(first, 0, 800e6) // the turn of 0.5 s has waited
	// Late are those of 0.6, 0.7, of 0.7 by the delay, 6 and 6.001 s.
	if late := s.SkipLate(7 * second); late != 5 {
		t.Errorf("%d are late, want 5", late)
	}
	want := []asked{{3, 1, 500, 800}, {9, 0, 20_000, 20_000}}
	if diff := cmp.Diff(want, play(s, 10, quick)); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

func TestReplayForgetsWhatWasDueInAPause(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(replay(t, once), &load.Origin{}, recorded(
		timed(1, 0), timed(1, 500), later(1, 10), timed(1, 2000), alone(2100), alone(3000)))
	first := s.Pop()
	s.Skip(2050e6)
	s.Ended(first, 0, 2060e6)
	want := []asked{{3, 1, 2070, 2070}, {5, 0, 2100, 2100}, {6, 0, 3000, 3000}}
	if diff := cmp.Diff(want, play(s, 10, quick)); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

// TestReplayLeapsOverLongPauses: a year of a recording of two seconds is not read.
func TestReplayLeapsOverLongPauses(t *testing.T) {
	t.Parallel()
	r := recorded(timed(1, 0), timed(1, 400), alone(1000))
	s := load.NewSchedule(replay(t, func(*load.Config) {}), &load.Origin{}, r)
	s.Ended(s.Pop(), 0, 1)
	const year = 365 * 24 * hour
	late := s.SkipLate(year + second/2)
	if want := 3*year/(2*second) + 1; late != want { // all of the passes before, but what was sent, and two of this one
		t.Errorf("%d are late, want %d", late, want)
	}
	if r.read > 20 {
		t.Errorf("%d turns were read", r.read)
	}
	if got := s.Pop(); got.Sched != year+second || s.Passes() != year/(2*second) {
		t.Errorf("then %+v in pass %d", got, s.Passes())
	}
}

func TestReplayDealsSessionsToShards(t *testing.T) {
	t.Parallel()
	var turns []load.Recorded
	for i := range int64(3000) {
		turn := timed(uint64(i%200)+1, i*10)
		if i%3 == 0 {
			turn = alone(i * 10)
		}
		turns = append(turns, turn)
	}
	c := replay(t, func(c *load.Config) { once(c); c.IdleCap = 5 * time.Millisecond })
	whole := play(load.NewSchedule(c, &load.Origin{}, recorded(turns...)), 10_000, quick)
	var parts []asked
	shardOf := map[uint64]int{}
	for i := range 4 {
		part := play(load.NewSchedule(c, &load.Origin{Shard: load.Shard{Index: i, Count: 4}}, recorded(turns...)), 10_000, quick)
		if len(part) < 600 || len(part) > 900 {
			t.Errorf("shard %d has %d of 3000 turns", i, len(part))
		}
		for _, a := range part {
			session := turns[a.Entry-1].Session
			if other, ok := shardOf[session]; ok && session != 0 && other != i {
				t.Errorf("session %d is dealt to the shards %d and %d", session, other, i)
			}
			shardOf[session] = i
		}
		parts = append(parts, part...)
	}
	byEntry := func(all []asked) map[uint64]int64 {
		out := map[uint64]int64{}
		for _, a := range all {
			out[a.Entry] = a.Ready
		}
		return out
	}
	if diff := cmp.Diff(byEntry(whole), byEntry(parts)); diff != "" || len(parts) != len(whole) {
		t.Errorf("%d turns of the shards, %d of the whole (-whole +shards):\n%s", len(parts), len(whole), diff)
	}
}

func TestAShardWithoutTurnsEnds(t *testing.T) {
	t.Parallel()
	ended := 0
	for i := range 2 {
		s := load.NewSchedule(replay(t, func(*load.Config) {}), &load.Origin{Shard: load.Shard{Index: i, Count: 2}}, recorded(alone(0)))
		if _, ok := s.Peek(); !ok && s.Err() == nil {
			ended++
		}
	}
	if ended != 1 {
		t.Errorf("%d of two shards have nothing of a single turn, want 1", ended)
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, sessions := range []uint64{0, 100} {
		b.Run(fmt.Sprint(sessions, " sessions"), func(b *testing.B) {
			b.ReportAllocs()
			var turns []load.Recorded
			for i := range int64(10_000) {
				turn := alone(i)
				if sessions > 0 {
					turn.Session = uint64(i)%sessions + 1
				}
				turns = append(turns, turn)
			}
			c := load.DefaultConfig()
			c.Mode = load.Replay
			s := load.NewSchedule(&c, &load.Origin{}, recorded(turns...))
			for b.Loop() {
				a := s.Pop()
				s.Ended(a, a.Ready, a.Ready+1)
			}
		})
	}
}
