package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxFindings bounds what is reported at once: whoever has more mistakes than this repairs the first and asks again.
const maxFindings = 50

// Finding is one thing to say about the configuration, at the place where it was written.
type Finding struct {
	// File is the name as it was given, or "env NAME" for an environment variable, which has neither line nor column.
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`   // from 1; 0 = the file as a whole
	Column int    `json:"column,omitempty"` // from 1, in characters
	// Path is the key as a user would write it, "targets[2].load"; "" is the whole file.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`

	order int // of the file among all files
}

// String gives "file:line:column: path: message", without the parts that are not known.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Message)
	return b.String()
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.order, b.order),
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Message, b.Message),
	)
}

// sorted puts findings in the order of files and lines and removes those that say the same of the same place.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, compareFindings)
	return slices.CompactFunc(findings, func(a, b Finding) bool { return compareFindings(a, b) == 0 })
}

// Errors is all that is wrong with a configuration, in the order of files and lines.
type Errors struct { //nolint:errname // it is a list of findings, not one error
	Findings []Finding
	Omitted  int // findings beyond the first 50
}

// Error gives one finding per line.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.Findings)+1)
	for _, f := range e.Findings {
		lines = append(lines, f.String())
	}
	if e.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.Omitted))
	}
	return strings.Join(lines, "\n")
}

func newErrors(findings []Finding) *Errors {
	e := &Errors{Findings: sorted(findings)}
	if n := len(e.Findings); n > maxFindings {
		e.Findings, e.Omitted = e.Findings[:maxFindings], n-maxFindings
	}
	return e
}
