// Package alerts holds the rules for Prometheus that come with this program, and what goes with them: inhibitions for Alertmanager, and the same
// objectives for Pyrra and Sloth.
//
// Every threshold that depends on a configuration is read from a series, so that one file of rules is right for every configuration. Groups makes
// the rules of a site; the files in this folder are those of DefaultSite, written by `make gen`.
//
// To add a rule: one entry in the function of its group. An alert needs a page in docs/runbooks, and tests in tests/ in which it fires and does not.
package alerts

import (
	"embed"
	"io/fs"
)

//go:generate go run ./generate .

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
