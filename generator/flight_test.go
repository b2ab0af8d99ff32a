package generator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// logged keeps what a flight hears.
type logged struct {
	Starts   [][2]int64 // instant and input tokens
	Contents []int64
	Told     []metrics.Count
}

func (l *logged) Start(at, inputTokens int64) { l.Starts = append(l.Starts, [2]int64{at, inputTokens}) }

func (l *logged) Content(at int64, output metrics.Count) {
	l.Contents = append(l.Contents, at)
	l.Told = append(l.Told, output)
}

func TestAFlightHearsWhatTheThroughputNeeds(t *testing.T) {
	t.Parallel()
	const body = `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`
	tests := []struct {
		name   string
		warmup bool
		events []transport.Event
		want   logged
	}{
		{
			"a stream tells each content event, with its count if it has one", false,
			[]transport.Event{
				{Data: []byte(role(10).data), At: 10},
				{Data: []byte(bundle(20, "abc", 9, 3).data), At: 20},
				{Data: []byte(text(30, "d").data), At: 30},
				{Data: []byte(finish(40, "stop").data), At: 40},
			},
			logged{[][2]int64{{5, 64}}, []int64{20, 30}, []metrics.Count{metrics.Tokens(3), {}}},
		},
		{
			"a body tells its start alone", false,
			[]transport.Event{{Data: []byte(body), Body: true, At: 20}},
			logged{Starts: [][2]int64{{5, 64}}},
		},
		{
			"a request of the warm-up has no start", true,
			[]transport.Event{{Data: []byte(text(20, "a").data), At: 20}},
			logged{Contents: []int64{20}, Told: []metrics.Count{{}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			codec, err := endpoint.New(endpoint.Config{Type: "chat", MaxTokensField: endpoint.FieldAuto})
			if err != nil {
				t.Fatal(err)
			}
			var got logged
			x := &exchange{decoder: codec.Decoder(nil), record: &metrics.Record{Warmup: test.warmup}, flight: &got, inputTokens: 64}
			x.Start(5)
			for i := range test.events {
				x.Event(&test.events[i])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATargetIsStreamedAsItsBodiesSay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*workload.Config)
		want   bool
	}{
		"a stream by default":                {func(*workload.Config) {}, true},
		"no stream is configured":            {func(c *workload.Config) { c.Stream = false }, false},
		"a field of the body overrules it":   {func(c *workload.Config) { c.Extra = map[string]any{"stream": false} }, false},
		"and may ask for one where none was": {func(c *workload.Config) { c.Stream, c.Extra = false, map[string]any{"stream": true} }, true},
	} {
		c := TargetConfig{Endpoint: endpoint.Config{Type: endpoint.Chat, MaxTokensField: endpoint.FieldAuto}, Workload: workload.DefaultConfig(), Load: load.DefaultConfig(), Accounting: metrics.EvenSpread}
		test.change(&c.Workload)
		info := c.info()
		if info.Streaming != test.want || info.Accounting != metrics.EvenSpread {
			t.Errorf("%s: streaming %t, accounting %s", name, info.Streaming, info.Accounting)
		}
	}
}
