package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// section is a table with its title and what there is to say about it.
type section struct {
	title string
	head  []string
	rows  [][]string
	notes []string
}

// text writes it for a terminal.
func (s *section) text(out io.Writer) error {
	fmt.Fprintf(out, "\n%s\n", s.title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{s.head}, s.rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, note := range s.notes {
		fmt.Fprintf(out, "* %s\n", note)
	}
	return nil
}

// markdown writes it for a page.
func (s *section) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n| %s |\n|%s\n", s.title, strings.Join(s.head, " | "), strings.Repeat("---|", len(s.head)))
	for _, row := range s.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintln(w)
	for _, note := range s.notes {
		fmt.Fprintf(w, "* %s\n", note)
	}
}

// Marks around the results on a page.
const (
	beginMark = "<!-- results begin: written by make alert-bench -->\n"
	endMark   = "<!-- results end -->\n"
)

var errMarks = errors.New("there is no place for results: two marks are needed")

// paste puts the sections between the marks of a page.
func paste(file, head string, sections []*section) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(page, []byte(beginMark))
	_, after, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends {
		return fmt.Errorf("%s: %w", file, errMarks)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s%s", before, beginMark, head)
	for _, s := range sections {
		s.markdown(&b)
	}
	fmt.Fprintf(&b, "%s%s", endMark, after)
	return os.WriteFile(file, b.Bytes(), 0o644)
}
