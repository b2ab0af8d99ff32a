package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// minute is what a client of the demo and the server's own metrics say about a minute of the example's load.
type minute struct {
	ttft, itl time.Duration // means of all requests
	statuses  map[int]int
	aborted   float64
	waiting   int
}

// observe sends requests at random times for a minute, as the example does, and lets them end.
func observe(t *testing.T, s *Server, rate float64, tokens int) minute {
	t.Helper()
	before := scrape(t, s)
	m := minute{statuses: make(map[int]int)}
	rng := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	var clients sync.WaitGroup
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		pass(time.Duration(rng.ExpFloat64() / rate * float64(time.Second)))
		m.waiting = max(m.waiting, s.models[0].load().Waiting)
		clients.Go(func() {
			ctx, leave := context.WithTimeout(t.Context(), 20*time.Second)
			defer leave()
			r, _, aborted := call(ctx, s, fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"stream":true}`, strings.Repeat("word", 256), tokens))
			mu.Lock()
			defer mu.Unlock()
			if !aborted {
				m.statuses[r.Code]++
			}
		})
	}
	clients.Wait()
	after := scrape(t, s)
	mean := func(name string) time.Duration {
		sum, count := after[name+"_sum"]-before[name+"_sum"], after[name+"_count"]-before[name+"_count"]
		return time.Duration(sum / count * float64(time.Second))
	}
	m.ttft, m.itl = mean("vllm:time_to_first_token_seconds"), mean("vllm:inter_token_latency_seconds")
	aborted := `vllm:request_success_total{finished_reason="abort"}`
	m.aborted = after[aborted] - before[aborted]
	return m
}

func between(d, low, high time.Duration) bool { return low <= d && d <= high }

func TestTheSteadyModelIsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := observe(t, newServer(t, DefaultProfiles()[0]), 2, 64)
		if !between(m.ttft, 80*ms, 200*ms) || !between(m.itl, 10*ms, 20*ms) || m.aborted > 0 || len(m.statuses) != 1 {
			t.Errorf("a minute: %+v", m)
		}
	})
}

func TestTheThinkingModelHasADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, DefaultProfiles()[1])
		night := observe(t, s, 1, 96)
		pass(270*time.Second - time.Since(s.start))
		noon := observe(t, s, 1, 96)
		if !between(night.ttft, 100*ms, 250*ms) || !between(night.itl, 15*ms, 25*ms) {
			t.Errorf("at night: %+v", night)
		}
		if !between(noon.ttft, 150*ms, 600*ms) || !between(noon.itl, 25*ms, 40*ms) || noon.waiting == 0 {
			t.Errorf("at noon: %+v", noon)
		}
		if night.statuses[http.StatusOK] == 0 || len(night.statuses)+len(noon.statuses) != 2 {
			t.Errorf("statuses: %v at night, %v at noon", night.statuses, noon.statuses)
		}
	})
}

func TestTheFlakyModelMisbehavesAndRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, DefaultProfiles()[2])
		slow := observe(t, s, 2, 64) // the first slow episode is from 30 to 60 s
		calm := observe(t, s, 2, 64) // 429 from 90 to 110 s
		if !between(slow.itl, 2*calm.itl, 10*calm.itl) || !between(slow.ttft, 2*calm.ttft, 10*calm.ttft) {
			t.Errorf("the minute with the slow episode: %+v", slow)
		}
		if !between(calm.ttft, 60*ms, 200*ms) || !between(calm.itl, 10*ms, 20*ms) {
			t.Errorf("the minute after it: %+v", calm)
		}
		if slow.statuses[http.StatusTooManyRequests] != 0 || calm.statuses[http.StatusTooManyRequests] < 5 {
			t.Errorf("statuses: %v, then %v; want some 429 in the second minute only", slow.statuses, calm.statuses)
		}
		if slow.statuses[http.StatusInternalServerError] == 0 || slow.aborted == 0 || slow.statuses[http.StatusOK] < 100 {
			t.Errorf("of 120 requests %v were aborted, and the others gave %v", slow.aborted, slow.statuses)
		}
	})
}
