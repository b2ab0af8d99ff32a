package mapping

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

func TestRulesOfTheConfigurationWin(t *testing.T) {
	t.Parallel()
	const running, waiting, finished, queue = "aiperf_server_requests_running", "aiperf_server_requests_waiting",
		"aiperf_server_requests_finished_total", "aiperf_server_queue_seconds"
	table := family("gauge", "vllm:num_requests_running", " 1") + family("gauge", "vllm:num_requests_waiting", " 2")
	for _, tt := range []struct {
		name  string
		kind  Kind
		rules []Rule
		page  string
		want  []string
	}{
		{
			"all there is for generic", Generic,
			[]Rule{{Series: running, Family: "my:busy", Scale: 2}},
			table + family("gauge", "my:busy", ` 3`),
			[]string{running + "{model=m,server=generic} gauge 6"},
		},
		{
			"nobody was told by its names", Auto,
			[]Rule{{Series: running, Family: "busy"}},
			family("gauge", "busy", ` 3`),
			[]string{running + "{model=m,server=generic} gauge 3"},
		},
		{
			"in the place of the table", Auto,
			[]Rule{{Series: running, Family: "busy"}},
			table + family("gauge", "busy", ` 3`),
			[]string{running + "{model=m,server=vllm} gauge 3", waiting + "{model=m,server=vllm} gauge 2"},
		},
		{
			"the table holds where the page has no such family", VLLM,
			[]Rule{{Series: running, Family: "busy"}},
			table,
			[]string{running + "{model=m,server=vllm} gauge 1", waiting + "{model=m,server=vllm} gauge 2"},
		},
		{
			"and where the family has another type", VLLM,
			[]Rule{{Series: running, Family: "busy"}},
			table + family("counter", "busy", ` 3`),
			[]string{running + "{model=m,server=vllm} gauge 1", waiting + "{model=m,server=vllm} gauge 2"},
		},
		{
			"labels are exact", Generic,
			[]Rule{{Series: running, Family: "busy", Labels: map[string]string{"k": "a.c", "absent": ""}}},
			family("gauge", "busy", `{k="abc"} 1`, `{k="a.c"} 2`),
			[]string{running + "{model=m,server=generic} gauge 2"},
		},
		{
			"several rules for one series are added", Generic,
			[]Rule{{Series: running, Family: "a"}, {Series: running, Family: "b"}},
			family("gauge", "a", ` 1`) + family("gauge", "b", ` 2`),
			[]string{running + "{model=m,server=generic} gauge 3"},
		},
		{
			"labels of the same name are taken", Generic,
			[]Rule{{Series: finished, Family: "done"}},
			family("counter", "done", `{reason="stop",model="x",engine="1"} 1`, `{reason="bored"} 2`, ` 3`),
			[]string{
				finished + "{engine=1,model=x,reason=stop,server=generic} counter 1",
				finished + "{model=x,reason=other,server=generic} counter 2",
				finished + "{model=x,reason=all,server=generic} counter 3",
			},
		},
		{
			"bounds are scaled", Generic,
			[]Rule{{Series: queue, Family: "wait_ms", Scale: 0.001}},
			family("histogram", "wait_ms", ` 70`),
			[]string{queue + "{model=m,server=generic} histogram 4 0.07 0.01:1"},
		},
	} {
		for i := range tt.rules {
			if errs := tt.rules[i].Validate("map"); errs != nil {
				t.Errorf("%s: %v", tt.name, errs)
			}
		}
		r := mapText(t, &Options{Kind: tt.kind, Model: "m", Rules: tt.rules}, tt.page)
		if diff := cmp.Diff(tt.want, lines(r.Normalised)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// keysOf are what findings are about.
func keysOf(tb testing.TB, errs []error) []string {
	tb.Helper()
	var out []string
	for _, err := range errs {
		var finding *invalid.Error
		if !errors.As(err, &finding) || finding.Message == "" {
			tb.Errorf("%v is no finding about a key", err)
			continue
		}
		out = append(out, finding.Path)
	}
	return out
}

func TestRulesThatCannotBeAreFound(t *testing.T) {
	t.Parallel()
	const series = "aiperf_server_requests_running"
	for _, tt := range []struct {
		rule Rule
		want []string
	}{
		{Rule{Series: series, Family: "vllm:x", Labels: map[string]string{"a": "b"}, Scale: 0.01}, nil},
		{Rule{}, []string{"map[0].series", "map[0].family"}},
		{Rule{Series: "aiperf_server_up", Family: "x"}, []string{"map[0].series"}},
		{Rule{Series: series, Family: "no name"}, []string{"map[0].family"}},
		{Rule{Series: series, Family: "x", Labels: map[string]string{"a-b": "c", "le": "1"}}, []string{"map[0].labels.a-b", "map[0].labels.le"}},
		{Rule{Series: series, Family: "x", Scale: -1}, []string{"map[0].scale"}},
		{Rule{Series: series, Family: "x", Scale: math.NaN()}, []string{"map[0].scale"}},
		{Rule{Series: series, Family: "x", Scale: math.Inf(1)}, []string{"map[0].scale"}},
	} {
		if diff := cmp.Diff(tt.want, keysOf(t, tt.rule.Validate("map[0]"))); diff != "" {
			t.Errorf("%v: %s", tt.rule, diff)
		}
	}
}

func TestPassthroughsThatCannotBeAreFound(t *testing.T) {
	t.Parallel()
	renames := func(pairs ...string) Passthrough {
		p := Passthrough{RenameLabels: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			p.RenameLabels[pairs[i]] = pairs[i+1]
		}
		return p
	}
	for _, tt := range []struct {
		pass Passthrough
		want []string
	}{
		{Passthrough{}, nil},
		{Passthrough{
			Allow: []string{"vllm:.*"}, Deny: []string{"x"}, Prefix: "e_", DropLabels: []string{"pod"},
			RenameLabels: map[string]string{"a": "b"},
		}, nil},
		{Passthrough{Allow: []string{"(", ""}}, []string{"p.allow[0]", "p.allow[1]"}},
		{Passthrough{Allow: []string{"a)|(b"}}, []string{"p.allow[0]"}},
		{Passthrough{Deny: []string{"x", "["}}, []string{"p.deny[1]"}},
		{Passthrough{Allow: []string{"*"}, Deny: []string{"*"}}, []string{"p.allow[0]", "p.deny[0]"}},
		{Passthrough{Prefix: "9"}, []string{"p.prefix"}},
		{Passthrough{Prefix: "aiperf_server_"}, []string{"p.prefix"}},
		{Passthrough{DropLabels: []string{"pod", "a b", "quantile"}}, []string{"p.drop_labels[1]", "p.drop_labels[2]"}},
		{renames("a", "target"), []string{"p.rename_labels.a"}},
		{renames("a", "__x"), []string{"p.rename_labels.a"}},
		{renames("a", "le"), []string{"p.rename_labels.a"}},
		{renames("a", "x", "b", "x"), []string{"p.rename_labels.b"}},
		{Passthrough{DropLabels: []string{"a"}, RenameLabels: map[string]string{"a": "b"}}, []string{"p.rename_labels.a"}},
	} {
		if diff := cmp.Diff(tt.want, keysOf(t, tt.pass.Validate("p"))); diff != "" {
			t.Errorf("%v: %s", tt.pass, diff)
		}
	}
}
