package main

import (
	"fmt"
	"math"
	"strings"
)

// Expressions are written with letters for what comes again and again: {A} selects the series of the chosen targets, {S} those of their SLOs, {T} what
// is known of a target without its model, {J} what is known of an exporter; (A), (S) and (T) are the labels of these.
const (
	labelsOfTarget   = "job, target"
	labelsOfWorkload = labelsOfTarget + ", model, workload"
	labelsOfSLO      = labelsOfWorkload + ", slo"

	exporterChosen = `job=~"$job"`
	targetChosen   = exporterChosen + `,target=~"$target"`
	workloadChosen = targetChosen + `,model=~"$model",workload=~"$workload"`
	sloChosen      = workloadChosen + `,slo=~"$slo"`
)

// spell writes them out.
func spell(text string) string {
	return strings.NewReplacer(
		"{J}", "{"+exporterChosen+"}", "{J,", "{"+exporterChosen+",",
		"{T}", "{"+targetChosen+"}", "{T,", "{"+targetChosen+",",
		"{A}", "{"+workloadChosen+"}", "{A,", "{"+workloadChosen+",",
		"{S}", "{"+sloChosen+"}", "{S,", "{"+sloChosen+",",
		"(T)", "("+labelsOfTarget+")", "(T,", "("+labelsOfTarget+",",
		"(A)", "("+labelsOfWorkload+")", "(A,", "("+labelsOfWorkload+",",
		"(S)", "("+labelsOfSLO+")", "(S,", "("+labelsOfSLO+",",
	).Replace(text)
}

// ql spells an expression out, with the values of a format put in before.
func ql(format string, args ...any) string { return spell(fmt.Sprintf(format, args...)) }

// Histograms come in two forms, native and classic, and which one a Prometheus has is a setting of its own. These expressions take the native one
// where it is, else the classic one; the name of a classic histogram alone is no series, so the first half is empty then.

// heat is the distribution in the window at each instant: one native histogram, or classic buckets by le.
func heat(histogram, selector string) string {
	return ql(`sum(increase(%[1]s%[2]s[$window])) or on () sum by (le) (increase(%[1]s_bucket%[2]s[$window]))`, histogram, selector)
}

// mean is sum over count for each value of the labels, "" for none.
func mean(histogram, selector, by, window string) string {
	return ql(`histogram_avg(sum by (%[3]s) (rate(%[1]s%[2]s[%[4]s]))) or sum by (%[3]s) (rate(%[1]s_sum%[2]s[%[4]s])) / (sum by (%[3]s) (rate(%[1]s_count%[2]s[%[4]s])) > 0)`,
		histogram, selector, by, window)
}

// quantile is given only where at least five values are expected beyond it: fewer are an anecdote.
func quantile(q float64, histogram, selector, by, window string) string {
	return ql(`(histogram_quantile(%[5]v, sum by (%[3]s) (rate(%[1]s%[2]s[%[4]s]))) or histogram_quantile(%[5]v, sum by (%[6]s) (rate(%[1]s_bucket%[2]s[%[4]s])))) and on (%[3]s) (histogram_count(sum by (%[3]s) (increase(%[1]s%[2]s[%[4]s]))) or sum by (%[3]s) (increase(%[1]s_count%[2]s[%[4]s]))) >= %[7]d`,
		histogram, selector, by, window, q, strings.TrimPrefix(by+", le", ", "), gate(q))
}

// gate is the number of values from which on a quantile is shown: five on its rarer side.
func gate(q float64) int { return int(math.Round(5 / min(q, 1-q))) }
