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
		w.linef("", "---")
		w.linef("", "apiVersion: pyrra.dev/v1alpha1")
		w.linef("", "kind: ServiceLevelObjective")
		w.linef("", "metadata:")
		w.linef("", "  name: %s", o.name())
		w.linef("", "  labels: {app.kubernetes.io/name: aiperf-exporter}")
		w.linef("", "spec:")
		w.linef("", "  description: %s", scalar(o.description()))
		w.linef("", "  target: %q", o.percent())
		w.linef("", "  window: %s", model.Duration(o.Window))
		w.linef("", "  indicator:")
		w.linef("", "    ratio:")
		w.linef("", "      errors:")
		w.linef("", "        metric: %s", scalar("exporter:aiperf_bad_requests:total"+o.selector(site)))
		w.linef("", "      total:")
		w.linef("", "        metric: %s", scalar("aiperf_slo_requests_total"+o.selector(site)))
	}
	return w.String()
}

// Sloth writes objectives for Sloth, a service for each target.
func Sloth(site Site, objectives []Objective) string {
	var w writer
	for i := range objectives {
		o := &objectives[i]
		if i == 0 || objectives[i-1].Target != o.Target {
			w.linef("", "---")
			w.linef("", "version: prometheus/v1")
			w.linef("", "service: %s", scalar(o.Target))
			w.linef("", "slos:")
		}
		w.linef("", "  - name: %s", scalar(o.SLO))
		w.linef("", "    objective: %s", o.percent())
		w.linef("", "    description: %s", scalar(o.description()))
		w.linef("", "    sli:")
		w.linef("", "      events:")
		total := "sum(increase(aiperf_slo_requests_total" + o.selector(site) + "[{{.window}}]))"
		w.text("        ", "error_query", total+"\n  - sum(increase(aiperf_good_requests_total"+o.selector(site)+"[{{.window}}]))")
		w.text("        ", "total_query", total)
		w.linef("", "    alerting:")
		w.linef("", "      name: AIPerfSlothBudgetBurn")
		w.linef("", "      page_alert: {labels: {severity: %s}}", scalar(site.severity(page)))
		w.linef("", "      ticket_alert: {labels: {severity: %s}}", scalar(site.severity(ticket)))
	}
	return w.String()
}

func (o *Objective) description() string {
	return fmt.Sprintf("%s %% of the requests to %s are good by the SLO %s", o.percent(), o.Target, o.SLO)
}
