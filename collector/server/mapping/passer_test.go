package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func TestFamiliesArePassedThrough(t *testing.T) {
	t.Parallel()
	everything := Passthrough{Allow: []string{".*"}}
	for _, tt := range []struct {
		name string
		pass Passthrough
		page string
		want []string
	}{
		{"none without allow", Passthrough{Deny: []string{"x"}}, family("gauge", "a", " 1"), nil},
		{
			"those whose whole name is allowed",
			Passthrough{Allow: []string{"vllm:a", "b.*"}},
			family("gauge", "vllm:a", " 1") + family("gauge", "vllm:a_b", " 2") + family("gauge", "bb", " 3") + family("gauge", "ab", " 4"),
			[]string{"bb{} gauge 3", "vllm:a{} gauge 1"},
		},
		{
			"deny wins",
			Passthrough{Allow: []string{".*"}, Deny: []string{"a|b"}},
			family("gauge", "a", " 1") + family("gauge", "ab", " 2"),
			[]string{"ab{} gauge 2"},
		},
		{"each expression for itself", Passthrough{Allow: []string{"(?i)a", "b", "c|d"}}, family("gauge", "A", " 1") + family("gauge", "B", " 2") +
			family("gauge", "d", " 3"), []string{"A{} gauge 1", "d{} gauge 3"}},
		{
			"some never", everything, family("gauge", "python_info", " 1") + family("gauge", "process_x", " 1") + family("gauge", "go_x", " 1") +
				family("gauge", "promhttp_x", " 1") + family("gauge", "x_created", " 1") + family("gauge", "aiperf_x", " 1") + family("gauge", "gopher", " 1"),
			[]string{"gopher{} gauge 1"},
		},
		{
			"all types, counters with _total",
			Passthrough{Allow: []string{".*"}, Prefix: "engine_"},
			family("counter", "c", " 1") + family("counter", "d_total", " 2") + family("gauge", "g", " NaN") + family("untyped", "u", " 3") +
				family("histogram", "h", " 4") + "# TYPE s summary\ns{quantile=\"0.5\"} NaN\ns_sum 5\ns_count 6\n",
			[]string{
				"engine_c_total{} counter 1", "engine_d_total{} counter 2", "engine_g{} gauge NaN", "engine_h{} histogram 4 4 10:1",
				"engine_s{} summary 6 5", "engine_u{} untyped 3",
			},
		},
		{
			"labels of ours rename the server's", everything, family("gauge", "a", `{target="x",instance_id="y",exported_target="z",b=""} 1`),
			[]string{"a{exported_exported_target=x,exported_instance_id=y,exported_target=z} gauge 1"},
		},
		{
			"labels are left out and renamed",
			Passthrough{Allow: []string{".*"}, DropLabels: []string{"pod"}, RenameLabels: map[string]string{"m": "model"}},
			family("gauge", "a", `{pod="p",m="x"} 1`, `{pod="p",m="y"} 2`),
			[]string{"a{model=x} gauge 1", "a{model=y} gauge 2"},
		},
		{
			"not where two series become one",
			Passthrough{Allow: []string{".*"}, DropLabels: []string{"pod"}},
			family("gauge", "a", `{pod="p"} 1`, `{pod="q"} 2`) + family("gauge", "b", " 3"),
			[]string{"b{} gauge 3"},
		},
		{
			"not where two labels get one name",
			Passthrough{Allow: []string{".*"}, RenameLabels: map[string]string{"m": "model"}},
			family("gauge", "a", `{m="x",model="y"} 1`), nil,
		},
		{
			"not what would be mixed up with a part of another", everything, family("histogram", "h", " 4") + family("gauge", "h_count", " 5") +
				family("gauge", "h_max", " 6"),
			[]string{"h{} histogram 4 4 10:1", "h_max{} gauge 6"},
		},
		{
			"names that only newer readers take become such that all take", everything,
			"{\"a.b c\",\"x.y\"=\"1\",\"x:z\"=\"2\",\"..name__\"=\"3\"} 1\n{\"5\"} 2\n",
			[]string{"_{} untyped 2", "a_b_c{x_y=1,x_z=2} untyped 1"},
		},
		{
			"not where they become ours, another family or another label", everything,
			"{\"go.threads\"} 1\n{\"aiperf:server_up\"} 1\n{\"aiperf.server.up\"} 1\n{\"x.created\"} 1\na_b 1\n{\"a.b\"} 2\nc{\"d.e\"=\"1\",d_e=\"2\"} 1\n" +
				"{\"f\",\"instance.id\"=\"x\"} 1\n",
			[]string{"a_b{} untyped 1", "aiperf:server_up{} untyped 1", "f{exported_instance_id=x} untyped 1"},
		},
		{
			"not what a prefix makes ours",
			Passthrough{Allow: []string{".*"}, Prefix: "aiperf"},
			family("gauge", "_server_up", " 1") + family("gauge", "x", " 1"),
			[]string{"aiperfx{} gauge 1"},
		},
		{"not a second family of one name", everything, family("counter", "c", " 1") + family("gauge", "c_total", " 2"), []string{"c_total{} counter 1"}},
		{"Ray's labels of a session are left out", everything, family("gauge", "ray_a", `{SessionName="s",WorkerId="w",deployment="d"} 1`) +
			family("gauge", "a", `{SessionName="s"} 1`), []string{"a{SessionName=s} gauge 1", "ray_a{deployment=d} gauge 1"}},
		{"a counter that is no number is absent", everything, family("counter", "c_total", `{a="1"} NaN`, `{a="2"} 1`), []string{"c_total{a=2} counter 1"}},
	} {
		r := mapText(t, &Options{Kind: Generic, Target: "t", Instance: "i", Passthrough: tt.pass}, tt.page)
		if diff := cmp.Diff(tt.want, lines(r.Passed)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		for _, f := range r.Passed {
			for _, m := range f.Metric {
				own := map[string]string{}
				for _, l := range m.Label {
					own[l.GetName()] = l.GetValue()
				}
				if own["target"] != "t" || own["instance_id"] != "i" {
					t.Errorf("%s: %s has the labels %v", tt.name, f.GetName(), own)
				}
			}
		}
	}
}

func TestNativeHistogramsArePassedThrough(t *testing.T) {
	t.Parallel()
	h := &exposition.Buckets{Count: 5, Sum: 2, Native: &exposition.Native{
		Schema: 3, ZeroThreshold: 0.5, ZeroCount: 1,
		PositiveSpans: []exposition.Span{{Offset: 2, Length: 2}}, PositiveDeltas: []int64{1, 1},
		NegativeSpans: []exposition.Span{{Offset: -1, Length: 1}}, NegativeDeltas: []int64{1},
	}}
	page := exposition.Page{Families: []exposition.Family{{
		Name: "h", Help: "help", Kind: exposition.Histogram,
		Series: []exposition.Series{{Histogram: h, Created: 1000.5}},
	}}}
	r := New(Options{Kind: Generic, Passthrough: Passthrough{Allow: []string{"h"}}}).Map(&page)
	text(t, r.Passed)
	got := r.Passed[0].Metric[0].Histogram
	if got.GetSampleCount() != 5 || got.GetSchema() != 3 || got.GetZeroThreshold() != 0.5 || got.GetZeroCount() != 1 || len(got.Bucket) != 0 {
		t.Errorf("%v", got)
	}
	if s := got.PositiveSpan; len(s) != 1 || s[0].GetOffset() != 2 || s[0].GetLength() != 2 || got.NegativeSpan[0].GetOffset() != -1 {
		t.Errorf("spans %v, %v", s, got.NegativeSpan)
	}
	if diff := cmp.Diff([]int64{1, 1}, got.PositiveDelta); diff != "" {
		t.Error(diff)
	}
	if c := got.CreatedTimestamp; c.GetSeconds() != 1000 || c.GetNanos() != 500000000 || r.Passed[0].GetHelp() != "help" {
		t.Errorf("created at %v, help %q", c, r.Passed[0].GetHelp())
	}
}
