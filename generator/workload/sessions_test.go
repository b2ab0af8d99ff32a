package workload_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// conversing is a workload of conversations of n turns.
func conversing(n float64) *workload.Config {
	c := workload.DefaultConfig()
	c.Turns = workload.Length{Mean: n}
	return &c
}

func pick(tb testing.TB, w *workload.Workload, p workload.Pick) *workload.Turn {
	tb.Helper()
	turn, err := w.Next(p)
	if err != nil {
		tb.Fatal(err)
	}
	return turn
}

// says is an end with this answer.
func says(now int64, text string) workload.End {
	return workload.End{Now: now, OK: true, Answer: &answer.Transcript{ID: "id of " + text, Text: []byte(text), Reasoning: []byte("let me think")}}
}

func TestFurtherTurnsRepeatWhatWasSaid(t *testing.T) {
	t.Parallel()
	c := conversing(3)
	c.SystemPrompt = "Be kind."
	w := newWorkload(t, c, 1)
	first := pick(t, w, workload.Pick{Now: 1})
	if !first.KeepAnswer || first.PreviousID != "" {
		t.Fatalf("the first turn keeps its answer: %v, follows %q", first.KeepAnswer, first.PreviousID)
	}
	system, asked := first.Prompt.System, textOf(first)
	first.Prompt = prompt.Prompt{} // as the generator does while it waits
	w.Done(first, says(2, "one"))

	second := pick(t, w, workload.Pick{Now: 3})
	want := prompt.Prompt{System: system, Messages: []prompt.Message{
		prompt.TextMessage(prompt.User, asked), prompt.TextMessage(prompt.Assistant, "one"), prompt.TextMessage(prompt.User, textOf(second)),
	}}
	if diff := cmp.Diff(want, second.Prompt); diff != "" {
		t.Errorf("second turn (-want +got):\n%s", diff)
	}
	if second.Session != first.Session || second.PreviousID != "id of one" || !second.KeepAnswer || second.PromptBytes != 0 {
		t.Errorf("session %s, follows %q, keeps %v, %d bytes to learn from", second.Session, second.PreviousID, second.KeepAnswer, second.PromptBytes)
	}
	if regexp.MustCompile("[0-9a-f]{16}").MatchString(textOf(second)) {
		t.Errorf("a nonce in the middle: %q", textOf(second))
	}
	if got := float64(len(textOf(second))); math.Abs(got-128/0.175) > 1 {
		t.Errorf("the second message has %v bytes", got)
	}
	w.Done(second, says(4, "")) // it only reasoned

	third := pick(t, w, workload.Pick{Now: 5})
	if third.KeepAnswer || len(third.Prompt.Messages) != 5 || third.Prompt.Messages[3].Texts()[0] != "..." {
		t.Errorf("third turn: keeps %v, messages %v", third.KeepAnswer, third.Prompt.Messages)
	}
	if diff := cmp.Diff(workload.Sessions{Active: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	w.Done(third, says(6, "three"))
	if diff := cmp.Diff(workload.Sessions{Completed: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if fourth := pick(t, w, workload.Pick{Now: 7}); fourth.Session == third.Session || len(fourth.Prompt.Messages) != 1 {
		t.Errorf("a fourth turn of a conversation of three")
	}
}

func TestTheOldestConversationThatIsDueGoesOnElseANewOneBegins(t *testing.T) {
	t.Parallel()
	c := conversing(5)
	c.TurnDelay = workload.Delay{Mean: 100}
	w := newWorkload(t, c, 1)
	a, b := pick(t, w, workload.Pick{Now: 1}), pick(t, w, workload.Pick{Now: 2})
	if a.Session == b.Session {
		t.Fatal("a conversation has two turns at once")
	}
	w.Done(b, says(10, "b"))
	w.Done(a, says(20, "a"))
	early := pick(t, w, workload.Pick{Now: 109})
	if early.Session == a.Session || early.Session == b.Session {
		t.Error("a turn before its think time was over")
	}
	if got := pick(t, w, workload.Pick{Now: 120}); got.Session != b.Session {
		t.Error("not the one that was due first")
	}
	if got := pick(t, w, workload.Pick{Now: 120}); got.Session != a.Session {
		t.Error("not the one that was due second")
	}
	if got := pick(t, w, workload.Pick{Now: 120}); got.Session == a.Session || got.Session == b.Session {
		t.Error("a conversation has two turns at once")
	}
}

func TestThinkTimesFollowTheirLaw(t *testing.T) {
	t.Parallel()
	c := conversing(2)
	c.TurnDelay = workload.Delay{Mean: time.Second, Stddev: 200 * time.Millisecond}
	w := newWorkload(t, c, 1)
	const n = 500
	for range n {
		turn := pick(t, w, workload.Pick{Now: -1})
		w.Done(turn, says(0, "x"))
	}
	// An arrival at each percent of the law: how many are due by then?
	due := func(at time.Duration) (goOn int) {
		for {
			turn := pick(t, w, workload.Pick{Now: int64(at)})
			w.Done(turn, workload.End{Now: math.MaxInt64 / 2})
			if len(turn.Prompt.Messages) == 1 {
				return goOn
			}
			goOn++
		}
	}
	total := 0
	for at, want := range map[time.Duration]float64{800 * time.Millisecond: 0.159} {
		total += due(at)
		if got := float64(total) / n; math.Abs(got-want) > 0.05 {
			t.Errorf("%v of the conversations are due after %v, want %v", got, at, want)
		}
	}
	total += due(1200 * time.Millisecond)
	if got := float64(total) / n; math.Abs(got-0.841) > 0.05 {
		t.Errorf("%v of the conversations are due after 1.2 s, want 0.841", got)
	}
}

func TestAFailedTurnEndsItsConversation(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, conversing(3), 1)
	first := pick(t, w, workload.Pick{Now: 1})
	w.Done(first, workload.End{Now: 2})
	w.Done(first, workload.End{Now: 2}) // the second time means nothing
	if got := pick(t, w, workload.Pick{Now: 3}); got.Session == first.Session {
		t.Error("it went on")
	}
	if diff := cmp.Diff(workload.Sessions{Active: 1, Failed: 1}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestATurnThatWasNotSentIsAskedLater(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, conversing(2), 1)
	first := pick(t, w, workload.Pick{Now: 1})
	asked := textOf(first)
	w.Done(first, workload.End{Now: 2, Unsent: true})
	again := pick(t, w, workload.Pick{Now: 3})
	if again.Session != first.Session || textOf(again) != asked || len(again.Prompt.Messages) != 1 {
		t.Errorf("session %s after %s, asks %q", again.Session, first.Session, textOf(again))
	}
	w.Done(again, says(4, "x"))
	if last := pick(t, w, workload.Pick{Now: 5}); last.Session != first.Session || last.KeepAnswer {
		t.Error("it was counted as a turn")
	}
}

func TestConversationsEndBeforeTheContextIsFull(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(turn *workload.Turn, now int64) workload.End{
		"by the server's count": func(turn *workload.Turn, now int64) workload.End {
			end := says(now, "x")
			end.Tokens = int64(turn.InputTokens + 64)
			return end
		},
		"by the size of the answers": func(_ *workload.Turn, now int64) workload.End {
			return says(now, strings.Repeat("answer ", 52)) // 364 bytes, 64 tokens
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conversing(100)
			c.MaxContextTokens = 800 // 192 for each turn and its answer
			w := newWorkload(t, c, 1)
			session, asked := "", 0
			for now := range int64(12) {
				turn := pick(t, w, workload.Pick{Now: now})
				if turn.InputTokens+turn.OutputTokens > 800 {
					t.Errorf("turn %d needs %d tokens", now, turn.InputTokens+turn.OutputTokens)
				}
				if turn.Session != session {
					if session != "" && asked != 4 {
						t.Errorf("ended after %d turns, want 4", asked)
					}
					session, asked = turn.Session, 0
				}
				asked++
				w.Done(turn, end(turn, now))
			}
			if diff := cmp.Diff(workload.Sessions{Active: 1, Truncated: 2}, w.Sessions()); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsersKeepTheirConversations(t *testing.T) {
	t.Parallel()
	const users, length = 6, 5
	w := newWorkload(t, conversing(length), 1)
	w.StartUsers(func(user uint64) int { return int(user) % length }) // user 5 begins a whole one
	sessions := map[uint64]string{}
	turns := map[uint64]int{}
	first := map[uint64]int{} // turns of the first conversation
	for round := range 40 {
		for user := uint64(1); user <= users; user++ {
			turn := pick(t, w, workload.Pick{Now: int64(round), User: user})
			if turn.Session != sessions[user] {
				switch {
				case sessions[user] == "":
				case first[user] == 0:
					first[user] = turns[user]
				case turns[user] != length:
					t.Errorf("user %d: a later conversation of %d turns, want %d", user, turns[user], length)
				}
				sessions[user], turns[user] = turn.Session, 0
			}
			if want := 2*turns[user] + 1; len(turn.Prompt.Messages) != want {
				t.Fatalf("user %d: %d messages in turn %d", user, len(turn.Prompt.Messages), turns[user])
			}
			turns[user]++
			w.Done(turn, says(int64(round), "x"))
		}
	}
	if diff := cmp.Diff(map[uint64]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 1}, first); diff != "" {
		t.Errorf("turns of the first conversations (-want +got):\n%s", diff)
	}
}

func TestAUserWhoAsksTwiceAtOnceBeginsAnotherConversation(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, conversing(9), 1)
	a := pick(t, w, workload.Pick{User: 1})
	b := pick(t, w, workload.Pick{User: 1})
	if a.Session == b.Session {
		t.Fatal("the conversation has two turns at once")
	}
	w.Done(a, says(1, "a"))
	w.Done(b, says(1, "b"))
	if c := pick(t, w, workload.Pick{Now: 2, User: 1}); c.Session != b.Session {
		t.Error("the user went back to the conversation before")
	}
}

func TestSessionsAreUUIDsAndNoneComesTwice(t *testing.T) {
	t.Parallel()
	uuid := regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
	seen := map[string]bool{}
	for range 2 {
		for _, turn := range turns(t, newWorkload(t, make128(), 1), 1000) {
			if seen[turn.Session] || !uuid.MatchString(turn.Session) {
				t.Fatalf("session %q", turn.Session)
			}
			seen[turn.Session] = true
		}
	}
}

func TestConversationsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	c := conversing(2)
	c.InputTokens.Mean = 1
	c.TurnDelay.Mean = time.Hour
	w := newWorkload(t, c, 1)
	var first string
	for i := range int64(10_050) {
		turn := pick(t, w, workload.Pick{Now: i})
		if i == 0 {
			first = turn.Session
		}
		w.Done(turn, says(i, "x"))
	}
	if diff := cmp.Diff(workload.Sessions{Active: 10_000, Truncated: 50}, w.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if turn := pick(t, w, workload.Pick{Now: int64(2 * time.Hour)}); turn.Session == first || len(turn.Prompt.Messages) != 3 {
		t.Error("not the oldest was ended")
	}
}

func TestConversationsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	c := conversing(4)
	c.Turns.Stddev = 2
	c.TurnDelay.Mean = 3
	w := newWorkload(t, c, 1)
	var requests sync.WaitGroup
	for worker := range 16 {
		requests.Go(func() {
			for i := range 150 {
				now := int64(i)
				turn, err := w.Next(workload.Pick{Now: now, User: uint64(worker % 3)})
				if err != nil {
					t.Error(err)
					return
				}
				w.Learn(turn, int64(turn.PromptBytes/4))
				end := says(now, fmt.Sprint(worker, i))
				end.OK = i%17 != 0
				w.Done(turn, end)
				w.Sessions()
			}
		})
	}
	requests.Wait()
	got := w.Sessions()
	if got.Failed == 0 || got.Completed == 0 || got.Active < 0 || got.Active > 16*150 {
		t.Errorf("sessions %+v", got)
	}
}

func BenchmarkNextOfAConversation(b *testing.B) {
	b.ReportAllocs()
	w := newWorkload(b, conversing(8), 1)
	end := says(0, strings.Repeat("answer ", 50))
	for b.Loop() {
		turn := pick(b, w, workload.Pick{})
		w.Done(turn, end)
	}
}
