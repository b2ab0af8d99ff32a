// Command generate writes what comes from code: metrics.md from the table of series, configuration.md and the JSON Schema of a configuration from
// its own structs, their defaults and the comments of their fields. So page, schema and program cannot drift apart.
//
// To add a page: one line in the table pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../configuration.md ../../config/schema.json

// pages are what can be written, by file name.
var pages = map[string]func() ([]byte, error){
	"metrics.md":       seriesPage,
	"configuration.md": configurationPage,
	"schema.json":      schemaPage,
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FILE...")
		os.Exit(2)
	}
	for _, file := range os.Args[1:] {
		if err := write(file); err != nil {
			fmt.Fprintf(os.Stderr, "generate: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// write makes the page that the name of the file says.
func write(file string) error {
	page, ok := pages[filepath.Base(file)]
	if !ok {
		return fmt.Errorf("there is no page of that name")
	}
	text, err := page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
