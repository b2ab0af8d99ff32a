package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	maxGlobalLabels    = 8
	maxLabelValueBytes = 128
)

// buildLabels are those of the series about the build, which the labels of every series stand beside.
var buildLabels = []string{"version", "branch", "revision", "goversion", "goos", "goarch", "tags"}

// isReserved tells whether our own series or Prometheus use a label.
func isReserved(name string) bool {
	switch name {
	case model.JobLabel, model.InstanceLabel, model.BucketLabel, model.QuantileLabel:
		return true
	}
	uses := func(s metrics.Series) bool { return slices.Contains(s.LabelNames(nil, nil), name) }
	return strings.HasPrefix(name, model.ReservedLabelPrefix) || slices.ContainsFunc(metrics.Table(), uses)
}

// validateLabels checks names and values of labels that a user chose.
func validateLabels(path string, labels map[string]string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		for _, problem := range []string{labelNameProblem(name), labelValueProblem(labels[name])} {
			if problem != "" {
				errs = append(errs, invalid.Key(path+"."+name, "%s", problem))
			}
		}
	}
	return errs
}

// validateExtraLabels checks the names of target labels that go to every series, beside the constant labels.
func validateExtraLabels(path string, names []string, global map[string]string) []error {
	var errs []error
	for i, name := range names {
		problem := labelNameProblem(name)
		if _, ok := global[name]; ok {
			problem = fmt.Sprintf("%q is already a label of every series, from global.labels", name)
		} else if slices.Index(names, name) < i {
			problem = fmt.Sprintf("%q is listed twice", name)
		}
		if problem != "" {
			errs = append(errs, invalid.Key(fmt.Sprintf("%s[%d]", path, i), "%s", problem))
		}
	}
	return errs
}

func labelNameProblem(name string) string {
	switch {
	case !model.LegacyValidation.IsValidLabelName(name):
		return "the name of a label must be letters, digits and underscores, and not begin with a digit"
	case isReserved(name):
		return fmt.Sprintf("the label %q is reserved", name)
	}
	return ""
}

func labelValueProblem(value string) string {
	switch {
	case len(value) > maxLabelValueBytes:
		return fmt.Sprintf("must have at most %d bytes to be the value of a label, has %d", maxLabelValueBytes, len(value))
	case !utf8.ValidString(value):
		return "must be UTF-8 to be the value of a label"
	case strings.ContainsFunc(value, unicode.IsControl):
		return "must not have control characters to be the value of a label"
	}
	return ""
}
