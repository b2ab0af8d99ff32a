package server

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// historyTable are the series of pages that these tests write.
func historyTable() []metrics.Series {
	return []metrics.Series{
		{Name: "aiperf_server_generation_tokens_total", Kind: metrics.Counter, Labels: []metrics.Label{{Name: "engine"}}},
		{Name: "aiperf_server_prompt_tokens_total", Kind: metrics.Counter},
		{Name: "aiperf_server_requests_running", Kind: metrics.Gauge},
		{Name: "aiperf_server_time_to_first_token_seconds", Kind: metrics.Histogram},
	}
}

// process is what a process of a server tells of itself.
type process struct {
	started            float64
	generated, prompts float64
	requests           uint64
	running            float64
	second             bool // a second engine
}

func (p process) page() *mapping.Result {
	b := collector.NewBuilder(historyTable())
	b.Add("aiperf_server_generation_tokens_total", p.generated, "0")
	if p.second {
		b.Add("aiperf_server_generation_tokens_total", 1e6, "1")
	}
	b.Add("aiperf_server_prompt_tokens_total", p.prompts)
	b.Add("aiperf_server_requests_running", p.running)
	b.AddHistogram("aiperf_server_time_to_first_token_seconds", &dto.Histogram{SampleCount: new(p.requests), SampleSum: new(float64(p.requests))})
	return &mapping.Result{Normalised: b.Families(), Started: p.started}
}

// outcome is one letter a page: "." nothing, "r" restarted, "m" mixed from here on, "c" cleared.
func outcome(h *history, pages ...process) string {
	var out strings.Builder
	for _, p := range pages {
		switch v := h.see(p.page()); {
		case v.restarted:
			out.WriteByte('r')
		case v.mixed:
			out.WriteByte('m')
		case v.cleared:
			out.WriteByte('c')
		default:
			out.WriteByte('.')
		}
	}
	return out.String()
}

