package generator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// family is a recorded agent whose first call begins two sub-agents: a, which makes two calls and ends at 4.5 s, and b, which makes one and
// ends at 2.5 s. Its second call joins both.
const family = `{"id":"p","block_size":16,"hash_id_scope":"local","requests":[
	{"t":0,"type":"s","in":40,"out":4,"hash_ids":[1,2],"api_time":1},
	{"t":1.5,"type":"subagent","agent_id":"a","duration_ms":3000,"requests":[
		{"t":2,"type":"s","in":32,"out":5,"hash_ids":[1,7],"api_time":1},
		{"t":3.5,"type":"s","in":48,"out":5,"hash_ids":[1,7,8],"api_time":1}]},
	{"t":1.5,"type":"subagent","agent_id":"b","duration_ms":1000,"requests":[{"t":1.75,"type":"s","in":20,"out":6}]},
	{"t":5,"type":"s","in":48,"out":4,"hash_ids":[1,2,3],"api_time":1},
	{"t":7,"type":"s","in":64,"out":4,"hash_ids":[1,2,3,4]}]}`

// askedFor is a request of a family: whose turn it was (by the answer's length: 4 is the parent, 5 a, 6 b), when it was wanted, and when it started,
// in milliseconds of the run.
type askedFor struct {
	Who          string
	Sched, Start int64
}

// playFamily runs the family against a server that takes that long for each request, and gives the requests as they started.
func playFamily(t *testing.T, length, service time.Duration, configure func(*rig)) (*rig, []askedFor) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "family.json")
	if err := os.WriteFile(file, []byte(family), 0o600); err != nil {
		t.Fatal(err)
	}
	var rg *rig
	server := &lazily{make: func() client { return serving(rg.clock, service) }}
	r, anchor := play(t, length, server, func(r *rig) {
		rg = r
		r.config.Workload.Dataset = dataset.DefaultConfig()
		r.config.Workload.Dataset.Format, r.config.Workload.Dataset.File = dataset.WekaTrace, file
		configure(r)
	}, nil)
	var out []askedFor
	for _, o := range r.records() {
		name := map[int64]string{4: "p", 5: "a", 6: "b"}[o.record.RequestedTokens]
		out = append(out, askedFor{
			fmt.Sprint(name, o.record.TurnIndex), (o.record.Time.Sched - anchor) / 1e6, (o.record.Time.Start - anchor) / 1e6,
		})
	}
	return r, out
}

func wantAsked(t *testing.T, want, got []askedFor) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests, in ms (-want +got):\n%s", diff)
	}
}

// TestAFamilyIsAskedAtEachArrival: a request a second, each of which goes on with what has been due for longest. The pauses of the recording
// are cut to half a second, so that the parent's second call would be due at 0.6 s if it did not wait for its agents.
func TestAFamilyIsAskedAtEachArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, got := playFamily(t, 7500*time.Millisecond, 100*time.Millisecond, func(r *rig) {
			r.config.Load.Rate = 1
			r.config.Workload.Dataset.DelayCap = 500 * time.Millisecond
		})
		wantAsked(t, []askedFor{
			{"p0", 0, 0},
			{"a0", 1000, 1000},
			{"b0", 2000, 2000},
			{"a1", 3000, 3000},
			{"p1", 4000, 4000},
			{"p2", 5000, 5000},
			{"p0", 6000, 6000},
			{"a0", 7000, 7000},
		}, got)
		records := r.records()
		parent := records[0].record.Session
		for i, o := range records[:6] {
			want := map[bool]string{true: parent}[got[i].Who[0] != 'p']
			if o.record.ParentSession != want || (o.record.Session == parent) != (want == "") {
				t.Errorf("%s is of session %s with parent %s", got[i].Who, o.record.Session, o.record.ParentSession)
			}
		}
	})
}

// TestAFamilyIsAskedInAClosedLoop without the pauses of the recording.
func TestAFamilyIsAskedInAClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, got := playFamily(t, 5500*time.Millisecond, time.Second, func(r *rig) {
			r.config.Load.Mode, r.config.Load.Concurrency = load.Closed, 1
			r.config.Workload.Dataset.IgnoreDelays = true
		})
		wantAsked(t, []askedFor{
			{"p0", 0, 0}, {"a0", 1000, 1000}, {"b0", 2000, 2000}, {"a1", 3000, 3000}, {"p1", 4000, 4000}, {"p2", 5000, 5000},
		}, got)
	})
}

