//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// scaled are targets whose load shards divide, one whose load they cannot, and one that spends a budget at once: URL, zone. The header tells which
// exporter asks.
const scaled = `
global: {max_in_flight: 10000}
workloads:
  short: {input_tokens: 16, output_tokens: 2}
loads:
  grid: {mode: constant, rate: 8, max_in_flight: 100, max_catchup: 1m}
  random: {mode: poisson, rate: 8, max_in_flight: 100, max_catchup: 1m}
  lumps: {mode: gamma, smoothness: 0.5, rate: 8, max_in_flight: 100, max_catchup: 1m}
  workers: {mode: closed, concurrency: 8, min_interval: 500ms, max_in_flight: 100}
  flood: {mode: constant, rate: 200, max_in_flight: 100}
x-asks: &asks {type: chat, headers: {X-Pod: "${POD}"}}
targets:
  - {name: constant, url: %[1]q, model: peer, endpoint: *asks, workload: short, load: grid}
  - {name: poisson, url: %[1]q, model: peer, endpoint: *asks, workload: short, load: random}
  - {name: gamma, url: %[1]q, model: peer, endpoint: *asks, workload: short, load: lumps}
  - {name: closed, url: %[1]q, model: peer, endpoint: *asks, workload: short, load: workers}
  - {name: budget, url: %[1]q, model: peer, endpoint: *asks, workload: short, load: flood, budget: {requests_per_day: 400, tz: %[2]s}}
`

const (
	scaledRate   = 8   // of each target that has one
	scaledBudget = 400 // requests a day
)

// statefulSet are exporters as a StatefulSet runs them: each ordinal has a volume of its own, which it finds again.
type statefulSet struct {
	t       *testing.T
	peer    *peer
	config  string
	volumes string
	pods    map[int]exporter
	started int
	asked   map[string]float64 // least and most asked rate of a divisible target so far, as a share of the whole: "least", "most"
}

// start starts an ordinal of so many.
func (s *statefulSet) start(ordinal, count int) {
	s.t.Helper()
	s.started++
	s.pods[ordinal] = serveIn(s.t, []string{fmt.Sprintf("POD=%d", s.started)}, s.config, fmt.Sprintf("--shard=%d/%d", ordinal, count),
		"--budget.state-file="+filepath.Join(s.volumes, fmt.Sprint(ordinal)))
	part := float64(scaledRate) / float64(count)
	eventually(s.t, patience, func() error {
		rates := s.pods[ordinal].scrape(s.t).By("aiperf_load_target_rate", "target", nil)
		if rates["constant"] != part || rates["poisson"] != part {
			return fmt.Errorf("shard %d of %d asks for %v, want %v a second", ordinal, count, rates, part)
		}
		return nil
	})
	s.look()
}

// end ends one in an orderly way.
func (s *statefulSet) end(ordinal int) {
	s.t.Helper()
	pod := s.pods[ordinal]
	delete(s.pods, ordinal)
	if err := pod.Terminate(); err != nil {
		s.t.Fatal(err)
	}
	if code, err := pod.Wait(process.Within(s.t, patience)); code != 0 || err != nil {
		s.t.Fatal(code, err)
	}
	s.look()
}

// rates are those that the living exporters ask for, by target.
func (s *statefulSet) rates() map[string]float64 {
	s.t.Helper()
	sum := map[string]float64{}
	for _, pod := range s.pods {
		for target, rate := range pod.scrape(s.t).By("aiperf_load_target_rate", "target", nil) {
			sum[target] += rate
		}
	}
	return sum
}

// look notes how much of the whole is asked for at this step of a change.
func (s *statefulSet) look() {
	s.t.Helper()
	rates := s.rates()
	for _, target := range []string{"constant", "poisson"} {
		share := rates[target] / scaledRate
		s.asked["least"], s.asked["most"] = min(s.asked["least"], share), max(s.asked["most"], share)
	}
}

