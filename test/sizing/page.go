package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// heading says when, where and with what the results were made.
func (o *options) heading(ctx context.Context) []string {
	version, err := exec.CommandContext(ctx, o.binary, "--version").CombinedOutput()
	first, _, _ := strings.Cut(string(version), " (")
	if err != nil {
		first = err.Error()
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	return []string{
		"date: " + time.Now().UTC().Format("2006-01-02 15:04 MST"),
		fmt.Sprintf("machine: %d processors that others use, too (load average at the end %s)", runtime.NumCPU(), strings.Fields(string(load))[0]),
		fmt.Sprintf("program: %s, %s", strings.Replace(first, ", version", "", 1), runtime.Version()),
		fmt.Sprintf("command: `make sizing LENGTH=%v`", o.length),
	}
}

// page is everything in Markdown.
func (f *findings) page(heading []string) string {
	var b strings.Builder
	for _, line := range heading {
		fmt.Fprintf(&b, "* %s\n", line)
	}
	f.tables(&b)
	p := f.prices()
	p.table(&b)
	p.examples(&b)
	return b.String()
}

func (f *findings) tables(b *strings.Builder) {
	b.WriteString("\n### Targets, a request every 30 s each\n\n" +
		"| targets | histograms | server metrics | memory, MiB | CPU without scrapes, % | one scrape, ms of CPU | text, KiB | samples | series with native histograms |\n" +
		"|--:|---|---|--:|--:|--:|--:|--:|--:|\n")
	for i := range f.idle {
		one := &f.idle[i]
		servers := "not read"
		if one.servers {
			servers = "read every 5 s"
		}
		fmt.Fprintf(b, "| %d | %s | %s | %.0f | %.2f | %.1f | %.0f | %d | %d |\n", one.targets, one.histograms, servers, one.memory/(1<<20), one.cpu*100,
			one.scrape*1e3, float64(one.bytes)/1024, one.samples, one.native)
	}
	b.WriteString("\n### Streams, one target\n\n| load | requests/s | streams at a time | chunks/s | CPU, % | CPU per chunk, µs | peak memory, MiB |\n" +
		"|---|--:|--:|--:|--:|--:|--:|\n")
	for i := range f.busy {
		one := &f.busy[i]
		fmt.Fprintf(b, "| %s | %.1f | %.0f | %.0f | %.1f | %.1f | %.0f |\n", one.name, one.requests, one.streams, one.chunks, one.cpu*100,
			one.cpu/one.chunks*1e6, one.most/(1<<20))
	}
}

// table is what follows from the measurements.
func (p *prices) table(b *strings.Builder) {
	b.WriteString("\n### What each costs\n\n| of | processor | memory | series |\n|---|--:|--:|--:|\n")
	fmt.Fprintf(b, "| the program | – | %.0f MiB | – |\n", p.base/(1<<20))
	fmt.Fprintf(b, "| a target, a request every 30 s | %.0f µs a second | %.0f KiB | %.0f classic, %.0f native |\n", p.trickle*1e6, p.target/1024, p.samples, p.native)
	fmt.Fprintf(b, "| a target in a scrape | %.0f µs | – | – |\n", p.scrape*1e6)
	fmt.Fprintf(b, "| a request | %.0f µs | – | – |\n", p.request*1e6)
	fmt.Fprintf(b, "| a chunk | %.1f µs | – | – |\n", p.chunk*1e6)
	fmt.Fprintf(b, "| an open stream | – | %.0f KiB | – |\n", p.stream/1024)
}

// examples are extrapolated.
func (p *prices) examples(b *strings.Builder) {
	b.WriteString("\n### Examples (extrapolated by the formula, not measured)\n\n" +
		"| fleet | chunks/s | streams at a time | processors | memory, MiB | samples in a scrape | exporters with two processors each |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for i := range fleets {
		n := p.need(&fleets[i])
		fmt.Fprintf(b, "| %s | %.0f | %.0f | %.2f | %.0f | %.0f | %d |\n", fleets[i].name, n.chunks, n.streams, n.processors, n.memory/(1<<20), n.samples, n.exporters)
	}
}

// Marks around the results on a page.
const (
	beginMark = "<!-- results begin: written by make sizing -->\n"
	endMark   = "<!-- results end -->\n"
)

var errMarks = errors.New("there is no place for results: two marks are needed")

// paste puts results between the marks of a page.
func paste(file, results string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, begins := bytes.Cut(page, []byte(beginMark))
	_, tail, ends := bytes.Cut(rest, []byte(endMark))
	if !begins || !ends {
		return fmt.Errorf("%s: %w", file, errMarks)
	}
	return os.WriteFile(file, bytes.Join([][]byte{head, []byte(beginMark), []byte(results), []byte(endMark), tail}, nil), 0o644)
}
