package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// files are what a program has written, taken apart.
type files struct {
	fields map[string]string   // what there is, by a name for each place
	orders map[string][]string // of things that both have, by a name for each place
	report *node               // profile_export_aiperf.json
}

// readFolder reads the files that both programs write.
func readFolder(folder string) (*files, error) {
	f := &files{fields: map[string]string{}, orders: map[string][]string{}}
	for _, file := range []struct {
		name string
		read func([]byte) error
	}{
		{"profile_export_aiperf.json", f.readReport},
		{"profile_export_aiperf.csv", f.readTable},
		{"profile_export.jsonl", f.readRequests},
		{".aiperf_results_ready.json", f.readMarker},
	} {
		raw, err := os.ReadFile(filepath.Join(folder, file.name))
		if err != nil {
			return nil, err
		}
		if err := file.read(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	return f, nil
}

// endpoint is the name of a page of GPUs, which is another for each run.
var endpoint = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func (f *files) readReport(raw []byte) error {
	var err error
	if f.report, err = parse(endpoint.ReplaceAll(raw, []byte("server"))); err != nil {
		return err
	}
	for _, key := range f.report.keys {
		f.report.members[key].shape("json "+key, f.fields)
	}
	// Behind the times AIPerf's order is that of a set.
	for i, key := range f.report.keys {
		f.orders["json, order of keys"] = f.report.keys[:i+1]
		if key == "end_time" {
			break
		}
	}
	return nil
}

func (f *files) readMarker(raw []byte) error {
	n, err := parse(raw)
	if err == nil {
		n.shape("marker", f.fields)
	}
	return err
}

// readRequests looks at the first request that succeeded and at the first that did not.
func (f *files) readRequests(raw []byte) error {
	known := map[string]bool{}
	for line := range bytes.Lines(raw) {
		n, err := parse(line)
		if err != nil {
			return err
		}
		kind := "success"
		if n.members["error"] != nil && n.members["error"].kind == isObject {
			kind = "failure"
		}
		if known[kind] {
			continue
		}
		known[kind] = true
		n.shape("jsonl "+kind, f.fields)
		f.orders["jsonl, order of keys of a "+kind] = n.keys
		if metadata := n.members["metadata"]; metadata != nil {
			f.orders["jsonl, order of metadata of a "+kind] = metadata.keys
		}
	}
	return nil
}

// readTable takes the blocks of the CSV apart.
func (f *files) readTable(raw []byte) error {
	f.fields["csv, line ends"] = "CR LF"
	if bytes.Count(raw, []byte("\r\n")) != bytes.Count(raw, []byte("\n")) {
		f.fields["csv, line ends"] = "others"
	}
	text := strings.ReplaceAll(string(raw), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n\n")
	second, third, _ := strings.Cut(rest, "\n\n\n")
	for i, block := range []string{first, second, third} {
		reader := csv.NewReader(strings.NewReader(block))
		reader.FieldsPerRecord = -1
		rows, err := reader.ReadAll()
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			f.readBlock(fmt.Sprint("csv block ", i+1), rows)
		}
	}
	return nil
}

// heading says which columns name a row: all that are no figures.
var heading = map[string]int{"Metric": 1, "Endpoint": 6}

func (f *files) readBlock(at string, rows [][]string) {
	header := rows[0]
	f.fields[at+", header"] = strings.Join(header, ",")
	names := heading[header[0]]
	for _, row := range rows[1:] {
		name := strings.Join(row[:names], ",")
		f.orders[at+", order of rows"] = append(f.orders[at+", order of rows"], endpoint.ReplaceAllString(name, "server"))
		var filled []string
		for i := names; i < len(row) && i < len(header); i++ {
			if row[i] != "" {
				filled = append(filled, header[i])
			}
			if _, decimals, ok := strings.Cut(row[i], "."); ok && len(decimals) != 2 {
				f.fields["csv, numbers"] = "as many digits as they need"
			}
		}
		f.fields[at+" "+endpoint.ReplaceAllString(name, "server")] = strings.Join(filled, " ")
	}
	if f.fields["csv, numbers"] == "" {
		f.fields["csv, numbers"] = "two decimals at most"
	}
}
