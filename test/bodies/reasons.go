package main

import "strings"

// explanation is why a field may differ.
type explanation struct {
	cases string // beginning of the names of the cases; "" = all
	field string // as in difference; a name that ends in * stands for all that begin so
	why   string
}

// reasons are all that are accepted.
var reasons = []explanation{
	{"", "header User-Agent", "each says what it is"},
	{"", "header X-Aiperf-Exporter", "lets operators keep a canary's requests out of product metrics and bills"},
	{"", "header Accept-Encoding", "identity: what decompresses buffers events, and so loses their instants; a server or proxy may compress unless asked not to"},
	{"", "header X-Session-Affinity", "a canary must not stick to one replica unless it is told to (affinity_headers)"},
}

// reason is why a field of a case differs; "" = nobody knows.
func reason(trial, field string) string {
	for i := range reasons {
		if reasons[i].holds(trial, field) {
			return reasons[i].why
		}
	}
	return ""
}

func (e *explanation) holds(trial, field string) bool {
	prefix, isPrefix := strings.CutSuffix(e.field, "*")
	return strings.HasPrefix(trial, e.cases) && (field == e.field || isPrefix && strings.HasPrefix(field, prefix))
}

// everywhere tells whether a field is one of those that differ in all cases.
func everywhere(field string) bool {
	for i := range reasons {
		if reasons[i].cases == "" && reasons[i].holds("", field) {
			return true
		}
	}
	return false
}

// unneeded are the reasons of differences that there are not.
func unneeded(all []result) []explanation {
	var out []explanation
	for i := range reasons {
		if !reasons[i].needed(all) {
			out = append(out, reasons[i])
		}
	}
	return out
}

func (e *explanation) needed(all []result) bool {
	for _, r := range all {
		for _, d := range r.differences {
			if e.holds(r.name, d.field) {
				return true
			}
		}
	}
	return false
}
