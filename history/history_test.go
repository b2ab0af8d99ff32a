package history

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

var _ generator.Observer = (*History)(nil)

// epoch is the wall-clock time of instant 0.
var epoch = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// handClock is moved by hand.
type handClock struct{ now int64 }

func (c *handClock) Now() int64              { return c.now }
func (c *handClock) Wall(at int64) time.Time { return epoch.Add(time.Duration(at)) }

const second = int64(time.Second)

// interactive is good with a TTFT of 500 ms and a latency of 5 s.
var interactive = metrics.SLO{
	Name: "interactive", Objective: 0.9, CountDrops: true,
	Thresholds: []metrics.Threshold{{Metric: metrics.SLOTimeToFirstToken, Limit: 5e8}, {Metric: metrics.SLORequestLatency, Limit: 5e9}},
}

// rig is a History with one target, a, which has the objective interactive unless others are given.
type rig struct {
	*History
	clock *handClock
	slos  []metrics.SLO
	next  int
}

func newRig(config Config, slos ...metrics.SLO) *rig {
	r := &rig{clock: &handClock{now: 1000 * second}, slos: slos}
	r.History = New(config, Deps{Clock: r.clock, Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2hunter2", "<secret>") }})
	r.SetTargets([]Target{{Name: "a", SLOs: slos}})
	return r
}

// finish ends a request now that took ttft until its first token and took in all.
func (r *rig) finish(class metrics.ErrorClass, ttft, took time.Duration) *metrics.Record {
	record := &metrics.Record{RequestID: fmt.Sprintf("r%d", r.next), Outcome: metrics.Success, Class: class, Streaming: true}
	r.next++
	start := r.clock.now - int64(took)
	record.Time = metrics.Timeline{Sched: start, Issue: start, Start: start, Sent: start + 1, FirstByte: start + int64(ttft), End: r.clock.now}
	if class != "" {
		record.Outcome, record.Detail = metrics.Failure, "the server said no"
	} else {
		record.Content = []int64{start + int64(ttft), r.clock.now}
		record.Usage.Output, record.OutputSource = metrics.Tokens(11), metrics.SourceUsage
	}
	r.hand(record)
	return record
}

// hand gives a record as a target does.
func (r *rig) hand(record *metrics.Record) {
	m := metrics.Measure(record)
	var verdicts []metrics.Verdict
	if record.Outcome != metrics.Cancelled {
		for i := range r.slos {
			verdicts = append(verdicts, r.slos[i].Evaluate(record, &m))
		}
	}
	r.Finished("a", record, &m, verdicts)
}

// fast is a request that nothing is wrong with.
func (r *rig) fast() { r.finish("", 200*time.Millisecond, time.Second) }

func (r *rig) row(state string) view.Target {
	row := view.Target{Name: "a", State: state}
	r.Fill(&row)
	return row
}

func (r *rig) ids() string {
	var ids []string
	for _, record := range r.Records("a") {
		ids = append(ids, record.ID)
	}
	return strings.Join(ids, " ")
}

func TestTheLastRecordsAreKeptAndFailuresThatAreOlder(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 3})
	for i := range 30 {
		if i < 25 && i%5 != 0 { // r0, r5 … r20 succeed
			r.finish(metrics.ErrHTTP5xx, 0, time.Second)
		} else {
			r.fast()
		}
	}
	want := "r29 r28 r27 r24 r23 r22 r21 r19 r18 r17 r16 r14 r13 r12 r11 r9 r8 r7 r6 r4 r3 r2 r1"
	if got := r.ids(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.finish(metrics.ErrDNS, 0, time.Second)
	if got := strings.Fields(r.ids()); len(got) != 22 || got[0] != "r30" || got[len(got)-1] != "r2" {
		t.Errorf("after the 21st failure: %v", got)
	}
	r.Reconfigure(Config{Records: 1})
	if got := strings.Fields(r.ids()); len(got) != 20 || got[0] != "r30" || got[1] != "r24" {
		t.Errorf("with fewer records: %v", got)
	}
}

func TestNothingIsKeptOfSuccessesWhereNoneAreWanted(t *testing.T) {
	t.Parallel()
	r := newRig(Config{})
	r.fast()
	r.finish(metrics.ErrDNS, 0, time.Second)
	r.fast()
	if got := r.ids(); got != "r1" {
		t.Errorf("got %s, want r1", got)
	}
	if row := r.row("running"); row.LastRecord.ID != "r2" || row.LastFailure.ID != "r1" || !row.LastSuccess.Equal(row.LastRecord.At.Add(time.Second)) {
		t.Errorf("last %v, last failure %v, last success %v", row.LastRecord, row.LastFailure, row.LastSuccess)
	}
}

func TestARecordIsWhatTheRequestWas(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 5}, interactive)
	s := 900 * second
	record := &metrics.Record{
		RequestID: "abc", Trace: metrics.Trace{ID: [16]byte{0xab, 15: 1}}, Session: "s1", TurnIndex: 2, Warmup: true, Streaming: true, Suspect: true,
		Outcome: metrics.Success, Finish: metrics.FinishLength, Status: 200, ConnReused: true,
		Time:    metrics.Timeline{Sched: s, Issue: s + second, Start: s + 2*second, Sent: s + 3*second, End: s + 9*second},
		Content: []int64{s + 5*second, s + 7*second},
		Usage:   metrics.Usage{Input: metrics.Tokens(7), Output: metrics.Tokens(3)}, OutputSource: metrics.SourceUsage,
	}
	r.hand(record)
	want := []view.Record{{
		ID: "abc", TraceID: "ab000000000000000000000000000001", Target: "a", At: epoch.Add(900 * time.Second), Outcome: "success", Status: 200,
		Finish: "length", Suspect: true, Warmup: true, Reused: true, Missed: []string{"interactive"}, Session: "s1", Turn: 2,
		InputTokens: new(int64(7)), OutputTokens: new(int64(3)), TTFT: new(3.0), ITL: new(1.0), Latency: new(5.0),
		Phases: []view.Phase{
			{Name: "queue", Start: 0, End: 1},
			{Name: "prepare", Start: 1, End: 2},
			{Name: "send", Start: 2, End: 3},
			{Name: "wait", Start: 3, End: 5},
			{Name: "decode", Start: 5, End: 7},
			{Name: "rest", Start: 7, End: 9},
		},
		Total: 9, Ticks: []float64{5, 7},
	}}
	if diff := cmp.Diff(want, r.Records("a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongStreamsAreThinnedOut(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 1})
	record := &metrics.Record{Outcome: metrics.Success, Streaming: true, Time: metrics.Timeline{Start: second, End: 12 * second}}
	for i := range int64(10_000) {
		record.Content = append(record.Content, 2*second+i*1e6)
	}
	r.hand(record)
	got := r.Records("a")[0].Ticks
	if len(got) != view.MaxTicks || got[0] != 1 || got[len(got)-1] != 10.999 {
		t.Fatalf("%d ticks from %v to %v", len(got), got[0], got[len(got)-1])
	}
	for i := 1; i < len(got); i++ {
		if gap := got[i] - got[i-1]; gap < 0.038 || gap > 0.041 {
			t.Fatalf("gap %v between ticks %d and %d: not even", gap, i-1, i)
		}
	}
}

func TestBodiesAreKeptOnlyWhereTheyAreAskedForAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	tape := func() *metrics.Tape {
		return &metrics.Tape{RequestBody: []byte(`{"prompt":"key hunter2hunter2"}`), Body: []byte("data: hunter2hunter2\n\n")}
	}
	for name, test := range map[string]struct {
		config         Config
		tape           *metrics.Tape
		prompt, answer string
	}{
		"not asked for": {Config{Records: 1}, tape(), "", ""},
		"no tape":       {Config{Records: 1, KeepBodies: true}, nil, "", ""},
		"asked for":     {Config{Records: 1, KeepBodies: true}, tape(), `{"prompt":"key <secret>"}`, "data: <secret>\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(test.config)
			r.hand(&metrics.Record{Outcome: metrics.Success, Time: metrics.Timeline{Start: 1, End: 2}, Tape: test.tape})
			got := r.Records("a")[0]
			if diff := cmp.Diff([]string{test.prompt, test.answer}, []string{got.Prompt, got.Answer}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if row := r.row("running"); row.LastRecord.Prompt != "" || row.LastRecord.Answer != "" {
				t.Error("bodies in the fleet")
			}
			r.Reconfigure(Config{Records: 1})
			if got := r.Records("a")[0]; got.Prompt != "" || got.Answer != "" {
				t.Error("bodies are still there after they were switched off")
			}
		})
	}
}

