package alerts

import (
	"fmt"
	"strings"
)

// from is the selector of exporters that say where they stand.
const from = `{vantage!=""}`

// vantages compare what the places from which a target is asked see of it. Shards of one place add up, as everywhere.
func (s *Site) vantages() Group {
	g := Group{
		File: "vantage", Name: "aiperf-vantage", Interval: "1m",
		About: "Levels: vantage is a workload as one place sees it, fleet is over all places. A target that is bad from everywhere is bad; one that is bad from\n" +
			"some places is not to blame, but the way from there is.",
	}
	for _, window := range outageWindows {
		g.Rules = append(g.Rules, family("Requests of the last "+window+" by SLO, bad ones, and the evidence that more than half of them are bad.", s.seen(window)...)...)
	}
	g.Rules = append(g.Rules, family("Whether most requests from a place are bad, by the limits of AIPerfTargetDown, and for how many of the places: 1 is the server or what\n"+
		"all ways to it share, less is the way from those places.",
		s.record("vantage:aiperf_outage:bool", `
			clamp_max(
				(vantage:aiperf_outage_evidence:nats5m >= bool 3)
					+ (vantage:aiperf_outage_evidence:nats30m >= bool 4)
						* (vantage:aiperf_bad_requests:increase5m > bool 0.5 * vantage:aiperf_slo_requests:increase5m),
				1
			)
			or
				(vantage:aiperf_outage_evidence:nats30m >= bool 4)`),
		s.record("fleet:aiperf_vantages:count", "count by ($fleet, slo) (vantage:aiperf_outage:bool)"),
		s.record("fleet:aiperf_vantages_bad:ratio", "avg by ($fleet, slo) (vantage:aiperf_outage:bool)"),
	)...)
	const ttft = "aiperf_time_to_first_token_seconds"
	for _, window := range []string{"5m", "1h"} {
		median := over(window, "vantage:"+ttft+":p50_{w}")
		g.Rules = append(g.Rules, family("Over "+window+": the median time to first token from each place, from 10 requests on, and by how much it is above that of the fastest.",
			s.record(median, strings.ReplaceAll(over(window, fmt.Sprintf(`
				(
					%s
				)
				and on ($workload)
					(
						%s
					) >= 10`, indented(quantile("0.5", ttft, from), "\t\t\t\t\t"), indented(strings.TrimSpace(count(ttft, from)), "\t\t\t\t"))), "$workload", "$vantage")),
			s.record(over(window, "vantage:"+ttft+":p50_excess_{w}"), median+" - on ($fleet) group_left () min by ($fleet) ("+median+")"),
		)...)
	}
	return g
}

// seen are the rules that count the requests of a window by place.
func (s *Site) seen(window string) []Rule {
	const requests, bad = "vantage:aiperf_slo_requests:increase{w}", "vantage:aiperf_bad_requests:increase{w}"
	return []Rule{
		s.record(over(window, requests), over(window, "sum by ($vantage, slo) (increase(aiperf_slo_requests_total"+from+"[{w}]))")),
		s.record(over(window, bad), over(window, "clamp_min("+requests+" - sum by ($vantage, slo) (increase(aiperf_good_requests_total"+from+"[{w}])), 0)")),
		s.record(over(window, "vantage:aiperf_outage_evidence:nats{w}"), over(window, evidence(requests, bad, "0.5"))),
	}
}
