package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The names of AIPerf's files.
const (
	jsonFile    = "profile_export_aiperf.json"
	csvFile     = "profile_export_aiperf.csv"
	recordsFile = "profile_export.jsonl"
	readyFile   = ".aiperf_results_ready.json"
)

// WriteFiles lays reports down as AIPerf does, so that its tools find them: one report directly in dir, several each in a folder named
// after its target. Folders are made, files replaced. records asks for the file with one line a request, too. The marker that says that the
// files are complete is written last.
func WriteFiles(dir string, records bool, reports ...*Report) error {
	for _, r := range reports {
		folder := dir
		if len(reports) > 1 {
			if !plainName(r.Meta.Target) {
				return fmt.Errorf("write report: %q cannot be the name of a folder", r.Meta.Target)
			}
			folder = filepath.Join(dir, r.Meta.Target)
		}
		if err := r.writeFolder(folder, records); err != nil {
			return err
		}
	}
	return nil
}

// plainName tells whether name is one element of a path, and not a special one.
func plainName(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, `/\`)
}

func (r *Report) writeFolder(dir string, records bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	type file struct {
		name  string
		write func(io.Writer) error
	}
	files := []file{
		{jsonFile, func(w io.Writer) error { return WriteJSON(w, r) }},
		{csvFile, r.WriteCSV},
	}
	if records {
		files = append(files, file{recordsFile, r.WriteRecords})
	}
	files = append(files, file{readyFile, r.writeReady})
	for _, f := range files {
		if err := writeFile(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) writeReady(w io.Writer) error {
	raw, err := marshal(object{{"ready", true}, {"was_cancelled", r.Meta.Interrupted}, {"partial", r.Meta.Interrupted}})
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	return err
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
