package report

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	dto "github.com/prometheus/client_model/go"
)

// page are the families of a server that has generated so many tokens, twice as many from prompts, and one answer for ten of them, each of
// which waited 5 ms and had its first token after 40 ms.
func page(tokens float64) []*dto.MetricFamily {
	counter := func(name string, values ...float64) *dto.MetricFamily {
		f := &dto.MetricFamily{Name: &name, Type: dto.MetricType_COUNTER.Enum()}
		for _, v := range values {
			f.Metric = append(f.Metric, &dto.Metric{Counter: &dto.Counter{Value: &v}})
		}
		return f
	}
	histogram := func(name string, mean float64) *dto.MetricFamily {
		n := uint64(tokens / 10)
		return &dto.MetricFamily{Name: &name, Type: dto.MetricType_HISTOGRAM.Enum(), Metric: []*dto.Metric{
			{Histogram: &dto.Histogram{SampleCount: &n, SampleSum: new(mean * float64(n))}},
		}}
	}
	return []*dto.MetricFamily{
		counter("aiperf_server_generation_tokens_total", tokens/4, 3*tokens/4), // two engines
		counter("aiperf_server_prompt_tokens_total", 2*tokens),
		counter("aiperf_server_requests_finished_total", tokens/10),
		counter("aiperf_server_preemptions_total", 7),
		histogram("aiperf_server_queue_seconds", 0.005),
		histogram("aiperf_server_time_to_first_token_seconds", 0.04),
	}
}

// watchedRun is measuredRun, from second 1 to second 5, beside a server.
func watchedRun(t *testing.T, servers *ServerWindow) *Report {
	t.Helper()
	r := measuredRun()
	meta := r.Meta
	meta.GPUs, meta.Servers = nil, servers
	c := NewCollector(nil)
	for _, s := range r.samples {
		record := s.record
		record.Content = []int64{record.Time.Start + 50*ms, record.Time.Start + 240*ms}
		add(c, &record)
	}
	return c.Report(meta)
}

// said puts a label on all series of a page.
func said(server string, families []*dto.MetricFamily) []*dto.MetricFamily {
	for _, f := range families {
		for _, m := range f.Metric {
			m.Label = append(m.Label, &dto.LabelPair{Name: new("server"), Value: &server})
		}
	}
	return families
}

func TestAPageOnWhichTwoCountTheSameCountsOnce(t *testing.T) {
	t.Parallel()
	w := NewServerWindow(time.Second)
	for second := int64(-5); second < 40; second++ {
		tokens := 5000 + 100*float64(second)
		// What the engine counts is a little behind, and it has just been restarted.
		w.Observe("llama-prod", "a", second*1e9, append(said("dynamo", page(tokens)), said("vllm", page(.9*tokens-4000))...))
	}
	r := watchedRun(t, w)
	for _, m := range r.Server {
		if want := 100.; m.Tag == "server_generation_token_throughput" && math.Abs(m.Stats.Avg-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", m.Tag, m.Stats.Avg, want)
		}
	}
	if r.server.instances != 1 || r.server.known != 1 {
		t.Errorf("got %d replicas, %d of them known, want one", r.server.instances, r.server.known)
	}
}

func TestServersAreCountedOverTheWindowAndNothingElse(t *testing.T) {
	t.Parallel()
	w := NewServerWindow(time.Second)
	// The server idles for half a minute, generates 100 tokens per second for 8 s, and idles again.
	for second, tokens := int64(-30), 5000.; second < 40; second++ {
		w.Observe("llama-prod", "a", second*1e9, page(tokens))
		w.Observe("other", "a", second*1e9, page(1e6*tokens))
		if second >= 0 && second < 8 {
			tokens += 100
		}
	}
	r := watchedRun(t, w)
	want := map[string]float64{
		"server_generation_token_throughput": 100, "server_prompt_token_throughput": 200, "server_request_count": 40,
		"server_queue_time": 5, "server_time_to_first_token": 40, "time_to_first_token_residual": 10,
	}
	got := map[string]float64{}
	for _, m := range r.Server {
		got[m.Tag] = m.Stats.Avg
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table, 100); err != nil || !strings.Contains(table.String(), "\nServer\n  Prompt tokens/s") {
		t.Errorf("no group for servers, %v:\n%s", err, table.String())
	}
}

