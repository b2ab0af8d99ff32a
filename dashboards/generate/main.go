// Command generate writes the Grafana dashboards. Each page is a file of questions here; how a page looks is in package board.
//
// To add a panel: one entry in the page's list. To add a page: one file, and one line in the table pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aiperf-exporter/aiperf-exporter/dashboards/board"
)

//go:generate go run . ../json

// pages are all dashboards.
func pages() []*board.Dashboard {
	return []*board.Dashboard{fleet(), target(), correlation(), gpu(), exporter()}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

// write puts each page into a file of its name.
func write(folder string) error {
	for _, page := range pages() {
		text, err := page.JSON()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, page.UID+".json"), text, 0o644); err != nil {
			return fmt.Errorf("write dashboard: %w", err)
		}
	}
	return nil
}
