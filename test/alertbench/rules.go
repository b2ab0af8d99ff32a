package main

import (
	"embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// others are the rules beside which ours are measured; OBJECTIVE stands for the objective of the SLO.
//
//go:embed rules/*.yml
var others embed.FS

// ruleSet are the groups that some alerts need, as Prometheus's rule engine loads them.
type ruleSet struct {
	groups []rulefmt.RuleGroup
	parser parser.Parser
}

// loadRules reads our rules from files, joins those of the others, and leaves out what the alerts do not need.
func loadRules(pattern string, objective float64, alerts ...string) (*ruleSet, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file of rules matches %s", pattern)
	}
	r := &ruleSet{parser: parser.NewParser(parser.Options{})}
	for _, file := range files {
		groups, errs := rulefmt.ParseFile(file, false, prommodel.UTF8Validation, r.parser, promslog.NewNopLogger())
		if len(errs) > 0 {
			return nil, fmt.Errorf("%s: %w", file, errs[0])
		}
		r.groups = append(r.groups, groups.Groups...)
	}
	text, err := others.ReadFile("rules/others.yml")
	if err != nil {
		return nil, err
	}
	text = []byte(strings.ReplaceAll(string(text), "OBJECTIVE", fmt.Sprint(objective)))
	groups, errs := rulefmt.Parse(text, false, prommodel.UTF8Validation, r.parser, promslog.NewNopLogger())
	if len(errs) > 0 {
		return nil, fmt.Errorf("rules of others: %w", errs[0])
	}
	r.groups = append(r.groups, groups.Groups...)
	return r, r.only(alerts)
}

// only leaves the alerts and what is recorded for them, directly or not.
func (r *ruleSet) only(alerts []string) error {
	recorded := map[string][]string{}
	found := map[string]bool{}
	var wanted []string
	for _, g := range r.groups {
		for _, rule := range g.Rules {
			names, err := r.names(rule.Expr)
			if err != nil {
				return fmt.Errorf("group %s: %w", g.Name, err)
			}
			if rule.Record != "" {
				recorded[rule.Record] = append(recorded[rule.Record], names...)
			} else if slices.Contains(alerts, rule.Alert) {
				found[rule.Alert] = true
				wanted = append(wanted, names...)
			}
		}
	}
	for _, alert := range alerts {
		if !found[alert] {
			return fmt.Errorf("there is no alert %s (there are %v)", alert, slices.Sorted(maps.Keys(found)))
		}
	}
	needed := map[string]bool{}
	for len(wanted) > 0 {
		name := wanted[len(wanted)-1]
		wanted = wanted[:len(wanted)-1]
		if !needed[name] {
			needed[name] = true
			wanted = append(wanted, recorded[name]...)
		}
	}
	for i := range r.groups {
		g := &r.groups[i]
		g.Rules = slices.DeleteFunc(g.Rules, func(rule rulefmt.Rule) bool {
			return rule.Record != "" && !needed[rule.Record] || rule.Alert != "" && !slices.Contains(alerts, rule.Alert)
		})
		for j := range g.Rules {
			g.Rules[j].Annotations = nil // text, which costs queries of its own
		}
	}
	r.groups = slices.DeleteFunc(r.groups, func(g rulefmt.RuleGroup) bool { return len(g.Rules) == 0 })
	return nil
}

// names are the metrics that an expression reads.
func (r *ruleSet) names(expr string) ([]string, error) {
	tree, err := r.parser.ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	var names []string
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			names = append(names, s.Name)
		}
		return nil
	})
	return names, nil
}

// Load implements rules.GroupLoader.
func (r *ruleSet) Load(string, bool, prommodel.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	return &rulefmt.RuleGroups{Groups: r.groups}, nil
}

// Parse implements rules.GroupLoader.
func (r *ruleSet) Parse(query string) (parser.Expr, error) { return r.parser.ParseExpr(query) }
