package alerts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Objective is an SLO of a target, for programs that want a file for each.
type Objective struct {
	Target string
	SLO    string
	Share  float64 // of requests that should be good
	Window time.Duration
}

func (o *Objective) percent() string { return strconv.FormatFloat(o.Share*100, 'g', 12, 64) }

// selector finds the series of the objective.
func (o *Objective) selector(site Site) string {
	return fmt.Sprintf("{job=%q, target=%q, slo=%q}", site.Job, o.Target, o.SLO)
}

// name is one that Kubernetes takes.
func (o *Objective) name() string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(o.Target+"-"+o.SLO), "-"), "-")
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Pyrra writes objectives for Pyrra. Their bad requests are exporter:aiperf_bad_requests:total, which the rules record.
func Pyrra(site Site, objectives []Objective) string {
	var w writer
	for i := range objectives {
		o := &objectives[i]
		w.line("", "---")
		w.line("", "apiVersion: pyrra.dev/v1alpha1")
		w.line("", "kind: ServiceLevelObjective")
		w.line("", "metadata:")
		w.line("", "  name: %s", o.name())
		w.line("", "  labels: {app.kubernetes.io/name: aiperf-exporter}")
		w.line("", "spec:")
		w.line("", "  description: %s", scalar(o.description()))
		w.line("", "  target: %q", o.percent())
		w.line("", "  window: %s", model.Duration(o.Window))
		w.line("", "  indicator:")
		w.line("", "    ratio:")
		w.line("", "      errors:")
		w.line("", "        metric: %s", scalar("exporter:aiperf_bad_requests:total"+o.selector(site)))
		w.line("", "      total:")
		w.line("", "        metric: %s", scalar("aiperf_slo_requests_total"+o.selector(site)))
	}
	return w.String()
}

// Sloth writes objectives for Sloth, a service for each target.
func Sloth(site Site, objectives []Objective) string {
	var w writer
	for i := range objectives {
		o := &objectives[i]
		if i == 0 || objectives[i-1].Target != o.Target {
			w.line("", "---")
			w.line("", "version: prometheus/v1")
			w.line("", "service: %s", scalar(o.Target))
			w.line("", "slos:")
		}
		w.line("", "  - name: %s", scalar(o.SLO))
		w.line("", "    objective: %s", o.percent())
		w.line("", "    description: %s", scalar(o.description()))
		w.line("", "    sli:")
		w.line("", "      events:")
		total := "sum(increase(aiperf_slo_requests_total" + o.selector(site) + "[{{.window}}]))"
		w.text("        ", "error_query", total+"\n  - sum(increase(aiperf_good_requests_total"+o.selector(site)+"[{{.window}}]))")
		w.text("        ", "total_query", total)
		w.line("", "    alerting:")
		w.line("", "      name: AIPerfSlothBudgetBurn")
		w.line("", "      page_alert: {labels: {severity: %s}}", scalar(site.severity(page)))
		w.line("", "      ticket_alert: {labels: {severity: %s}}", scalar(site.severity(ticket)))
	}
	return w.String()
}

func (o *Objective) description() string {
	return fmt.Sprintf("%s %% of the requests to %s are good by the SLO %s", o.percent(), o.Target, o.SLO)
}
