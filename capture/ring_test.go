package capture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func enabled(change ...func(*Config)) Config {
	c := DefaultConfig()
	c.Enabled = true
	for _, f := range change {
		f(&c)
	}
	return c
}

func newRing(config Config) *Ring {
	return New(config, Deps{Clock: metrics.NewSystemClock(), Redactor: &secret.Redactor{}, Version: "1.2.3"})
}

// request is a record that ended at an instant, with a tape of a body of that many bytes.
func request(id string, class metrics.ErrorClass, end time.Duration, body int) *metrics.Record {
	r := &metrics.Record{
		RequestID: id, Outcome: metrics.Success, ConnObtained: true, Status: 200,
		Time: metrics.Timeline{Sched: 1, Start: 1, Sent: 2, Header: 3, End: int64(end)},
		Tape: &metrics.Tape{
			Method: "POST", URL: "http://h/v1", Status: 200, Body: bytes.Repeat([]byte("x"), body), Reads: []metrics.TapeRead{{At: 4, End: body}},
			End: metrics.EndComplete,
		},
	}
	if class != "" {
		r.Outcome, r.Class = metrics.Failure, class
	}
	return r
}

func (r *Ring) finish(target string, record *metrics.Record, verdicts ...metrics.Verdict) {
	m := metrics.Measure(record)
	r.Finished(target, record, &m, verdicts)
}

// ids are those of the kept ones, newest first.
func (r *Ring) ids() string {
	var out []string
	for _, c := range r.List() {
		out = append(out, c.ID)
	}
	return strings.Join(out, " ")
}

func TestRingKeepsFailuresAndWhatIsSlow(t *testing.T) {
	t.Parallel()
	good, bad := metrics.Verdict{Good: true}, metrics.Verdict{}
	tests := []struct {
		name     string
		record   *metrics.Record
		verdicts []metrics.Verdict
		config   Config
		want     Reason
	}{
		{"a failure", request("r", metrics.ErrTruncated, 1e9, 9), []metrics.Verdict{bad}, enabled(), Failed},
		{"a success", request("r", "", 1e9, 9), []metrics.Verdict{good}, enabled(), ""},
		{"a success that missed one of its objectives", request("r", "", 1e9, 9), []metrics.Verdict{good, bad}, enabled(), Slow},
		{"a success that took long", request("r", "", 3e9, 9), nil, enabled(func(c *Config) { c.SlowerThan = 2 * time.Second }), Slow},
		{"a success that did not", request("r", "", 1e9, 9), nil, enabled(func(c *Config) { c.SlowerThan = 2 * time.Second }), ""},
		{"a warm-up that took long", warmup(request("r", "", 3e9, 9)), nil, enabled(func(c *Config) { c.SlowerThan = 2 * time.Second }), ""},
		{"a warm-up that failed", warmup(request("r", metrics.ErrEmpty, 3e9, 9)), nil, enabled(), Failed},
		{"one that was cancelled", cancelled(request("r", "", 3e9, 9)), nil, enabled(func(c *Config) { c.SlowerThan = 1 }), ""},
		{"one without a connection", unconnected(request("r", metrics.ErrConnect, 1e9, 0)), nil, enabled(), ""},
		{"one without a tape", untaped(request("r", metrics.ErrTruncated, 1e9, 0)), nil, enabled(), ""},
		{"a failure while it is off", request("r", metrics.ErrTruncated, 1e9, 9), nil, DefaultConfig(), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ring := newRing(tt.config)
			ring.finish("t", tt.record, tt.verdicts...)
			var got Reason
			if list := ring.List(); len(list) > 0 {
				got = Reason(list[0].Reason)
			}
			if got != tt.want || ring.Has("r") != (tt.want != "") {
				t.Errorf("reason %q, kept %v, want %q", got, ring.Has("r"), tt.want)
			}
		})
	}
}

func warmup(r *metrics.Record) *metrics.Record {
	r.Warmup = true
	return r
}

func cancelled(r *metrics.Record) *metrics.Record {
	r.Outcome = metrics.Cancelled
	return r
}

func unconnected(r *metrics.Record) *metrics.Record {
	r.ConnObtained = false
	return r
}

func untaped(r *metrics.Record) *metrics.Record {
	r.Tape = nil
	return r
}