func TestRestartsAndReplicasAreToldApart(t *testing.T) {
	t.Parallel()
	old := process{started: 1000, generated: 5000, prompts: 900, requests: 40, running: 3}
	older := process{started: 400, generated: 9000, prompts: 700, requests: 80}
	young := process{started: 2000, generated: 10, prompts: 4, requests: 1}
	unsaid := func(p process) process { p.started = 0; return p }
	later := func(p process) process {
		p.generated, p.prompts, p.requests, p.running = p.generated+100, p.prompts+10, p.requests+1, p.running-1
		return p
	}
	less := func(p process) process { p.generated--; return p }
	fewer := func(p process) process { p.requests--; return p }
	for name, tc := range map[string]struct {
		pages []process
		want  string
	}{
		"a process that works":                                              {[]process{old, later(old), later(later(old))}, "..."},
		"one that does nothing":                                             {[]process{old, old, old}, "..."},
		"one that says when it started, and starts again":                   {[]process{old, young, later(young)}, ".r."},
		"it starts again before it has counted anything":                    {[]process{{started: 1000}, {started: 2000}}, ".r"},
		"two restarts in a row":                                             {[]process{old, young, {started: 3000}}, ".rr"},
		"an earlier start is another replica":                               {[]process{old, older, old}, ".m."},
		"replicas that take turns, the younger one first":                   {[]process{old, young, old, young}, ".rm."},
		"counters that fall once in one process are a sum that lost a part": {[]process{old, less(old), later(less(old)), later(less(old))}, "...."},
		"counters that fall twice are those of two processes":               {[]process{old, less(old), old, less(old)}, "...m"},
		"all of them, too":                                                  {[]process{old, {started: 1000}, old, {started: 1000}}, "...m"},
		"a histogram counts like a counter":                                 {[]process{old, fewer(old), old, fewer(old)}, "...m"},
		"a gauge may fall":                                                  {[]process{old, {started: 1000, generated: 5000, prompts: 900, requests: 40}, old, {started: 1000, generated: 5000, prompts: 900, requests: 40}}, "...."},
		"a start that moves by a second says nothing":                       {[]process{old, {started: 1001, generated: 5000, prompts: 900, requests: 40}}, ".."},
		"two replicas that started in the same second":                      {[]process{old, {started: 1001, generated: 10, prompts: 900, requests: 40}, old, {started: 1001, generated: 20, prompts: 900, requests: 40}}, "...m"},
		"without a start, all counters falling is a restart":                {[]process{unsaid(old), unsaid(young), unsaid(later(young))}, ".r."},
		"some of them falling once is neither":                              {[]process{unsaid(old), unsaid(older), unsaid(later(older))}, "..."},
		"some of them falling twice are replicas":                           {[]process{unsaid(old), unsaid(older), unsaid(old)}, "..m"},
		"all of them falling twice are replicas":                            {[]process{unsaid(old), unsaid(young), unsaid(old), unsaid(young)}, ".r.m"},
		"a sum of floats may be a rounding smaller":                         {[]process{{generated: 0.1 + 0.2}, {generated: 0.3}}, ".."},
		"a series that is gone says nothing":                                {[]process{{generated: 5, second: true}, {generated: 5}}, ".."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, outcome(&history{}, tc.pages...)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFallsThatLieFarApartAreRestarts(t *testing.T) {
	t.Parallel()
	h := &history{}
	full, empty := process{generated: 5000, prompts: 10, requests: 3}, process{generated: 1, prompts: 1, requests: 1}
	pages := []process{full, empty}
	for range together - 2 {
		pages = append(pages, full)
	}
	if got, want := outcome(h, append(pages, full, empty)...), ".r.........r"; got != want {
		t.Errorf("outcome %q, want %q", got, want)
	}
	if h.restarts != 2 {
		t.Errorf("restarts %v, want 2", h.restarts)
	}
}

func TestCountersThatAllVanishSayNothingUntilSomeAreBack(t *testing.T) {
	t.Parallel()
	page := func(engine string, generated float64) *mapping.Result {
		b := collector.NewBuilder(historyTable())
		b.Add("aiperf_server_generation_tokens_total", generated, engine)
		return &mapping.Result{Normalised: b.Families()}
	}
	onlyPrompts := collector.NewBuilder(historyTable())
	onlyPrompts.Add("aiperf_server_prompt_tokens_total", 3)
	none := &mapping.Result{}
	since := func(started float64, p *mapping.Result) *mapping.Result {
		return &mapping.Result{Normalised: p.Normalised, Started: started}
	}
	for name, tc := range map[string]struct {
		pages    []*mapping.Result
		restarts float64
	}{
		"no page has counters again":                 {[]*mapping.Result{page("0", 5), none, none}, 0},
		"they come back larger":                      {[]*mapping.Result{page("0", 5), none, page("0", 6)}, 0},
		"they come back smaller, after a restart":    {[]*mapping.Result{page("0", 5), none, none, page("0", 4)}, 1},
		"other families, as after they were renamed": {[]*mapping.Result{page("0", 5), {Normalised: onlyPrompts.Families()}}, 0},
		"other labels, and more":                     {[]*mapping.Result{page("0", 5), page("1", 6)}, 0},
		"other labels, and less":                     {[]*mapping.Result{page("0", 5), page("1", 4)}, 1},
		"the start has told the restart before": {[]*mapping.Result{
			since(1000, page("0", 5)), since(2000, none), since(2000, page("0", 4)), since(2000, page("0", 3)),
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &history{}
			for _, p := range tc.pages {
				h.see(p)
			}
			if h.restarts != tc.restarts || h.mixed {
				t.Errorf("%v restarts, mixed %v, want %v and no mix", h.restarts, h.mixed, tc.restarts)
			}
		})
	}
}

func TestAMixEndsWhenSixtyPagesInARowFitOneProcess(t *testing.T) {
	t.Parallel()
	a, b := process{started: 1000, generated: 5000}, process{started: 400, generated: 9000}
	h := &history{}
	if got := outcome(h, a, b); got != ".m" {
		t.Fatalf("outcome %q, want .m", got)
	}
	calm := func(n int) string {
		pages := make([]process, n)
		for i := range pages {
			b.generated++
			pages[i] = b
		}
		return outcome(h, pages...)
	}
	if got, want := calm(quiet-1), strings.Repeat(".", quiet-1); got != want || !h.mixed {
		t.Fatalf("outcome %q, mixed %v, want nothing to change for %d pages", got, h.mixed, quiet-1)
	}
	// A replica that was only now reached again.
	if got := outcome(h, a); got != "." {
		t.Fatalf("outcome %q, want .", got)
	}
	if got := outcome(h, b); got != "." {
		t.Fatalf("outcome %q, want .", got)
	}
	if got, want := calm(quiet), strings.Repeat(".", quiet-1)+"c"; got != want || h.mixed {
		t.Errorf("outcome %q, mixed %v, want %q and no mix", got, h.mixed, want)
	}
	if h.restarts != 0 {
		t.Errorf("restarts %v, want none: they are not counted while replicas take turns", h.restarts)
	}
}

// A balancer that chooses at random is seen within a few looks, whether replicas say when they started or not.
func TestABalancerIsSeenWithinAFewLooks(t *testing.T) {
	t.Parallel()
	for _, says := range []bool{true, false} {
		worst := 0
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 1))
			replicas := []process{{started: 100, generated: 1e6, prompts: 5e5, requests: 1000}, {started: 900, generated: 2e4, prompts: 9e5, requests: 30}, {started: 500, generated: 7e5}}
			h, looks := &history{}, 0
			for !h.mixed && looks < 100 {
				r := &replicas[random.IntN(len(replicas))]
				r.generated += 50
				r.requests++
				p := *r
				if !says {
					p.started = 0
				}
				h.see(p.page())
				looks++
			}
			worst = max(worst, looks)
		}
		if worst > 20 {
			t.Errorf("start times told %v: %d looks in the worst of 200 cases, want at most 20", says, worst)
		}
	}
}
