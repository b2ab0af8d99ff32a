package alerts

import (
	"slices"
	"strings"
)

// inhibition: while one of the sources fires, targets with the same labels are not sent.
type inhibition struct {
	about   string
	sources []string
	targets []string
	equal   []string
}

var regressions = []string{"AIPerfTTFTRegression", "AIPerfITLRegression"}

// inhibitions are what follows from something that is told already. Labels that are compared must be on both sides: where one side lacks one,
// Alertmanager takes it as empty there.
func inhibitions() []inhibition {
	target := levels["target"]
	model := levels["workload"][:3]
	return []inhibition{
		{
			about:   "A target that is down is slow, burns its budget and breaks streams.",
			sources: []string{"AIPerfTargetDown"},
			targets: slices.Concat([]string{
				"AIPerfSLOBurnPage", "AIPerfSLOBurnTicket", "AIPerfResponseCheckFailing", "AIPerfStreamsTruncated", "AIPerfArrivalsDropped",
				"AIPerfTargetUnderprobed",
			}, regressions),
			equal: model,
		},
		{sources: []string{"AIPerfTargetDown"}, targets: []string{"AIPerfCanarySlowServerFast", "AIPerfSLOBrokenGPUIdle", "AIPerfScrapeFailing"}, equal: target},
		{
			about:   "A page of metrics that cannot be read, told twice.",
			sources: []string{"AIPerfServerMetricsDown"}, targets: []string{"AIPerfScrapeFailing"}, equal: target,
		},
		{
			about:   "A page says more than a ticket about the same.",
			sources: []string{"AIPerfSLOBurnPage"}, targets: []string{"AIPerfSLOBurnTicket"}, equal: levels["slo"],
		},
		{sources: []string{"AIPerfSLOBurnPage"}, targets: regressions, equal: levels["workload"]},
		{
			about:   "Figures in doubt prove nothing. An outage is still told: whoever hangs fills the exporter's slots, too.",
			sources: []string{"AIPerfMeasurementSuspect"},
			targets: slices.Concat([]string{"AIPerfSLOBurnPage", "AIPerfSLOBurnTicket", "AIPerfCanarySlowServerFast"}, regressions),
			equal:   target,
		},
		{
			about:   "Without the exporters nothing is known. GPUs have alerts of their own, and the watchdog is never silent.",
			sources: []string{"AIPerfExporterDown"}, targets: aboutTargets("AIPerfExporterDown"), equal: levels["job"],
		},
		{sources: []string{"AIPerfExporterAbsent"}, targets: aboutTargets("AIPerfExporterDown", "AIPerfExporterAbsent"), equal: levels["job"]},
		{
			about:   "A target vanishes with the exporter that asked it, and so does its part of a shared load.",
			sources: []string{"AIPerfExporterInstanceDown"}, targets: []string{"AIPerfTargetVanished", "AIPerfShardMissing"}, equal: levels["job"],
		},
		{
			about:   "Requests are missing on purpose. That a target is silent is told all the same.",
			sources: []string{"AIPerfBudgetExhausted", "AIPerfBackoffActive"}, targets: []string{"AIPerfTargetUnderprobed", "AIPerfSLOUndecidable"}, equal: target,
		},
		{
			about:   "A broken GPU is slow.",
			sources: []string{"AIPerfGPUXidHardware", "AIPerfGPULost"}, targets: []string{"AIPerfGPUThermalThrottle", "AIPerfGPUPowerCapped"},
			equal: []string{"job", "uuid"},
		},
	}
}

// aboutTargets are all alerts but the watchdog, those about GPUs and some others.
func aboutTargets(others ...string) []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		return name == "AIPerfWatchdog" || strings.HasPrefix(name, "AIPerfGPU") || slices.Contains(others, name)
	})
}

// Inhibit writes the inhibitions as a part of Alertmanager's configuration. The site must be valid.
func Inhibit(site Site) string {
	enabled := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(site.Disable, name) })
	}
	var w writer
	w.comment("", "What Alertmanager need not send because something that explains it is told already. Put it into its configuration.")
	w.linef("", "inhibit_rules:")
	for _, i := range inhibitions() {
		sources, targets := enabled(i.sources), enabled(i.targets)
		if len(sources) == 0 || len(targets) == 0 {
			continue
		}
		equal := i.equal
		if !slices.Contains(sources, "AIPerfExporterAbsent") { // what is absent has no label but its job
			equal = slices.Concat(equal, site.ExtraLabels)
		}
		w.comment("  ", i.about)
		w.linef("", "  - source_matchers: [%s]", matcher(sources))
		w.linef("", "    target_matchers: [%s]", matcher(targets))
		w.linef("", "    equal: [%s]", strings.Join(equal, ", "))
	}
	return w.String()
}

// matcher finds alerts by name.
func matcher(names []string) string { return scalar(`alertname =~ "` + strings.Join(names, "|") + `"`) }
