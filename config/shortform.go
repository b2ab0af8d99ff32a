package config

import (
	"reflect"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// shortForms are the blocks of a workload for which a single value may stand.
var shortForms = map[reflect.Type]func(*checker, *node, *place) (any, bool){
	reflect.TypeFor[workload.Length]():     (*checker).length,
	reflect.TypeFor[workload.Delay]():      (*checker).delay,
	reflect.TypeFor[workload.RangeRatio](): (*checker).rangeRatio,
	reflect.TypeFor[workload.Sequence]():   (*checker).sequence,
}

// length reads the short form of a distribution of lengths: a number is the mean, without a spread.
func (c *checker) length(n *node, at *place) (any, bool) {
	mean, problem := convert(n, reflect.TypeFor[float64]())
	if problem != "" {
		c.wrongf(n, at, "must be a number or a map with mean, stddev or median, peaks or points, min and max, got %s", n.describe())
		return nil, false
	}
	return wholeLaw(map[string]any{"mean": mean, "min": 0, "max": 0}), true
}

// delay reads the short form of a distribution of durations.
func (c *checker) delay(n *node, at *place) (any, bool) {
	mean, problem := convert(n, reflect.TypeFor[time.Duration]())
	if problem != "" {
		c.wrongf(n, at, "must be a duration such as 30s or a map with mean, stddev or median, and max, got %s", n.describe())
		return nil, false
	}
	return map[string]any{"mean": mean, "stddev": time.Duration(0), "median": time.Duration(0), "max": time.Duration(0)}, true
}

// rangeRatio reads the one ratio of both lengths.
func (c *checker) rangeRatio(n *node, at *place) (any, bool) {
	ratio, problem := convert(n, reflect.TypeFor[float64]())
	if problem != "" {
		c.wrongf(n, at, "must be a number or a map with input, output and style, got %s", n.describe())
		return nil, false
	}
	return map[string]any{"input": ratio, "output": ratio}, true
}

// sequence reads the text of a mix of lengths.
func (c *checker) sequence(n *node, at *place) (any, bool) {
	text, problem := convert(n, reflect.TypeFor[string]())
	if problem != "" {
		c.wrongf(n, at, "must be a list or a text such as 128,64:40;512,128:60, got %s", n.describe())
		return nil, false
	}
	pairs, err := workload.ParseSequence(text.(string)) // convert gives a string for the type string
	if err != nil {
		c.wrongf(n, at, "%v", err)
		return nil, false
	}
	out := make([]any, len(pairs))
	for i, p := range pairs {
		out[i] = map[string]any{"input_tokens": normal(&p.InputTokens), "output_tokens": normal(&p.OutputTokens), "weight": p.Weight}
	}
	return out, true
}

func normal(l *workload.Length) map[string]any {
	return wholeLaw(map[string]any{"mean": l.Mean, "stddev": l.Stddev})
}

// wholeLaw clears the keys of a distribution of lengths that those which are written replace, so that they come neither from the defaults
// nor from a file before: whoever writes points means them instead of a mean.
func wholeLaw(written map[string]any) map[string]any {
	has := func(key string) bool { _, ok := written[key]; return ok }
	replaced := map[string]any{}
	switch {
	case has("peaks") || has("points"):
		replaced = map[string]any{"mean": 0.0, "stddev": 0.0, "median": 0.0, "peaks": nil, "points": nil}
	case has("stddev"):
		replaced = map[string]any{"median": 0.0, "peaks": nil, "points": nil}
	case has("median"):
		replaced = map[string]any{"stddev": 0.0, "peaks": nil, "points": nil}
	case has("mean"):
		replaced = map[string]any{"peaks": nil, "points": nil}
	}
	for key, nothing := range replaced {
		if !has(key) {
			written[key] = nothing
		}
	}
	return written
}
