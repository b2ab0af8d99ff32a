package alerts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Site is what rules say differently from site to site.
type Site struct {
	// Job is the job label that Prometheus gives to the exporters. Rules that notice their absence must know it; no other does.
	Job string
	// ExtraLabels are kept apart by all rules, as cluster or vantage. All series of the exporters must carry them.
	ExtraLabels []string
	// Severities are the site's words for page, ticket, info and none; a word that is missing stays as it is.
	Severities map[string]string
	// RunbookBase is where the pages of docs/runbooks are: NAME.md is put behind it.
	RunbookBase string
	// DashboardBase is where Grafana is, without a slash at its end; empty: alerts have no link to a dashboard.
	DashboardBase string
	// Disable are alerts that are left out.
	Disable []string
	// Compat is the oldest Prometheus that is to load the rules; empty: any since 2.42.
	Compat string
}

// DefaultSite is that of the files that come with this program.
func DefaultSite() Site {
	return Site{Job: "aiperf-exporter", RunbookBase: "https://github.com/aiperf-exporter/aiperf-exporter/blob/main/docs/runbooks/"}
}

// The severities.
const (
	page   = "page"   // somebody has to act now
	ticket = "ticket" // somebody has to act, on the next working day
	info   = "info"   // explains others; nobody has to act
	none   = "none"   // always on: that it arrives is what counts
)

var (
	severities = []string{page, ticket, info, none}
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	release    = regexp.MustCompile(`^[23]\.[0-9]+$`)
)

// Validate finds what is wrong, first of all alerts and severities that do not exist.
func (s *Site) Validate() error {
	if s.Job == "" {
		return fmt.Errorf("the job is empty")
	}
	taken := slices.Concat(levels["slo"], []string{"instance", "le", "severity", "alertname"})
	for _, label := range s.ExtraLabels {
		if !labelName.MatchString(label) {
			return fmt.Errorf("extra label %q is not the name of a label", label)
		}
		if slices.Contains(taken, label) {
			return fmt.Errorf("extra label %q is there already", label)
		}
		taken = append(taken, label)
	}
	for severity := range s.Severities {
		if !slices.Contains(severities, severity) {
			return fmt.Errorf("there is no severity %q, only %s", severity, strings.Join(severities, ", "))
		}
	}
	names := Names()
	for _, alert := range s.Disable {
		if !slices.Contains(names, alert) {
			return fmt.Errorf("there is no alert %q", alert)
		}
	}
	if s.Compat != "" && !release.MatchString(s.Compat) {
		return fmt.Errorf("%q is not a version of Prometheus such as 2.41", s.Compat)
	}
	return nil
}

// severity is the site's word.
func (s *Site) severity(of string) string { return cmp.Or(s.Severities[of], of) }

// keepsFiring tells whether Prometheus knows keep_firing_for, which 2.42 brought.
func (s *Site) keepsFiring() bool {
	var major, minor int
	if _, err := fmt.Sscanf(s.Compat, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major > 2 || minor >= 42
}

// levels are what a rule may be about: the labels that its series have.
var levels = map[string][]string{
	"job":      {"job"},
	"exporter": {"job", "instance"},
	"target":   {"job", "target"},
	"workload": {"job", "target", "model", "workload"},
	"slo":      {"job", "target", "model", "workload", "slo"},
	"vantage":  {"job", "target", "model", "workload", vantage},
	"fleet":    {"job", "target", "model", "workload"}, // over all vantages
}

// vantage is the label that says where an exporter stands.
const vantage = "vantage"

// labels lists the labels of a level, the site's extra ones last.
func (s *Site) labels(level string) string { return strings.Join(s.labelList(level), ", ") }

func (s *Site) labelList(level string) []string {
	extra := s.ExtraLabels
	if level == "vantage" || level == "fleet" {
		extra = slices.DeleteFunc(slices.Clone(extra), func(label string) bool { return label == vantage })
	}
	return slices.Concat(levels[level], extra)
}

// expand writes an expression out: $slo, $workload, $target, $exporter, $job, $vantage and $fleet are the labels of these levels.
func (s *Site) expand(expr string) string {
	pairs := make([]string, 0, 2*len(levels))
	for level := range levels {
		pairs = append(pairs, "$"+level, s.labels(level))
	}
	return strings.NewReplacer(pairs...).Replace(expr)
}