func TestWhatIsNotReadCloseToTheWindowIsNotKnown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read map[string][]int64 // half seconds, by replica; it generates 100 tokens a second
		want float64            // tokens per second; -1 = not known
		note string
	}{
		"read each second":                              {map[string][]int64{"a": {0, 2, 4, 6, 8, 10, 12}}, 100, ""},
		"read at both ends only":                        {map[string][]int64{"a": {2, 10}}, 100, ""},
		"as far away as is allowed":                     {map[string][]int64{"a": {-1, 5, 7, 13}}, 100, ""},
		"not before the window":                         {map[string][]int64{"a": {3, 4, 6, 8, 10, 12}}, -1, "no server figures"},
		"not after the window":                          {map[string][]int64{"a": {0, 2, 4, 6, 8, 9}}, -1, "no server figures"},
		"long before the window":                        {map[string][]int64{"a": {-2, 3, 8, 10}}, -1, "no server figures"},
		"first long after its begin":                    {map[string][]int64{"a": {1, 6, 10}}, -1, "no server figures"},
		"one of two replicas":                           {map[string][]int64{"a": {0, 4, 8, 12}, "b": {4, 8}}, 100, "server figures of 1 of 2 replicas"},
		"both of two replicas":                          {map[string][]int64{"a": {0, 4, 8, 12}, "b": {1, 4, 8, 11}}, 200, ""},
		"no replica":                                    {nil, -1, ""},
		"long not in the middle, which does not matter": {map[string][]int64{"a": {1, 3, 9, 11}}, 100, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := NewServerWindow(time.Second)
			for instance, instants := range test.read {
				for _, half := range instants {
					w.Observe("llama-prod", instance, half*5e8, page(1000+50*float64(half)))
				}
			}
			r := watchedRun(t, w)
			m, ok := r.Metric("server_generation_token_throughput")
			if ok != (test.want >= 0) || ok && math.Abs(m.Stats.Avg-test.want) > 1e-9 {
				t.Errorf("got %v, %t, want %v", m.Stats.Avg, ok, test.want)
			}
			noted := slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, "server figures") })
			if noted != (test.note != "") || noted && !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, test.note) }) {
				t.Errorf("notes are %q", r.Notes)
			}
		})
	}
}

func TestAServerThatBeginsAgainLosesWhatItHadCountedOnly(t *testing.T) {
	t.Parallel()
	w := NewServerWindow(time.Second)
	for second, tokens := range []float64{1000, 1100, 1200, 50, 150, 250, 350} {
		w.Observe("llama-prod", "a", int64(second)*1e9, page(tokens))
	}
	m, _ := watchedRun(t, w).Metric("server_generation_token_throughput")
	if want := (100 + 50 + 100 + 100) / 4.; m.Stats.Avg != want {
		t.Errorf("got %v, want %v", m.Stats.Avg, want)
	}
}

func TestAFamilyThatIsMissingOnOnePageIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	w := NewServerWindow(2 * time.Second)
	for second := range int64(7) {
		families := page(1000 + 100*float64(second))
		if second == 3 {
			families = families[1:]
		}
		w.Observe("llama-prod", "a", second*1e9, families)
	}
	if m, _ := watchedRun(t, w).Metric("server_generation_token_throughput"); m.Stats.Avg != 100 {
		t.Errorf("got %v, want 100", m.Stats.Avg)
	}
}

func TestAServerThatCountsNothingIsNoServer(t *testing.T) {
	t.Parallel()
	w := NewServerWindow(time.Second)
	for second := range int64(7) {
		w.Observe("llama-prod", "a", second*1e9, nil)
	}
	if r := watchedRun(t, w); r.Server != nil || r.server != nil {
		t.Errorf("figures are %+v", r.Server)
	}
}

func TestOneWaitsUntilEveryServerWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewServerWindow(time.Second)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.Await(t.Context(), 10, "llama-prod", "other")
		}()
		for _, step := range []struct {
			target, instance string
			at               int64
			want             bool
		}{
			{"llama-prod", "a", 11, false}, {"llama-prod", "b", 9, false}, {"other", "a", 10, false}, {"llama-prod", "b", 12, true},
		} {
			w.Observe(step.target, step.instance, step.at, nil)
			synctest.Wait()
			select {
			case <-ended:
				if !step.want {
					t.Fatalf("ended after %+v", step)
				}
			default:
				if step.want {
					t.Fatal("not ended after all were read")
				}
			}
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.Await(limited, 100)
	})
}
