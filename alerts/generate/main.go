// Command generate writes the rules of a site that has changed nothing into the folder that is its argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	for name, text := range alerts.Files(alerts.DefaultSite()) {
		if err := os.WriteFile(filepath.Join(os.Args[1], filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			fmt.Fprintf(os.Stderr, "generate: %v\n", err)
			os.Exit(1)
		}
	}
}