func TestATargetThatFailsAllTheTimeDoesNotPushOthersOut(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled(func(c *Config) { c.MaxStreams = 4 }))
	at := time.Duration(0)
	fail := func(target, id string, class metrics.ErrorClass) {
		at += time.Second
		ring.finish(target, request(id, class, at, 10))
	}
	fail("quiet", "q", metrics.ErrTLS)
	fail("flapping", "rare", metrics.ErrParse)
	for i := range 50 {
		fail("flapping", fmt.Sprint(i), metrics.ErrTruncated)
	}
	if got, want := ring.ids(), "49 48 rare q"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestRingStaysWithinItsMemory(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled(func(c *Config) { c.MaxBytes = 10_000 }))
	ring.finish("small", request("small", metrics.ErrParse, 1e9, 100))
	for i := range 20 {
		ring.finish("large", request(fmt.Sprint(i), metrics.ErrParse, time.Duration(i)*time.Second, 3000))
		var sum int64
		for _, c := range ring.kept {
			sum += c.size()
		}
		if sum != ring.bytes || sum > 10_000 {
			t.Fatalf("%d bytes are kept, %d are counted, 10000 are allowed", sum, ring.bytes)
		}
	}
	if got, want := ring.ids(), "19 18 17 small"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	ring.finish("larger", request("all", metrics.ErrParse, 1e9, 20_000))
	if got, want := ring.ids(), "19 18 17 small"; got != want {
		t.Errorf("after one that cannot be kept: %s, want %s", got, want)
	}
}

func TestOfAKindOneInASecondIsKept(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled())
	for i, r := range []struct {
		target string
		class  metrics.ErrorClass
		at     time.Duration
	}{
		{"a", metrics.ErrParse, 1000 * time.Millisecond},
		{"a", metrics.ErrParse, 1999 * time.Millisecond}, // too soon
		{"a", metrics.ErrTruncated, 1999 * time.Millisecond},
		{"b", metrics.ErrParse, 1999 * time.Millisecond},
		{"a", metrics.ErrParse, 2000 * time.Millisecond},
	} {
		ring.finish(r.target, request(fmt.Sprint(i), r.class, r.at, 5))
	}
	if got, want := ring.ids(), "4 3 2 0"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	if got := ring.lost[repeated]; got != 1 {
		t.Errorf("%d were counted as repeated, want 1", got)
	}
}

func TestTargetsThatComeAndGoLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled())
	for i := range 1000 {
		ring.finish(fmt.Sprintf("pod-%d", i), request(fmt.Sprint(i), metrics.ErrParse, time.Duration(2*i)*time.Second, 5))
	}
	if n := len(ring.last); n != 1 {
		t.Errorf("something is remembered of %d targets after the second in which it matters", n)
	}
}

func TestReconfiguredItKeepsWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled())
	for i := range 6 {
		ring.finish([]string{"a", "b"}[i%2], request(fmt.Sprint(i), metrics.ErrParse, time.Duration(i)*time.Second, 5))
	}
	ring.Reconfigure(enabled(func(c *Config) { c.MaxStreams, c.MaxStreamBytes = 2, 4096 }))
	if got, want := ring.ids(), "5 4"; got != want || ring.Tape("a") != 4096 {
		t.Errorf("with room for two: %s, want %s; tapes of %d bytes", got, want, ring.Tape("a"))
	}
	ring.Reconfigure(DefaultConfig())
	if got := ring.ids(); got != "" || ring.bytes != 0 || ring.Tape("a") != 0 || ring.Families() != nil {
		t.Errorf("switched off, it keeps %q in %d bytes and wants tapes of %d", got, ring.bytes, ring.Tape("a"))
	}
	var file bytes.Buffer
	if found, err := ring.Write(&file, "4"); found || err != nil || file.Len() > 0 {
		t.Errorf("found %v, %v, %d bytes", found, err, file.Len())
	}
}

