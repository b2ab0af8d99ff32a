package alerts

import (
	"fmt"
	"slices"
	"strings"
)

// measured are the latencies whose distribution is recorded.
var measured = []struct {
	name     string
	selector string
}{
	{name: "aiperf_time_to_first_token_seconds"},
	{name: "aiperf_inter_token_latency_seconds"},
	{name: "aiperf_effective_latency_seconds"},
	{name: "aiperf_request_duration_seconds", selector: `{outcome="success"}`},
}

// quantiles are recorded from as many requests on as leave five above them: one of fewer is the luck of a single request.
var quantiles = []struct {
	name     string
	of       string
	requests int
}{
	{"p50", "0.5", 10}, {"p90", "0.9", 50}, {"p95", "0.95", 100}, {"p99", "0.99", 500},
}

// count is how many values a histogram took in over {w}, whatever form it has.
func count(name, selector string) string {
	return fmt.Sprintf(`
		histogram_count(sum by ($workload) (increase(%[1]s%[2]s[{w}])))
			or
		sum by ($workload) (increase(%[1]s_count%[2]s[{w}]))`, name, selector)
}

// quantile likewise, in a line so that others can hold it.
func quantile(of, name, selector string) string {
	return fmt.Sprintf(`histogram_quantile(%[1]s, sum by ($workload) (rate(%[2]s%[3]s[{w}])))
	or
histogram_quantile(%[1]s, sum by ($workload, le) (rate(%[2]s_bucket%[3]s[{w}])))`, of, name, selector)
}

func (s *Site) latency() Group {
	g := Group{
		File: "latency", Name: "aiperf-latency", Interval: "1m",
		About: "Latencies over 5 minutes and an hour, of native and of classic histograms alike. A quantile is only there where at least five requests are\n" +
			"above it: p50 needs 10 requests, p90 50, p95 100, p99 500. Do not aggregate quantiles any further: a mean of them is nothing.",
	}
	for _, window := range []string{"5m", "1h"} {
		for _, h := range measured {
			g.Rules = append(g.Rules, family("Over "+window+": "+h.name+".", s.distribution(h.name, h.selector, window)...)...)
		}
	}
	g.Rules = append(g.Rules, s.adjusted())
	return g
}

func (s *Site) distribution(name, selector, window string) []Rule {
	counted := "workload:" + name + ":count{w}"
	rules := make([]Rule, 0, 2+len(quantiles))
	rules = append(rules,
		s.record(over(window, counted), over(window, count(name, selector))),
		s.record(over(window, "workload:"+name+":mean{w}"), mean("$workload", name, selector, window)),
	)
	for _, q := range quantiles {
		rules = append(rules, s.record(over(window, "workload:"+name+":"+q.name+"_{w}"), over(window, fmt.Sprintf(`
			(
				%s
			)
			and on ($workload)
				%s >= %d`, indented(quantile(q.of, name, selector), "\t\t\t\t"), counted, q.requests))))
	}
	return rules
}

// adjusted is a quantile in which failed requests never got their first token.
func (s *Site) adjusted() Rule {
	r := s.record("workload:aiperf_time_to_first_token_seconds:p95_adjusted1h", `
		histogram_quantile(
			0.95,
			sum by ($workload, le) (
				rate(aiperf_time_to_first_token_seconds_bucket[1h])
					or
				label_replace(
					label_replace(sum by ($workload) (rate(aiperf_request_errors_total[1h])), "le", "+Inf", "", ""),
					"from", "errors", "", ""
				)
			)
		)
		and on ($workload)
			workload:aiperf_time_to_first_token_seconds:count1h + sum by ($workload) (increase(aiperf_request_errors_total[1h])) >= 100`)
	r.About = "A failed request never got its first token: it counts as infinitely late. Where more than a twentieth fail this is the highest boundary of the\n" +
		"buckets. The label from keeps errors and buckets apart, which are one vector then. Of classic histograms only."
	return r
}

// regression compares with the own past.
func (s *Site) regression() Group {
	g := Group{
		File: "regression", Name: "aiperf-regression", Interval: "2m",
		About: "Against the own past: the logarithm of the median of six hours, beside those of the same hour on the 14 days before. Their spread holds the\n" +
			"sampling error as well as real differences between days, and the same hour leaves the daily cycle out. Seven of the 14 days must be there, so\n" +
			"Prometheus must keep at least 14 days and six hours.",
	}
	for _, h := range []struct{ metric, alert, what string }{
		{"aiperf_time_to_first_token_seconds", "AIPerfTTFTRegression", "the time to first token"},
		{"aiperf_inter_token_latency_seconds", "AIPerfITLRegression", "the time between tokens"},
	} {
		g.Rules = append(g.Rules, s.ownPast(h.metric)...)
		g.Rules = append(g.Rules, s.regressed(h.metric, h.alert, h.what))
	}
	return g
}

func (s *Site) ownPast(metric string) []Rule {
	median := "workload:" + metric + ":ln_median6h"
	deviation := median + "_sd14d"
	var days []string
	for day := 1; day <= 14; day++ {
		days = append(days, fmt.Sprintf(`label_replace(%s offset %dd, "day", "%d", "", "")`, median, day, day))
	}
	past := strings.Join(days, "\n\tor\n\t")
	return []Rule{
		s.record(median, over("6h", `
			ln(
				`+indented(quantile("0.5", metric, ""), "\t\t\t\t")+`
			)
			and on ($workload)
				(
					histogram_count(sum by ($workload) (increase(`+metric+`[{w}])))
						or
					sum by ($workload) (increase(`+metric+`_count[{w}]))
				) >= 60`)),
		s.record(median+"_base14d", "avg by ($workload) (\n\t"+past+"\n)\nand on ($workload)\n\tcount by ($workload) (\n\t"+past+"\n\t) >= 7"),
		s.record(deviation, "stddev by ($workload) (\n\t"+past+"\n)"),
		// The deviation of 14 values is itself uncertain by a fifth, and where it is too small by chance an alert is false. Those of the other hours of the
		// day are of the same days: their mean is the least that is believed.
		s.record("workload:"+metric+":regression_t14d", "("+median+" - "+median+"_base14d)\n\t/ (clamp_min("+deviation+" >= avg_over_time("+deviation+"[1d])\n\t\t"+
			"or avg_over_time("+deviation+"[1d]), 0.01) * 1.08)"),
	}
}

func (s *Site) regressed(metric, name, what string) Rule {
	median := "workload:" + metric + ":ln_median6h"
	return s.alert(&alert{
		name: name, severity: ticket, wait: "1h", keep: "2h",
		expr: `
			workload:` + metric + `:regression_t14d >= 3.7
			and
				` + median + ` - ` + median + `_base14d > 0.0953
			` + unlessPaused + `
			` + unlessSuspect,
		dashboard: "aiperf-target", by: slices.Clone(levels["workload"][1:]),
		summary: "{target} became slower: " + what + " of the workload {workload} is over a tenth longer than at this hour of the last 14 days",
		description: "The median of six hours is {value} standard deviations above those of the same hour on the days before. " +
			"It is no question of luck: the deviation is taken from those days.",
	})
}
