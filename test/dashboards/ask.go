package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// patienceOfAQuery is how long one may take.
const patienceOfAQuery = time.Minute

// errEmpty says that something was not answered that should have been, or was that should not.
var errEmpty = errors.New("queries without an answer, or reasons without need")

// ask puts every question for both forms of histograms, and prints those without an answer.
func ask(ctx context.Context, stdout io.Writer, r *rig, questions []question, o *options) error {
	end := time.Now()
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	var failed bool
	used, counts := map[string]bool{}, map[string]int{}
	for i := range questions {
		q := &questions[i]
		for _, either := range q.forms() {
			form, points, err := r.first(ctx, q, either, end, o.length)
			if loose := withoutLimits(q.expr); q.plain && err == nil && points == 0 && loose != "" {
				counts["asked without limits"]++
				form, points, err = r.first(ctx, &question{expr: loose, now: true, plain: true}, either, end, o.length)
			}
			verdict, good := judge(points, err, excuse(q, form, used))
			failed = failed || !good
			kind, _, _ := strings.Cut(verdict, " ")
			counts[strings.TrimRight(kind, ":,")]++
			if verdict != "ok" || o.all {
				fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", q.name(), form, points, verdict)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%v\n", counts)
	for _, list := range []map[string]string{reasons, absent} {
		for name := range list {
			if !used[name] {
				fmt.Fprintf(stdout, "reason without a question: %s\n", name)
				failed = true
			}
		}
	}
	if failed {
		return errEmpty
	}
	return nil
}

// judge says what came of a question, and whether that is good.
func judge(points int, err error, reason string) (verdict string, good bool) {
	switch {
	case err != nil:
		return "failed: " + err.Error(), false
	case points == 0 && reason != "":
		return "empty, " + reason, true
	case points == 0:
		return "EMPTY", false
	}
	return "ok", true
}

// first asks one question in one form after the other until there is an answer.
func (r *rig) first(ctx context.Context, q *question, either []string, end time.Time, length time.Duration) (form string, points int, err error) {
	for _, form = range either {
		if points, err = r.points(ctx, q, form, end, length); err != nil || points > 0 {
			break
		}
	}
	return form, points, err
}

// points asks one question and counts the numbers of the answer.
func (r *rig) points(ctx context.Context, q *question, form string, end time.Time, length time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patienceOfAQuery)
	defer cancel()
	expr := chosen(form).Replace(q.expr)
	if q.plain {
		expr = ofJob(expr, form)
	}
	path := fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=15", url.QueryEscape(expr), end.Add(-length).Unix(), end.Unix())
	if q.now {
		path = fmt.Sprintf("/api/v1/query?query=%s&time=%d", url.QueryEscape(expr), end.Unix())
	}
	body, err := scrape.Bytes(ctx, r.prometheus+path, "application/json")
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, expr)
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value      *sample           `json:"value"`
				Values     []sample          `json:"values"`
				Histogram  json.RawMessage   `json:"histogram"`
				Histograms []json.RawMessage `json:"histograms"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("%w: %s", err, expr)
	}
	n := 0
	for _, series := range answer.Data.Result {
		if series.Value != nil && series.Value.number() {
			n++
		}
		for i := range series.Values {
			if series.Values[i].number() {
				n++
			}
		}
		n += len(series.Histograms)
		if series.Histogram != nil {
			n++
		}
	}
	return n, nil
}

// chosen stands for what a reader chooses, and for what Grafana puts in.
func chosen(form string) *strings.Replacer {
	return strings.NewReplacer(
		"${window}", "5m", "$window", "5m", "$__rate_interval", "1m", "$__range", "15m", "$__interval", "15s", `job=~"$job"`, `job="`+form+`"`,
		"$target", ".*", "$model", ".*", "$workload", ".*", "$slo", ".*", "$hostname", ".*", "$uuid", ".*", "$instance", ".*",
	)
}

// sample is an instant and a number as text.
type sample [2]any

func (s *sample) number() bool {
	text, _ := s[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(v)
}