// forget begins to note anew.
func (s *statefulSet) forget() { s.asked = map[string]float64{"least": math.Inf(1)} }

// settled checks what is asked when nothing changes any more: each target its whole rate, from each exporter that has a part of it.
func (s *statefulSet) settled(count int) {
	s.t.Helper()
	eventually(s.t, patience, func() error {
		rates := s.rates()
		if rates["constant"] != scaledRate || rates["poisson"] != scaledRate || rates["gamma"] != scaledRate {
			return fmt.Errorf("%d shards ask for %v, want %v a second of each", count, rates, scaledRate)
		}
		return nil
	})
	before := map[string]int{}
	for _, target := range []string{"constant", "poisson", "gamma", "closed"} {
		before[target] = len(s.peer.asked(target))
	}
	for target, n := range before {
		want := count
		if target == "gamma" {
			want = 1
		}
		eventually(s.t, patience, func() error {
			pods := map[string]bool{}
			for _, q := range s.peer.asked(target)[n:] {
				pods[q.header.Get("X-Pod")] = true
			}
			if len(pods) < want {
				return fmt.Errorf("%d exporters of %d have asked %s since, want %d", len(pods), count, target, want)
			}
			return nil
		})
	}
}

// spent waits until every exporter has refused a request for its budget, and gives how many the server has got since the beginning.
func (s *statefulSet) spent() int {
	s.t.Helper()
	eventually(s.t, patience, func() error {
		for ordinal, pod := range s.pods {
			if pod.scrape(s.t).Sum("aiperf_budget_exhausted", scrape.Labels{"target": "budget"}) != 1 {
				return fmt.Errorf("exporter %d has budget left", ordinal)
			}
		}
		return nil
	})
	return len(s.peer.asked("budget"))
}

// The steps are those of a StatefulSet whose arguments change with its size: new ordinals start first, then the old ones are replaced from the highest
// on; surplus ones end first, from the highest on.
func TestScalingUpAndDownLosesNoTargetAndDoublesNone(t *testing.T) {
	t.Parallel()
	p := startPeer(t, plain)
	s := &statefulSet{t: t, peer: p, config: fmt.Sprintf(scaled, p.url, noon()), volumes: t.TempDir(), pods: map[int]exporter{}}
	s.forget()
	s.start(0, 2)
	s.start(1, 2)
	s.forget()
	s.settled(2)
	if n := s.spent(); n != scaledBudget {
		t.Errorf("two have spent %d of a budget of %d", n, scaledBudget)
	}

	s.start(2, 4)
	s.start(3, 4)
	s.end(1)
	s.start(1, 4)
	s.end(0)
	s.start(0, 4)
	if want := map[string]float64{"least": 0.75, "most": 1.5}; !maps.Equal(s.asked, want) {
		t.Errorf("from 2 to 4 the asked rates were %v of the whole, want %v", s.asked, want)
	}
	s.settled(4)
	// The new ones know nothing of what was spent. The old ones do, and have more than their new part.
	most := scaledBudget + 2*scaledBudget/4
	if n := s.spent(); n != most {
		t.Errorf("%d of a budget of %d are spent after a change from 2 to 4, want the whole and two quarters, %d", n, scaledBudget, most)
	}

	s.forget()
	s.end(3)
	s.end(2)
	s.end(1)
	s.start(1, 2)
	s.end(0)
	s.start(0, 2)
	if want := map[string]float64{"least": 0.25, "most": 1}; !maps.Equal(s.asked, want) {
		t.Errorf("from 4 to 2 the asked rates were %v of the whole, want %v", s.asked, want)
	}
	s.settled(2)
	if n := s.spent(); n != most {
		t.Errorf("%d are spent after the change back, want no more than %d", n, most)
	}
	pods := map[string]bool{}
	for _, q := range p.asked("gamma") {
		pods[q.header.Get("X-Pod")] = true
	}
	t.Logf("the load that cannot be divided came from the exporters %v of %d", slices.Sorted(maps.Keys(pods)), s.started)
}
