package load_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func users(t *testing.T, count int, rateHz float64) *load.Config {
	t.Helper()
	return valid(t, func(c *load.Config) { c.Mode, c.Users, c.Rate = load.Users, count, rateHz })
}

func TestUsersStartInTheOrderOfTheirAges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		users       int
		turns       float64
		order       []uint64
		left        []int // of the same users, 0 = all
		firstRounds int
	}{
		"five users with three turns":                     {5, 3, []uint64{6, 4, 2, 5, 3}, []int{0, 2, 1, 2, 1}, 1},
		"users without sessions":                          {3, 0, []uint64{4, 2, 3}, []int{0, 1, 1}, 1},
		"a common divisor: dealt by threes":               {4, 3, []uint64{5, 4, 3, 2}, []int{0, 2, 1, 1}, 1},
		"a single user":                                   {1, 9, []uint64{2}, []int{0}, 1},
		"long sessions":                                   {4, 10, []uint64{5, 2, 3, 4}, []int{0, 3, 5, 7}, 1},
		"a mean is rounded":                               {5, 3.4, []uint64{6, 4, 2, 5, 3}, []int{0, 2, 1, 2, 1}, 1},
		"the order stays the same in each round they ask": {5, 3, []uint64{6, 4, 2, 5, 3}, []int{0, 2, 1, 2, 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load.NewSchedule(users(t, test.users, 5), &load.Origin{Turns: test.turns}, nil)
			for round := range test.firstRounds {
				for place, number := range test.order {
					instant := int64(round*test.users+place) * second / 5
					want := load.Arrival{Sched: instant, Ready: instant, User: number}
					got := s.Pop()
					s.Ended(got, instant, instant+1)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("round %d, place %d (-want +got):\n%s", round, place, diff)
					}
				}
			}
			var left []int
			for _, number := range test.order {
				left = append(left, load.TurnsLeft(test.users, test.turns, number))
			}
			if diff := cmp.Diff(test.left, left); diff != "" {
				t.Errorf("turns left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUsersAreOfAllAges: as many have one turn left as have two, and so on, and the order asks each once.
func TestUsersAreOfAllAges(t *testing.T) {
	t.Parallel()
	for _, count := range []int{7, 60, 100, 997} {
		for turns := 2; turns < 13; turns++ {
			s := load.NewSchedule(users(t, count, 100), &load.Origin{Turns: float64(turns)}, nil)
			asked := map[uint64]bool{}
			byTurnsLeft := map[int]int{}
			for range count {
				number := s.Pop().User
				asked[number] = true
				byTurnsLeft[load.TurnsLeft(count, float64(turns), number)]++
			}
			if len(asked) != count || byTurnsLeft[0] != 1 {
				t.Errorf("%d users, %d turns: %d different users, %d new ones", count, turns, len(asked), byTurnsLeft[0])
			}
			for left := 1; left < turns; left++ {
				if want := float64(count) / float64(turns-1); math.Abs(float64(byTurnsLeft[left])-want) > 1 {
					t.Errorf("%d users, %d turns: %d have %d left, want %v", count, turns, byTurnsLeft[left], left, want)
				}
			}
		}
	}
}

func TestAUserWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(users(t, 2, 2), &load.Origin{Anchor: 5}, nil) // users 3 and 2 in turn, each once a second
	pop := func(want load.Arrival) load.Arrival {
		t.Helper()
		at, ok := s.Peek()
		got := s.Pop()
		if diff := cmp.Diff(want, got); diff != "" || !ok || at != want.Ready {
			t.Fatalf("Peek %d, %v; Pop (-want +got):\n%s", at, ok, diff)
		}
		return got
	}
	arrival := func(user uint64, sched, ready float64) load.Arrival {
		return load.Arrival{Sched: 5 + int64(math.Round(sched*1e9)), Ready: 5 + int64(math.Round(ready*1e9)), User: user}
	}
	slow := pop(arrival(3, 0, 0))
	quick := pop(arrival(2, 0.5, 0.5))
	s.Ended(quick, quick.Ready, 5+6e8)
	quick = pop(arrival(2, 1.5, 1.5)) // the other user waits since 1 s, this one does not care
	overlap := arrival(3, 2, 2)
	overlap.Overlap = true
	pop(overlap)
	s.Ended(overlap, 0, 0) // it never ran, so that nothing has ended
	s.Ended(slow, slow.Ready, 5+2.2e9)
	slow = pop(arrival(3, 1, 2.2))
	s.Ended(quick, 0, 0) // dropped
	quick = pop(arrival(2, 2.5, 2.5))
	s.Ended(slow, slow.Ready, 5+2.6e9) // in time for the next
	slow = pop(arrival(3, 3, 3))
	s.Ended(quick, quick.Ready, 5+4e9)
	pop(arrival(2, 3.5, 4)) // waits, though the answer came before the schedule was asked
	if _, ok := s.Peek(); !ok {
		t.Error("the overlaps of users who wait are arrivals too")
	}
	s.Ended(slow, slow.Ready, 5+4.1e9)
	pop(arrival(3, 4, 4.1))
}

func TestUsersWhoWaitedAreNotLate(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(users(t, 2, 2), &load.Origin{}, nil)
	first, second2 := s.Pop(), s.Pop()
	s.Ended(second2, second2.Ready, second2.Ready+1)
	if at, _ := s.Peek(); at != 1.5e9 { // that of 1 s waits
		t.Fatalf("next arrival at %d", at)
	}
	s.Ended(first, 0, 5e9)
	// Missed: those of 1.5 s to 9.5 s of one user, and of 2 s to 10 s of the other.
	if late := s.SkipLate(10e9 + 1); late != 9+9 {
		t.Errorf("%d are late, want 18", late)
	}
	want := []load.Arrival{{Sched: 1e9, Ready: 5e9, User: 3}, {Sched: 10.5e9, Ready: 10.5e9, User: 2}}
	got := []load.Arrival{s.Pop(), s.Pop()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

func TestUsersBeginToWaitWhileTicksAreSkipped(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(users(t, 2, 2), &load.Origin{}, nil)
	idle, busy := s.Pop(), s.Pop()
	s.Ended(idle, 0, 1)
	// Missed: those of 1 s to 10 s of the idle user, and of 2.5 s to 9.5 s of the other, whose turn of 1.5 s waits.
	if late := s.SkipLate(10e9 + 1); late != 10+8 {
		t.Errorf("%d are late, want 18", late)
	}
	s.Ended(busy, 0.5e9, 10.2e9)
	want := []load.Arrival{{Sched: 1.5e9, Ready: 10.2e9, User: 2}, {Sched: 11e9, Ready: 11e9, User: 3}}
	got := []load.Arrival{s.Pop(), s.Pop()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

func TestAUserWhoWaitedComesBeforeTheTickOfTheSameInstant(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(users(t, 1, 1), &load.Origin{}, nil)
	s.Ended(s.Pop(), 0, 2e9)
	want := load.Arrival{Sched: 1e9, Ready: 2e9, User: 2}
	if diff := cmp.Diff(want, s.Pop()); diff != "" {
		t.Errorf("arrival (-want +got):\n%s", diff)
	}
}

func TestUsersForgetWhatWasDueInAPause(t *testing.T) {
	t.Parallel()
	s := load.NewSchedule(users(t, 2, 2), &load.Origin{}, nil)
	first := s.Pop()
	s.Pop()
	s.Peek()
	s.Skip(10e9)
	s.Ended(first, 0, 11e9)
	want := []load.Arrival{{Sched: 10e9, Ready: 11e9, User: 3}, {Sched: 11.5e9, Ready: 11.5e9, User: 2, Overlap: true}}
	got := []load.Arrival{s.Pop(), s.Pop()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

func TestUsersAskAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	c := users(t, 3, 1)
	c.Schedule = []load.WindowConfig{{From: "00:01", To: "00:02", Multiplier: 10}}
	s := load.NewSchedule(c, &load.Origin{}, nil)
	var counts [3]int
	numbers := map[uint64]int{}
	for at, ok := s.Peek(); ok && at < 180*second; at, ok = s.Peek() {
		a := s.Pop()
		s.Ended(a, a.Ready, a.Ready+1)
		counts[at/(60*second)]++
		numbers[a.User]++
	}
	if diff := cmp.Diff([3]int{60, 600, 60}, counts); diff != "" {
		t.Errorf("arrivals by minute (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[uint64]int{2: 240, 3: 240, 4: 240}, numbers); diff != "" {
		t.Errorf("arrivals by user (-want +got):\n%s", diff)
	}
}
