// Command generate writes the files under deploy/ that are made of others: of the rules and dashboards, of the values of the chart, and of what the
// chart renders. With -render it writes what the chart and the files for Kustomize give for each set of values of the tests instead.
//
//	go -C test/chart run ./generate ROOT
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/test/chart"
)

func main() {
	render := flag.String("render", "", "folder for the objects of each set of values and of each overlay, instead of the generated files")
	flag.Parse()
	if err := run(flag.Arg(0), *render); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, render string) error {
	if render != "" {
		sets, err := chart.Sets(root)
		if err != nil {
			return err
		}
		return write(render, sets)
	}
	// The chart renders files that are written here.
	deploy := filepath.Join(root, "deploy")
	files, err := chart.Files(root)
	if err != nil {
		return err
	}
	if err = replace(deploy, files, chart.Folder+"/files"); err != nil {
		return err
	}
	if files, err = chart.Kustomize(root); err != nil {
		return err
	}
	return replace(deploy, files, "kubernetes")
}

// replace writes files, and leaves no other in a folder that has nothing else.
func replace(folder string, files map[string]string, whole string) error {
	if err := os.RemoveAll(filepath.Join(folder, whole)); err != nil {
		return err
	}
	return write(folder, files)
}

// write writes files by their path in the folder.
func write(folder string, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}
