//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// sharded is a target for each kind of load: URL, file of the recording, zone. No arrival is dropped, however late the machine is, and no user of
// them is late for the next question, which comes four seconds after the one before.
const sharded = `
global: {max_in_flight: 10000}
workloads:
  short: {input_tokens: 16, output_tokens: 2}
  talks: {input_tokens: 16, output_tokens: 2, turns: 3}
  tape: {dataset: {format: mooncake_trace, file: %[2]q}}
loads:
  grid: {mode: constant, rate: 20, max_in_flight: 1000, max_catchup: 1m}
  random: {mode: poisson, rate: 40, max_in_flight: 1000, max_catchup: 1m}
  workers: {mode: closed, concurrency: 6, min_interval: 50ms, max_in_flight: 1000}
  people: {mode: users, users: 41, rate: 10, max_in_flight: 1000, max_catchup: 1m}
  tape: {mode: replay, loop: false, max_in_flight: 1000, max_catchup: 1m}
targets:
  - {name: constant, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: grid}
  - {name: poisson, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: random, seed: 7}
  - {name: closed, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: workers}
  - {name: users, url: %[1]q, model: peer, endpoint: {type: chat}, workload: talks, load: people}
  - {name: replay, url: %[1]q, model: peer, endpoint: {type: chat}, workload: tape, load: tape}
  - {name: budget, url: %[1]q, model: peer, endpoint: {type: chat}, workload: short, load: grid, budget: {requests_per_day: 42, tz: %[3]s}}
`

// rows of the recording, twenty each second, three in a session and every fourth alone.
const rows = 80

func recording(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i := range rows {
		session := ""
		if i%4 != 0 {
			session = fmt.Sprintf(`"session_id":"s%d",`, i/4)
		}
		fmt.Fprintf(&b, `{%s"timestamp":%d,"text_input":"row %d.","output_length":2}`+"\n", session, 50*i, i)
	}
	return file(t, "trace.jsonl", b.String())
}

func TestShardsTogetherSendWhatOneExporterWould(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, func(w http.ResponseWriter, r *http.Request, q *question) {
				if q.target == "closed" {
					time.Sleep(300 * time.Millisecond)
				}
				plain(w, r, q)
			})
			config := file(t, "aiperf-exporter.yml", fmt.Sprintf(sharded, p.url, recording(t), noon()))
			folders := make([]string, shards)
			var all []*process.Process
			for i := range folders {
				folders[i] = t.TempDir()
				all = append(all, process.ForTest(t, nil, binary, "run", fmt.Sprintf("--shard=%d/%d", i, shards), "--config.file="+config,
					"--duration=14s", "--records", "--out="+folders[i]))
			}
			for _, e := range all {
				if code, err := e.Wait(process.Within(t, patience)); code != 0 || err != nil {
					t.Fatal(code, err)
				}
			}
			even(t, together(t, p, folders, "constant"), 50*time.Millisecond)
			even(t, together(t, p, folders, "users"), 100*time.Millisecond)
			independent(t, together(t, p, folders, "poisson"), 40)
			if n := p.peak("closed"); n != 6 {
				t.Errorf("%d requests of the closed loop ran at the same time, want those of 6 workers", n)
			}
			played := map[string]int{}
			for _, q := range p.asked("replay") {
				_, row, _ := strings.Cut(q.last(), "row ") // behind the number that keeps caches from answering
				played[row]++
			}
			for i := range rows {
				if n := played[fmt.Sprintf("%d.", i)]; n != 1 {
					t.Errorf("row %d was played %d times", i, n)
				}
			}
			if n := len(p.asked("budget")); n != 42 {
				t.Errorf("%d requests with a budget of 42", n)
			}
		})
	}
}

// together are the scheduled instants of a target in all shards, ascending, in the time in which all of them ran. What they have sent is
// what the server has got.
func together(t *testing.T, p *peer, folders []string, target string) []int64 {
	t.Helper()
	got := map[string]int{}
	for _, q := range p.asked(target) {
		got[q.header.Get("X-Request-Id")]++
	}
	var instants []int64
	from, to := int64(0), int64(math.MaxInt64)
	sent := 0
	for _, folder := range folders {
		first, last := int64(math.MaxInt64), int64(0)
		for _, r := range records(t, filepath.Join(folder, target)) {
			at := r.Exporter.Scheduled
			first, last = min(first, at), max(last, at)
			instants = append(instants, at)
			sent++
			if got[r.Metadata.RequestID] != 1 {
				t.Errorf("%s: the server got request %s %d times", target, r.Metadata.RequestID, got[r.Metadata.RequestID])
			}
		}
		from, to = max(from, first), min(to, last)
	}
	if sent != len(got) {
		t.Errorf("%s: %d requests sent, the server got %d", target, sent, len(got))
	}
	slices.Sort(instants)
	instants = slices.DeleteFunc(instants, func(at int64) bool { return at < from || at > to })
	if len(instants) < 20 {
		t.Fatalf("%s: %d arrivals while all shards ran, want more", target, len(instants))
	}
	return instants
}

// even checks that instants form a grid: none is missing, and none comes twice. Processes know the time of day to a fraction of a millisecond.
func even(t *testing.T, instants []int64, period time.Duration) {
	t.Helper()
	for i, at := range instants[1:] {
		if off := time.Duration(at-instants[i]) - period; off.Abs() > time.Millisecond {
			t.Errorf("arrival %d comes %v after the one before, want %v", i+1, off+period, period)
		}
	}
}

// independent checks rate, variation and distribution of the gaps of a Poisson process: each fails by chance once in more than ten thousand times.
func independent(t *testing.T, instants []int64, rateHz float64) {
	t.Helper()
	n := float64(len(instants) - 1)
	seconds := float64(instants[len(instants)-1]-instants[0]) / 1e9
	if expected := rateHz * seconds; math.Abs(n-expected) > 4*math.Sqrt(expected) {
		t.Errorf("%v Poisson arrivals in %.1f s, want about %.0f", n, seconds, expected)
	}
	mean, sum := seconds/n, 0.0
	gaps := make([]float64, 0, len(instants))
	for i, at := range instants[1:] {
		gap := float64(at-instants[i]) / 1e9
		gaps = append(gaps, gap)
		sum += (gap - mean) * (gap - mean)
	}
	if cv := math.Sqrt(sum/n) / mean; math.Abs(cv-1) > 4/math.Sqrt(n) {
		t.Errorf("the gaps of Poisson arrivals have a coefficient of variation of %.2f, want about 1", cv)
	}
	// Kolmogorov and Smirnov: the largest distance from the exponential distribution is above 2.5/sqrt(n) once in 130 000 times.
	slices.Sort(gaps)
	distance := 0.0
	for i, gap := range gaps {
		want := 1 - math.Exp(-gap*rateHz)
		distance = max(distance, math.Abs(want-float64(i)/n), math.Abs(want-float64(i+1)/n))
	}
	if distance > 2.5/math.Sqrt(n) {
		t.Errorf("the gaps of %v Poisson arrivals are %.3f off the exponential distribution, want at most %.3f", n, distance, 2.5/math.Sqrt(n))
	}
}
