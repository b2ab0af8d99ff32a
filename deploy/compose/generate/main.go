// Command generate writes the configuration of Alertmanager into the file that is its argument: Alertmanager cannot include the inhibitions from a
// file of their own.
package main

import (
	_ "embed"
	"fmt"
	"os"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
)

//go:generate go run . ../alertmanager.yml

//go:embed head.yml
var head string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(head+alerts.Inhibit(alerts.DefaultSite())), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}
