package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// inlineQuery finds code in prose that is a question to Prometheus: it calls one of its functions.
var inlineQuery = regexp.MustCompile(`\b(?:rate|increase|sum|max|min|avg|count|histogram_\w+|label_replace|changes|absent)\b(?: by| without)? ?\(.*[a-z]:?_`)

// comparisons are what makes a query of an expression without a function.
var comparison = regexp.MustCompile(`^(?:[a-z]+:)?aiperf_\w+(?::\w+)?(?:\{.*\})? *(?:==|>|<|/)`)

func TestQueriesAreThoseOfPrometheus(t *testing.T) {
	t.Parallel()
	blocks, inline := 0, 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.info == "promql" {
				checkQueries(t, d.path, b)
				blocks++
			}
		}
		for _, l := range d.prose {
			for _, found := range code.FindAllStringSubmatch(l.text, -1) {
				if query := strings.ReplaceAll(found[1], `\|`, "|"); inlineQuery.MatchString(query) || comparison.MatchString(query) {
					checkQuery(t, d.path, l.number, query)
					inline++
				}
			}
		}
	}
	t.Logf("%d blocks and %d questions in prose", blocks, inline)
	if blocks < 50 || inline < 30 {
		t.Error("few were found")
	}
}

// placeholders stand for what a reader knows.
var placeholders = strings.NewReplacer("[…]", "[5m]", "{…}", "", "…", "x")

// checkQueries checks a block: one question of several lines, or one on each.
func checkQueries(t *testing.T, path string, b block) {
	t.Helper()
	if _, err := parser.NewParser(parser.Options{}).ParseExpr(b.text); err == nil {
		return
	}
	for line := range strings.Lines(b.text) {
		if strings.TrimSpace(line) != "" {
			checkQuery(t, path, b.number, line)
		}
	}
}

func checkQuery(t *testing.T, path string, number int, text string) {
	t.Helper()
	p := parser.NewParser(parser.Options{})
	if _, err := p.ParseExpr(placeholders.Replace(text)); err != nil {
		t.Errorf("%s:%d: %v in %s", path, number, err, strings.TrimSpace(text))
	}
}

func TestJSONBlocksAreJSON(t *testing.T) {
	t.Parallel()
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.info != "json" {
				continue
			}
			t.Run(d.path+":"+strconv.Itoa(b.number), func(t *testing.T) {
				t.Parallel()
				if !json.Valid([]byte(b.text)) {
					t.Error("it is not")
				}
			})
		}
	}
}
