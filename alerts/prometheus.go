package alerts

import (
	"fmt"
	"strings"
)

// Prometheus writes groups as a file of rules.
func Prometheus(groups []Group) string {
	var w writer
	w.groups(groups, "")
	return w.String()
}

// PrometheusRule writes groups as an object of the Prometheus operator.
func PrometheusRule(groups []Group) string {
	var w writer
	w.linef("", "apiVersion: monitoring.coreos.com/v1")
	w.linef("", "kind: PrometheusRule")
	w.linef("", "metadata:")
	w.linef("", "  name: aiperf-exporter")
	w.linef("", "  labels: {app.kubernetes.io/name: aiperf-exporter}")
	w.linef("", "spec:")
	w.groups(groups, "  ")
	return w.String()
}

// writer writes YAML as a person would: comments above, expressions over several lines.
type writer struct{ strings.Builder }

func (w *writer) linef(indent, format string, args ...any) {
	w.WriteString(indent)
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *writer) comment(indent, text string) {
	for line := range strings.Lines(text) {
		w.linef(indent, "# %s", strings.TrimSuffix(line, "\n"))
	}
}

func (w *writer) groups(groups []Group, indent string) {
	w.linef(indent, "groups:")
	for i := range groups {
		g := &groups[i]
		if i > 0 {
			w.WriteByte('\n')
		}
		w.comment(indent+"  ", g.About)
		w.linef(indent, "  - name: %s", g.Name)
		if g.Interval != "" {
			w.linef(indent, "    interval: %s", g.Interval)
		}
		w.linef(indent, "    rules:")
		for j := range g.Rules {
			w.rule(&g.Rules[j], indent+"      ")
		}
	}
}

func (w *writer) rule(r *Rule, indent string) {
	w.comment(indent, r.About)
	if r.Record != "" {
		w.linef(indent, "- record: %s", r.Record)
	} else {
		w.linef(indent, "- alert: %s", r.Alert)
	}
	w.text(indent+"  ", "expr", r.Expr)
	if r.For != "" {
		w.linef(indent, "  for: %s", r.For)
	}
	if r.KeepFiringFor != "" {
		w.linef(indent, "  keep_firing_for: %s", r.KeepFiringFor)
	}
	w.pairs(indent+"  ", "labels", r.Labels)
	w.pairs(indent+"  ", "annotations", r.Annotations)
}

func (w *writer) pairs(indent, key string, pairs []Pair) {
	if len(pairs) == 0 {
		return
	}
	w.linef(indent, "%s:", key)
	for _, p := range pairs {
		w.linef(indent, "  %s: %s", p.Name, scalar(p.Value))
	}
}

// text writes a value that may have several lines.
func (w *writer) text(indent, key, value string) {
	if !strings.Contains(value, "\n") {
		w.linef(indent, "%s: %s", key, scalar(value))
		return
	}
	w.linef(indent, "%s: |", key)
	for line := range strings.Lines(value) {
		w.linef(indent, "  %s", strings.TrimSuffix(line, "\n"))
	}
}

// scalar quotes a value where it must be.
func scalar(value string) string {
	plain := value != "" && !strings.ContainsAny(value[:1], "{}[]&*!|>'\"%@`#-?:, ") && !strings.HasSuffix(value, ":") &&
		!strings.Contains(value, ": ") && !strings.Contains(value, " #") && !strings.HasSuffix(value, " ")
	switch value {
	case "true", "false", "null", "yes", "no", "on", "off", "~":
		plain = false
	}
	if plain {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}
