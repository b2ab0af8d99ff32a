package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// written are the pages for people that have queries: runbooks, and what explains figures.
var written = []string{
	"README.md", "docs/alerts.md", "docs/costs.md", "docs/correlation.md", "docs/gpu-metrics.md", "docs/instrument.md", "docs/measuring.md", "docs/otlp.md",
	"docs/server-metrics.md", "docs/throughput.md", "docs/troubleshooting.md", "docs/whose-fault.md", "docs/runbooks/*.md",
}

var (
	fenced = regexp.MustCompile("(?s)```promql\n(.*?)```")
	inline = regexp.MustCompile("`([^`\n]+)`")
)

// named puts something in the place of the words that a reader does it with.
func named(text string) string {
	return strings.NewReplacer(`\|`, "|", "$__rate_interval", "5m", `"NAME"`, `"steady"`, `"MODEL"`, `"demo-steady-8b"`, `slo="x"`, `slo="interactive"`).Replace(text)
}

// parse reads a query as this Prometheus does.
func parse(expr string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(expr)
}

// queriesOfPages are all queries in pages for people: a fence holds one, or one in each line. A code span is one if it can be read as PromQL, names a series of ours and does more than name it.
func queriesOfPages() (out []question, err error) {
	for _, pattern := range written {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("pages %s: %w", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read page: %w", err)
			}
			of, err := queriesOf(file, string(text))
			if err != nil {
				return nil, err
			}
			out = append(out, of...)
		}
	}
	return out, nil
}

func queriesOf(file, text string) (out []question, err error) {
	known := map[string]bool{}
	add := func(title, expr string) {
		if !known[expr] {
			known[expr] = true
			out = append(out, question{page: file, title: title, expr: expr, now: true, plain: true})
		}
	}
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		exprs := []string{strings.TrimSpace(named(m[1]))}
		if _, err := parse(exprs[0]); err != nil {
			exprs = strings.Split(exprs[0], "\n") // one in each line
		}
		for _, expr := range exprs {
			if _, err := parse(expr); err != nil {
				return nil, fmt.Errorf("%s asks %s: %w", file, expr, err)
			}
			add(strings.Join(strings.Fields(expr), " "), expr)
		}
	}
	for _, m := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		if expr := named(m[1]); asks(expr) {
			add(expr, expr)
		}
	}
	return out, nil
}

// asks tells a query from the name of a series, and from code of other kinds.
func asks(text string) bool {
	if !strings.Contains(text, "aiperf_") {
		return false
	}
	tree, err := parse(text)
	if err != nil {
		return false
	}
	selector, bare := tree.(*parser.VectorSelector)
	_, window := tree.(*parser.MatrixSelector)
	return !window && (!bare || len(selector.LabelMatchers) > 1)
}

// ofJob is a query of one of the jobs, which scrape the same exporter.
func ofJob(query, job string) string {
	tree, err := parse(query)
	if err != nil {
		return query // Prometheus will say so
	}
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			selector.LabelMatchers = append(selector.LabelMatchers, labels.MustNewMatcher(labels.MatchEqual, "job", job))
		}
		return nil
	})
	return tree.String()
}

// withoutLimits is a query without what lets only some of its values through: what is asked about trouble has no answer while there is none, but the series
// are there. "" if there is nothing to leave out.
func withoutLimits(query string) string {
	tree, err := parse(query)
	if err != nil {
		return ""
	}
	strict := tree.String()
	if loose := loosened(tree).String(); loose != strict {
		return loose
	}
	return ""
}

func loosened(node parser.Expr) parser.Expr {
	switch e := node.(type) {
	case *parser.ParenExpr:
		e.Expr = loosened(e.Expr)
	case *parser.AggregateExpr:
		e.Expr = loosened(e.Expr)
	case *parser.Call:
		for i := range e.Args {
			e.Args[i] = loosened(e.Args[i])
		}
	case *parser.BinaryExpr:
		_, number := e.RHS.(*parser.NumberLiteral)
		if e.Op == parser.LUNLESS || number && e.Op.IsComparisonOperator() && !e.ReturnBool {
			return loosened(e.LHS)
		}
		e.LHS, e.RHS = loosened(e.LHS), loosened(e.RHS)
	}
	return node
}