// A secret of any length that ends anywhere near the place where a body is cut.
func TestNoPartOfASecretIsLeftWhereABodyIsCut(t *testing.T) {
	t.Parallel()
	h := New(Config{}, Deps{Clock: &handClock{}, Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2hunter2", "") }})
	for at := maxBody - 20; at < maxBody+20; at++ {
		for _, more := range []int{0, 100, 3 * maxBody} {
			raw := strings.Repeat("é", at/2) + "hunter2hunter2" + strings.Repeat("hunter2hunter2", 1000) + strings.Repeat("x", more)
			if got := h.body([]byte(raw), false); strings.Contains(got, "h") || len(got) > maxBody || !utf8.ValidString(got) {
				t.Fatalf("secret at %d with %d behind it: %d bytes, ends with %q", at, more, len(got), got[max(0, len(got)-30):])
			}
		}
	}
}

func TestNoPartOfASecretIsLeftWhereATapeEnds(t *testing.T) {
	t.Parallel()
	h := New(Config{Records: 1, KeepBodies: true}, Deps{Clock: &handClock{}, Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2hunter2", "") }})
	h.SetTargets([]Target{{Name: "a"}})
	begun := []byte(strings.Repeat("e", maxSecret) + "hunter2hun") // the rest of the secret was not recorded
	r := &metrics.Record{
		Outcome: metrics.Success, RequestBytes: int64(len(begun)) + 4, Time: metrics.Timeline{Start: 1, End: 2},
		Tape: &metrics.Tape{Body: begun, Truncated: true, RequestBody: begun},
	}
	m := metrics.Measure(r)
	h.Finished("a", r, &m, nil)
	for _, kept := range h.Records("a") {
		if strings.Contains(kept.Prompt+kept.Answer, "h") || kept.Prompt == "" || kept.Answer == "" {
			t.Errorf("kept %q and %q", kept.Prompt, kept.Answer)
		}
	}
	if most := h.Tape("a"); most < maxBody+maxSecret {
		t.Errorf("%d bytes are recorded", most)
	}
}

func TestAllTargetsTogetherStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	clock := &handClock{now: 1000 * second}
	h := New(Config{Records: 1000, KeepBodies: true}, Deps{Clock: clock})
	h.SetTargets([]Target{{Name: "quiet"}, {Name: "loud"}, {Name: "louder"}})
	finish := func(target string, outcome metrics.Outcome, body int) {
		clock.now += second
		r := &metrics.Record{
			Outcome: outcome, Class: metrics.ErrHTTP5xx, Time: metrics.Timeline{Start: clock.now - second, End: clock.now},
			Tape: &metrics.Tape{Body: []byte(strings.Repeat("x", body)), RequestBody: []byte(strings.Repeat("y", body))},
		}
		m := metrics.Measure(r)
		h.Finished(target, r, &m, nil)
	}
	finish("quiet", metrics.Failure, 100)
	for range 900 {
		finish("loud", metrics.Success, maxBody)
		finish("louder", metrics.Failure, maxBody)
	}
	held := int64(0)
	for _, target := range *h.targets.Load() {
		sum := int64(0)
		for e := range target.records.newestFirst() {
			sum += e.size()
		}
		if sum != target.records.bytes || sum != target.held.Load() {
			t.Errorf("records of %d bytes are counted as %d and told as %d", sum, target.records.bytes, target.held.Load())
		}
		held += sum
	}
	if got := h.bytes.Load(); got != held || got > maxBytes || got < maxBytes-1<<17 {
		t.Errorf("%d bytes are told, %d held, the limit is %d", got, held, maxBytes)
	}
	if n := len(h.Records("quiet")); n != 1 {
		t.Errorf("the only failure of the quiet target was lost to others: %d records", n)
	}
	if loud, louder := len(h.Records("loud")), len(h.Records("louder")); loud < 100 || louder < 100 {
		t.Errorf("%d and %d records of targets that have the same right", loud, louder)
	}
	for _, name := range []string{"quiet", "loud", "louder"} {
		h.Forget(name)
	}
	if got := h.bytes.Load(); got != 0 {
		t.Errorf("%d bytes are left of nothing", got)
	}
}

func TestOneRecordThatIsTooLargeForAllDoesNotHang(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	r.limit = 1
	r.fast()
	if got := r.ids(); got != "" || r.bytes.Load() != 0 {
		t.Errorf("kept %q in %d bytes", got, r.bytes.Load())
	}
}

func TestTargetsComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10}, interactive)
	r.fast()
	r.SetTargets([]Target{{Name: "b"}})
	if got := r.ids(); got != "r0" {
		t.Errorf("a target that is not named any more is to be forgotten later: %q", got)
	}
	r.Forget("a")
	r.fast()
	r.Dropped("a", metrics.DropInFlight, 1)
	if row := r.row("running"); r.Records("a") != nil || row.Health != view.Unknown || row.LastRecord != nil {
		t.Errorf("a target that was forgotten: %+v", row)
	}
	r.Forget("a")
	r.SetTargets([]Target{{Name: "a", SLOs: r.slos}})
	r.fast()
	if got := r.ids(); got != "r2" {
		t.Errorf("a target that came back begins with %q", got)
	}
}