func TestAFamilyIsReplayed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		service time.Duration
		limit   int // in flight
		want    []askedFor
	}{
		"a quick server keeps its times": {
			500 * time.Millisecond, 10,
			[]askedFor{{"p0", 0, 0}, {"b0", 1750, 1750}, {"a0", 2000, 2000}, {"a1", 3500, 3500}, {"p1", 5000, 5000}, {"p2", 7000, 7000}},
		},
		// The second call of a waits for its first, and the parent's second for that, until 7 s.
		"with a slow one the parent waits for its agents": {
			2500 * time.Millisecond, 10,
			[]askedFor{{"p0", 0, 0}, {"b0", 1750, 1750}, {"a0", 2000, 2000}, {"a1", 3500, 4500}, {"p1", 5000, 7000}, {"p2", 7000, 9500}},
		},
		// While the parent's first call runs, the first ones of the agents are dropped. The second call of a ends at 6 s, then the parent goes on.
		"an agent that is dropped has ended": {
			2500 * time.Millisecond, 1,
			[]askedFor{{"p0", 0, 0}, {"a1", 3500, 3500}, {"p1", 5000, 6000}, {"p2", 7000, 8500}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, got := playFamily(t, time.Minute, test.service, func(r *rig) {
					r.config.Load.Mode, r.config.Load.Loop = load.Replay, new(bool)
					r.config.Load.MaxInFlight = test.limit
				})
				wantAsked(t, test.want, got)
				if dropped := r.series(t, "aiperf_arrivals_dropped_total"); int(dropped)+len(got) != 6 {
					t.Errorf("%v dropped and %d sent, want 6 in all", dropped, len(got))
				}
			})
		})
	}
}

// TestBodiesThatStreamAndBodiesThatDoNot: each request is what its own body asks for, in a target of streams.
func TestBodiesThatStreamAndBodiesThatDoNot(t *testing.T) {
	t.Parallel()
	server := startScriptServer(t, func(request *scriptRequest) script {
		if request.number%2 == 0 {
			return stream(at(0, role(), content("a")), at(1, content("b"), finish("stop"), usage(3, 2), done))
		}
		// Later than the first token of a stream may be.
		return reply(400, "200 OK", "Content-Type: application/json\r\n",
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"}],"usage":`+usageObject(3, 2)+`}`)
	})
	file := filepath.Join(t.TempDir(), "bodies.jsonl")
	bodies := `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}
{"model":"m","messages":[{"role":"user","content":"x"}]}
`
	if err := os.WriteFile(file, []byte(bodies), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, server.url, func(c *generator.TargetConfig) {
		c.Workload.Dataset.Format, c.Workload.Dataset.File = dataset.RawPayload, file
		c.Client.Timeouts.FirstToken = 200 * time.Millisecond
		c.Load.Mode, c.Load.Concurrency, c.Load.MinInterval = load.Closed, 1, time.Millisecond
	})
	for i, o := range r.run(t, 4) {
		streams := i%2 == 0
		if o.record.Outcome != "success" || o.record.Streaming != streams || o.measures.TTFT.Defined != streams || o.record.Unstreamed {
			t.Errorf("request %d ended as %s %s, streaming %v, TTFT %v, unstreamed %v", i, o.record.Outcome, o.record.Class, o.record.Streaming,
				o.measures.TTFT, o.record.Unstreamed)
		}
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	for i, want := range []string{"text/event-stream", "application/json"} {
		if got := server.requests[i].header.Get("Accept"); got != want {
			t.Errorf("request %d accepts %s, want %s", i, got, want)
		}
	}
	if got := r.series(t, "aiperf_time_to_first_token_seconds"); got != 2 {
		t.Errorf("%v times to first token, want 2", got)
	}
}

// TestALongAnswerThatIsNoStreamIsNoPrefill: half a minute after its start, a stream without a token is known to have been in prefill.
func TestALongAnswerThatIsNoStreamIsNoPrefill(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"model":"m","messages":[{"role":"user","content":"x"}]}`:               false,
		`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}`: true,
	} {
		file := filepath.Join(t.TempDir(), "bodies.jsonl")
		if err := os.WriteFile(file, []byte(body+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			var rg *rig
			server := &lazily{make: func() client { return serving(rg.clock, 50*time.Second) }}
			play(t, 60*time.Second, server, func(r *rig) {
				rg = r
				r.config.Load.Mode, r.config.Load.Concurrency = load.Closed, 1
				r.config.Workload.Dataset = dataset.DefaultConfig()
				r.config.Workload.Dataset.Format, r.config.Workload.Dataset.File = dataset.RawPayload, file
			}, func(*generator.Target) {
				wait(45 * time.Second)
				if got := rg.series(t, "aiperf_phase_request_seconds_total", "phase", "prefill"); (got > 0) != want {
					t.Errorf("%s was in prefill for %v s", body, got)
				}
			})
		})
	}
}