// A record and its tape are only valid during the call.
func TestWhatIsKeptIsACopy(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled())
	r := request("r", metrics.ErrParse, 1e9, 5)
	r.Tape.RequestBody = []byte("asked")
	r.Tape.Header = map[string][]string{"A": {"b"}}
	ring.finish("t", r)
	for _, p := range [][]byte{r.Tape.Body, r.Tape.RequestBody} {
		clear(p)
	}
	r.Tape.Reads[0].End = 0
	r.Tape.Header["A"][0] = "c"
	c := ring.find("r")
	if string(c.Body) != "xxxxx" || string(c.RequestBody) != "asked" || c.Reads[0].End != 5 || c.Header["A"][0] != "b" {
		t.Errorf("got %+v", c)
	}
}

// Others may want more of a tape than is kept here.
func TestNoMoreOfATapeIsKeptThanIsAllowed(t *testing.T) {
	t.Parallel()
	read := metrics.TapeReadBytes
	for limit, want := range map[int][]Piece{
		1 << 20:     {{End: 10}, {End: 30}},
		30 + 2*read: {{End: 10}, {End: 30}},
		29 + 2*read: {{End: 10}, {End: 29}},
		10 + 2*read: {{End: 10}},
		10 + read:   {{End: 10}},
		9 + read:    {{End: 9}},
		read:        {},
		1:           {},
	} {
		r := request("r", metrics.ErrParse, 1e9, 30)
		r.Tape.Reads = []metrics.TapeRead{{At: 3, End: 10}, {At: 3, End: 30}}
		r.Tape.RequestBody = make([]byte, 100)
		c := newCapture(r, &metrics.Measures{}, limit)
		length := 0
		for i := range c.Reads {
			c.Reads[i].At, length = 0, c.Reads[i].End
		}
		if diff := cmp.Diff(want, c.Reads); diff != "" {
			t.Errorf("of %d bytes (-want +got):\n%s", limit, diff)
		}
		if len(c.Body) != length || c.Truncated != (length < 30) || len(c.RequestBody) != min(100, limit) {
			t.Errorf("of %d bytes: %d, truncated %v, %d of the request", limit, len(c.Body), c.Truncated, len(c.RequestBody))
		}
	}
}

func TestSeriesTellWhatIsKeptAndWhatIsNot(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled(func(c *Config) { c.MaxStreams = 1 }))
	ring.finish("t", request("a", metrics.ErrParse, 1e9, 50))
	ring.finish("t", request("b", metrics.ErrParse, 1e9, 50))
	ring.finish("t", request("c", metrics.ErrParse, 2e9, 50))
	got := map[string]float64{}
	for _, family := range ring.Families() {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{
		"aiperf_exporter_captures": 1, "aiperf_exporter_captures_bytes": float64(ring.bytes),
		"aiperf_exporter_captures_taken_total failed": 2, "aiperf_exporter_captures_taken_total slow": 0,
		"aiperf_exporter_captures_dropped_total repeated": 1, "aiperf_exporter_captures_dropped_total evicted": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRingIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	ring := newRing(enabled(func(c *Config) { c.MaxStreams = 5 }))
	var all sync.WaitGroup
	for i := range 8 {
		target := fmt.Sprint(i)
		all.Go(func() {
			for n := range 50 {
				ring.finish(target, request(target, metrics.ErrParse, time.Duration(n)*time.Second, 100))
				ring.Reconfigure(enabled(func(c *Config) { c.MaxStreams = 5 + n%2 }))
				_, _ = ring.Write(&bytes.Buffer{}, target)
				ring.Families()
			}
		})
	}
	all.Wait()
	if n := len(ring.List()); n > 6 {
		t.Errorf("%d are kept", n)
	}
}

func TestConfigFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"nothing", func(*Config) {}, nil},
		{"the least", func(c *Config) { c.MaxStreams, c.MaxStreamBytes, c.MaxBytes = 1, 1<<10, 2<<10 }, nil},
		{"negative", func(c *Config) { c.SlowerThan, c.MaxStreams = -1, -1 }, []string{"c.slower_than", "c.max_streams"}},
		{"streams that are too large", func(c *Config) { c.MaxStreamBytes, c.MaxBytes = 16<<20+1, 1<<40 }, []string{"c.max_stream_size"}},
		{"streams that have no room", func(c *Config) { c.MaxBytes = 2<<20 - 1 }, []string{"c.max_size"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := enabled(tt.change)
			var got []string
			for _, err := range config.Validate("c") {
				key, _, _ := strings.Cut(err.Error(), ":")
				got = append(got, key)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
