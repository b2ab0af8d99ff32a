// Package alerts holds the rules for Prometheus that come with this program.
package alerts

import (
	"embed"
	"io/fs"
)

//go:embed rules/*.yml
var files embed.FS

// Rules are the files of rules, to be handed to Prometheus as they are.
func Rules() fs.FS {
	rules, err := fs.Sub(files, "rules")
	if err != nil {
		panic(err) // the name is not a path, which it is
	}
	return rules
}
