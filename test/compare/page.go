package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// results is all that is told.
type results struct {
	head     []string // when, where, with what
	sections []section
}

// text writes the results for a terminal.
func (r *results) text(w io.Writer) error {
	for _, line := range r.head {
		fmt.Fprintln(w, line)
	}
	for i := range r.sections {
		s := &r.sections[i]
		fmt.Fprintf(w, "\n%s\n", s.title)
		for j := range s.grids {
			fmt.Fprintln(w)
			if err := s.grids[j].text(w); err != nil {
				return err
			}
		}
		for _, note := range s.notes {
			fmt.Fprintf(w, "* %s\n", note)
		}
	}
	return nil
}

// markdown writes them for a page.
func (r *results) markdown(w io.Writer) error {
	for _, line := range r.head {
		fmt.Fprintf(w, "* %s\n", line)
	}
	for i := range r.sections {
		s := &r.sections[i]
		fmt.Fprintf(w, "\n### %s\n", s.title)
		for j := range s.grids {
			fmt.Fprintln(w)
			if err := s.grids[j].markdown(w); err != nil {
				return err
			}
		}
		if len(s.notes) > 0 {
			fmt.Fprintln(w)
		}
		for _, note := range s.notes {
			fmt.Fprintf(w, "* %s\n", note)
		}
	}
	return nil
}

// Marks around the results on a page.
const (
	beginMark = "<!-- results begin: written by make compare -->\n"
	endMark   = "<!-- results end -->\n"
)

var errMarks = errors.New("there is no place for results: two marks are needed")

// paste puts the results between the marks of a page.
func (r *results) paste(file string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err = r.markdown(&b); err != nil {
		return err
	}
	page, err = replaced(page, b.Bytes())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, page, 0o644)
}

// replaced is the page with other results.
func replaced(page, results []byte) ([]byte, error) {
	head, rest, begins := bytes.Cut(page, []byte(beginMark))
	_, tail, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends {
		return nil, errMarks
	}
	return bytes.Join([][]byte{head, []byte(beginMark), results, []byte(endMark), tail}, nil), nil
}
