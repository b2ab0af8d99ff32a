package main

import "strings"

// explanation is why a place may differ.
type explanation struct {
	field string // as in difference; a * stands for anything
	why   string
}

// reasons are all that are accepted.
var reasons = []explanation{
	{"json aiperf_version", "none yet"},
}

// reason is why a place differs; "" = nobody knows.
func reason(field string) string {
	for i := range reasons {
		if reasons[i].holds(field) {
			return reasons[i].why
		}
	}
	return ""
}

func (e *explanation) holds(field string) bool {
	before, after, open := strings.Cut(e.field, "*")
	if !open {
		return field == e.field
	}
	return len(field) >= len(before)+len(after) && strings.HasPrefix(field, before) && strings.HasSuffix(field, after)
}

// unneeded are the reasons of differences that there are not.
func unneeded(all []difference) []explanation {
	var out []explanation
	for i := range reasons {
		needed := false
		for _, d := range all {
			needed = needed || reasons[i].holds(d.field)
		}
		if !needed {
			out = append(out, reasons[i])
		}
	}
	return out
}
