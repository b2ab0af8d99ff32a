package alerts

import (
	"fmt"
	"slices"
	"strings"
)

// Group is a group of rules, which Prometheus evaluates one after the other.
type Group struct {
	// File is the file in rules/ that has the group, without .yml.
	File     string
	Name     string
	Interval string // empty: that of Prometheus
	About    string // what the group is for, a comment
	Rules    []Rule
}

// Rule records a series or is an alert.
type Rule struct {
	About         string // a comment above the rule and those of its family that follow
	Record        string
	Alert         string
	Expr          string
	For           string
	KeepFiringFor string
	Labels        []Pair
	Annotations   []Pair
}

// Pair is a label or an annotation.
type Pair struct{ Name, Value string }

// Groups are the rules of a site. It must be valid.
func Groups(site Site) []Group {
	s := &site
	groups := []Group{
		s.config(), s.outage(), s.sloFast(), s.sloSlow(),
		s.latency(),
		s.vantages(),
		s.traffic(),
		s.exporter(), s.absence(),
		s.regression(),
		s.clientAndServer(), s.energyAndCost(),
		s.server(), s.gpu(),
		s.correctness(),
	}
	for i := range groups {
		g := &groups[i]
		g.Rules = slices.DeleteFunc(g.Rules, func(r Rule) bool { return r.Alert != "" && slices.Contains(s.Disable, r.Alert) })
	}
	return slices.DeleteFunc(groups, func(g Group) bool { return len(g.Rules) == 0 })
}

// Names are those of all alerts.
func Names() []string {
	var names []string
	for _, g := range Groups(DefaultSite()) {
		for i := range g.Rules {
			if alert := g.Rules[i].Alert; alert != "" {
				names = append(names, alert)
			}
		}
	}
	return names
}

// record is a rule that records a series.
func (s *Site) record(name, expr string) Rule { return Rule{Record: name, Expr: s.expr(expr)} }

// family puts a comment above the first of some rules.
func family(about string, rules ...Rule) []Rule {
	rules[0].About = about
	return rules
}

// about puts a comment above a rule.
func about(text string, r Rule) Rule {
	r.About = text
	return r
}

// over puts a window in the place of {w}, in names and expressions.
func over(window, text string) string { return strings.ReplaceAll(text, "{w}", window) }

// expr is an expression as it is written: without the indentation that it has in the source, levels written out.
func (s *Site) expr(text string) string {
	lines := strings.Split(strings.TrimRight(strings.TrimPrefix(text, "\n"), "\n\t "), "\n")
	least := len(text)
	for _, line := range lines {
		least = min(least, len(line)-len(strings.TrimLeft(line, "\t")))
	}
	for i, line := range lines {
		lines[i] = line[least:]
	}
	return s.expand(strings.ReplaceAll(strings.Join(lines, "\n"), "\t", "  "))
}

// indented is a part of an expression, deeper by some tabs from its second line on.
func indented(text, tabs string) string { return strings.ReplaceAll(text, "\n", "\n"+tabs) }

// alert is what there is to say about an alert. In its texts {name} stands for the value of a label, {value} for that of the expression.
type alert struct {
	name     string
	severity string
	wait     string // for
	keep     string // keep_firing_for
	expr     string
	// dashboard is the page that shows why, and by what it is chosen there.
	dashboard string
	by        []string
	summary   string
	// description has the figures.
	description string
}

func (s *Site) alert(a *alert) Rule {
	r := Rule{
		Alert: a.name, Expr: s.expr(a.expr), For: a.wait, KeepFiringFor: a.keep,
		Labels: []Pair{{"severity", s.severity(a.severity)}},
		Annotations: []Pair{
			{"summary", told(a.summary)},
			{"description", told(a.description)},
			{"runbook_url", s.RunbookBase + a.name + ".md"},
		},
	}
	if !s.keepsFiring() {
		r.KeepFiringFor = ""
	}
	if s.DashboardBase != "" && a.dashboard != "" {
		variables := make([]string, len(a.by))
		for i, label := range a.by {
			variables[i] = fmt.Sprintf("var-%[1]s={{ $labels.%[1]s | urlquery }}", label)
		}
		r.Annotations = append(r.Annotations, Pair{"dashboard_url", s.DashboardBase + "/d/" + a.dashboard + "?" + strings.Join(variables, "&")})
	}
	return r
}

// told writes a text in Prometheus' templates.
func told(text string) string {
	text = strings.NewReplacer("{value}", "{{ $value | humanize }}", "{percent}", "{{ $value | humanizePercentage }}",
		"{duration}", "{{ $value | humanizeDuration }}").Replace(text)
	for _, label := range []string{
		"job", "instance", "target", "model", "workload", "slo", "cause", "reason", "collector", "hostname", "uuid", "xid",
	} {
		text = strings.ReplaceAll(text, "{"+label+"}", "{{ $labels."+label+" }}")
	}
	return text
}

// now is the value of a series of the alert's level at the time, for texts.
func (s *Site) now(level, series string) string {
	var matchers, values strings.Builder
	for i, label := range s.labelList(level) {
		if i > 0 {
			matchers.WriteByte(',')
		}
		fmt.Fprintf(&matchers, "%s=%%q", label)
		fmt.Fprintf(&values, " $labels.%s", label)
	}
	form := "humanize"
	if strings.Contains(series, ":increase") { // a number of requests, which Prometheus extrapolates
		form = `printf "%.0f"`
	}
	return fmt.Sprintf("{{ with printf `%s{%s}`%s | query }}{{ . | first | value | %s }}{{ end }}", series, &matchers, &values, form)
}
