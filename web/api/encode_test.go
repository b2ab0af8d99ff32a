package api

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	type inner struct {
		At   time.Time  `json:"at"`
		Gone *time.Time `json:"gone,omitempty"`
		Zero time.Time  `json:"zero"`
		N    *float64   `json:"n"`
	}
	for name, test := range map[string]struct {
		v    any
		want string
	}{
		"times are UTC with milliseconds":        {inner{At: at}, `{"at":"2026-01-02T02:04:05.678Z","zero":"0001-01-01T00:00:00.000Z","n":null}`},
		"even where there are none":              {at.Truncate(time.Second), `"2026-01-02T02:04:05.000Z"`},
		"what is no number is null":              {[]float64{math.NaN(), math.Inf(1), math.Inf(-1)}, `[null,null,null]`},
		"a pointer to no number as well":         {inner{At: at, N: new(math.NaN())}, `{"at":"2026-01-02T02:04:05.678Z","zero":"0001-01-01T00:00:00.000Z","n":null}`},
		"numbers are as short as they can be":    {[]float64{0, 0.1, 1, -2.5, 1e-7, 1e21, 123456789, 4.0 / 3}, `[0,0.1,1,-2.5,1e-07,1e+21,123456789,1.3333333333333333]`},
		"a list that is nil is empty":            {[]string(nil), `[]`},
		"a map that is nil is empty":             {map[string]int(nil), `{}`},
		"nothing is null":                        {nil, `null`},
		"maps are in order":                      {map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		"text is escaped, markup too":            {"<script>\"\x00\n\u2028\xff", `"\u003cscript\u003e\"\u0000\n\u2028\ufffd"`},
		"what is empty is left out if it may be": {view.Reload{At: at, Trigger: "poll"}, `{"at":"2026-01-02T02:04:05.678Z","trigger":"poll","ok":false,"added":0,"changed":0,"removed":0,"kept":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := encode(test.v)
			if diff := cmp.Diff(test.want+"\n", string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}

// encoding/json is the reference wherever it does the same.
func FuzzEncodeIsReadAsWhatItWas(f *testing.F) {
	f.Add("name", "reason", 0.5, int64(3), true)
	f.Add("\xff\u2028<", "", math.MaxFloat64, int64(math.MinInt64), false)
	f.Add("a", "b", 5e-324, int64(0), true)
	f.Fuzz(func(t *testing.T, text, key string, number float64, n int64, ok bool) {
		want := view.Record{
			ID: text, Detail: key, At: time.Unix(0, 0).UTC().Add(time.Duration(n) / 1e6 * 1e6), Target: text, Warmup: ok, InputTokens: &n, TTFT: &number,
			Missed: []string{key, text}, Phases: []view.Phase{{Name: view.PhaseName(key), Start: number, End: number}}, Ticks: []float64{number, number}, Total: number,
		}
		if math.IsNaN(number) || math.IsInf(number, 0) {
			t.Skip("encoding/json cannot tell it")
		}
		reference, err := json.Marshal(want)
		if err != nil {
			t.Skip(err)
		}
		var fromReference, got view.Record
		if err := json.Unmarshal(reference, &fromReference); err != nil {
			t.Skip(err)
		}
		if err := json.Unmarshal(encode(want), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fromReference, got); diff != "" {
			t.Errorf("(-encoding/json +got):\n%s", diff)
		}
	})
}

func BenchmarkEncodeFleet(b *testing.B) {
	t := view.Target{Name: "a", Health: view.Healthy, Window: view.Window{Errors: map[string]int{"dns": 1}}, Labels: map[string]string{"team": "ml"}}
	targets := make([]row, 300)
	for i := range targets {
		targets[i] = rowOf(&t)
	}
	for b.ReportAllocs(); b.Loop(); {
		encode(targets)
	}
}
