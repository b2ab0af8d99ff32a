package main

import (
	"io"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
	"github.com/aiperf-exporter/aiperf-exporter/generator"
)

// ruleFormats are what the rules command prints.
var ruleFormats = []string{"prometheus", "prometheusrule", "inhibit", "pyrra", "sloth"}

func rulesCommand(app *kingpin.Application) command {
	cmd := app.Command("rules", "Print recording rules and alerts for Prometheus, in the words of a site. They fit every configuration.")
	format := cmd.Flag("format", "What is printed: prometheus (a file of rules), prometheusrule (an object of the Prometheus operator), "+
		"inhibit (a part of Alertmanager's configuration), pyrra or sloth (the SLOs of the configuration).").Default("prometheus").Enum(ruleFormats...)
	site := alerts.DefaultSite()
	cmd.Flag("job", "Job label of the exporters in Prometheus.").Default(site.Job).StringVar(&site.Job)
	cmd.Flag("extra-label", "Label that all series of the exporters have and that rules keep apart, such as cluster; may be repeated.").
		PlaceHolder("NAME").StringsVar(&site.ExtraLabels)
	severities := cmd.Flag("severity", "The site's word for a severity (page, ticket, info, none), as in page=critical; may be repeated.").
		PlaceHolder("OURS=YOURS").StringMap()
	cmd.Flag("disable", "Alert that is left out; may be repeated.").PlaceHolder("ALERT").EnumsVar(&site.Disable, alerts.Names()...)
	cmd.Flag("runbook-base", "Where the runbooks are; NAME.md is put behind it.").Default(site.RunbookBase).StringVar(&site.RunbookBase)
	cmd.Flag("dashboard-base", "URL of Grafana, to which alerts then link.").PlaceHolder("URL").StringVar(&site.DashboardBase)
	cmd.Flag("prometheus-compat", "Oldest Prometheus that is to load the rules; before 2.42 there is no keep_firing_for.").
		PlaceHolder("VERSION").StringVar(&site.Compat)
	return command{cmd.FullCommand(), func(s *session) int {
		site.Severities = *severities
		if err := site.Validate(); err != nil {
			s.complainf("%v", err)
			return exitUsage
		}
		var objectives []alerts.Objective
		if *format == "pyrra" || *format == "sloth" {
			_, gc, ok := s.load()
			if !ok {
				return exitFailure
			}
			if objectives = objectivesOf(&gc); len(objectives) == 0 {
				s.complainf("no target of the configuration has an SLO")
				return exitFailure
			}
		}
		if _, err := io.WriteString(s.stdout, writtenRules(*format, site, objectives)); err != nil {
			s.complainf("print rules: %v", err)
			return exitFailure
		}
		return exitOK
	}}
}

func writtenRules(format string, site alerts.Site, objectives []alerts.Objective) string {
	switch format {
	case "prometheusrule":
		return alerts.PrometheusRule(alerts.Groups(site))
	case "inhibit":
		return alerts.Inhibit(site)
	case "pyrra":
		return alerts.Pyrra(site, objectives)
	case "sloth":
		return alerts.Sloth(site, objectives)
	}
	return alerts.Prometheus(alerts.Groups(site))
}

// objectivesOf are the SLOs of all targets.
func objectivesOf(gc *generator.Config) []alerts.Objective {
	var out []alerts.Objective
	for i := range gc.Targets {
		t := &gc.Targets[i]
		for _, slo := range t.SLOs {
			out = append(out, alerts.Objective{Target: t.Name, SLO: slo.Name, Share: slo.Objective, Window: slo.Window})
		}
	}
	return out
}