// Everything at once, for the race detector; and nothing of it may be lost.
func TestManyGoroutinesAtOnce(t *testing.T) {
	t.Parallel()
	h := New(Config{Records: 50, KeepBodies: true}, Deps{Clock: metrics.NewSystemClock()})
	h.limit = 1 << 16
	names := []string{"a", "b", "c"}
	set := func() {
		for _, name := range names {
			h.SetTargets([]Target{{Name: name, SLOs: []metrics.SLO{interactive}}})
		}
	}
	set()
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			for n := range 300 {
				r := &metrics.Record{Outcome: metrics.Success, Time: metrics.Timeline{Start: 1, End: int64(n + 2)}, Content: []int64{2}, Tape: &metrics.Tape{Body: make([]byte, 1000)}}
				m := metrics.Measure(r)
				h.Finished(name, r, &m, []metrics.Verdict{{Good: true}})
				h.Dropped(name, metrics.DropInFlight, 1)
			}
		})
		all.Go(func() {
			for range 100 {
				h.Fill(&view.Target{Name: name})
				h.Records(name)
				h.Families()
			}
		})
		all.Go(func() {
			for n := range 100 {
				h.Reconfigure(Config{Records: n, KeepBodies: n%2 == i%2})
				h.Forget(name)
				set()
			}
		})
	}
	all.Wait()
	for _, name := range names {
		h.Forget(name)
	}
	if got := h.bytes.Load(); got != 0 {
		t.Errorf("%d bytes are left of nothing", got)
	}
}

func TestFamiliesTellWhatIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(Config{Records: 10})
	values := func() map[string]float64 {
		out := map[string]float64{}
		for _, f := range r.Families() {
			out[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		return out
	}
	if diff := cmp.Diff(map[string]float64{bytesSeries: 0, bodiesSeries: 0}, values()); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	r.fast()
	r.Reconfigure(Config{Records: 10, KeepBodies: true})
	if got := values(); got[bytesSeries] <= 0 || got[bodiesSeries] != 1 {
		t.Errorf("later: %v", got)
	}
}

func TestListsHaveAsManyPlacesAsTheyNeed(t *testing.T) {
	t.Parallel()
	if len(drops{}) != len(metrics.DropReasons) {
		t.Errorf("%d places for %d drop reasons", len(drops{}), len(metrics.DropReasons))
	}
	if n := len((&count{}).classes); n < len(metrics.ErrorClasses) || len(metrics.ErrorClasses) > math.MaxInt8 {
		t.Errorf("%d places for %d error classes", n, len(metrics.ErrorClasses))
	}
	if len(limited) != 8 {
		t.Errorf("%d measures for 8 bits", len(limited))
	}
}
