package engine

import (
	"testing"
	"time"
)

// epoch is when all simulations begin.
func epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// arrival is a request of a simulation.
type arrival struct {
	at  time.Duration // after the epoch
	seq *Sequence
}

// request makes a sequence that keeps the instants of its tokens.
func request(prompt, limit int) (*Sequence, *[]time.Time) {
	tokens := new([]time.Time)
	s := &Sequence{PromptTokens: prompt, Limit: limit}
	s.Emit = func(now time.Time) { *tokens = append(*tokens, now) }
	return s, tokens
}

// simulate lets arrivals, in the order of their times, pass through an engine, and calls inspect after each beginning of a step.
func simulate(t *testing.T, e *Engine, arrivals []arrival, inspect func(now time.Time)) {
	t.Helper()
	now := epoch()
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			t.Fatal("the engine does not come to an end")
		}
		for len(arrivals) > 0 && !epoch().Add(arrivals[0].at).After(now) {
			e.Add(arrivals[0].seq, epoch().Add(arrivals[0].at))
			arrivals = arrivals[1:]
		}
		took, busy := e.Begin(now, 1)
		if !busy {
			if len(arrivals) == 0 {
				return
			}
			now = epoch().Add(arrivals[0].at)
			continue
		}
		if inspect != nil {
			inspect(now)
		}
		now = now.Add(took)
		e.End(now)
	}
}

func ttft(s *Sequence) time.Duration { return s.FirstToken.Sub(s.Arrived) }

// itl is the mean time between the tokens of a done sequence.
func itl(s *Sequence) time.Duration {
	return s.LastToken.Sub(s.FirstToken) / time.Duration(s.Limit-1)
}

// exact is a configuration in round numbers without chance: a step takes 10 ms, 1 ms for each decoded sequence, 100 µs per prompt token.
func exact() Config {
	cfg := DefaultConfig()
	cfg.StepTime = 10 * time.Millisecond
	cfg.DecodeTime = time.Millisecond
	cfg.PrefillTime = 100 * time.Microsecond
	cfg.Jitter = 0
	return cfg
}
