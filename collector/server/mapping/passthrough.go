package mapping

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Passthrough is the block `passthrough:`: families that are exposed as the server has them.
type Passthrough struct {
	// regular expressions, each for a whole name of a family; without any nothing is passed through
	Allow []string `koanf:"allow" yaml:"allow,omitempty"`
	// likewise, and wins over allow. `python_*`, `process_*`, `go_*`, `promhttp_*`, `aiperf_*` and `*_created` are always denied
	Deny []string `koanf:"deny" yaml:"deny,omitempty"`
	// put before each name
	Prefix string `koanf:"prefix" yaml:"prefix,omitempty"`
	// labels that are left out; where that makes two series one, the family is dropped
	DropLabels []string `koanf:"drop_labels" yaml:"drop_labels,omitempty"`
	// labels that get another name
	RenameLabels map[string]string `koanf:"rename_labels" yaml:"rename_labels,omitempty"`
}

// alwaysDenied are families that say nothing of the server's work, or would be taken for our own.
const alwaysDenied = `(?:python|process|go|promhttp|aiperf)_.*|.*_created`

// Validate finds what is wrong, by key below path.
func (p *Passthrough) Validate(path string) []error {
	var errs []error
	errs = append(errs, validExpressions(path+".allow", p.Allow)...)
	errs = append(errs, validExpressions(path+".deny", p.Deny)...)
	switch {
	case p.Prefix != "" && !model.LegacyValidation.IsValidMetricName(p.Prefix):
		errs = append(errs, invalid.Key(path+".prefix", "%q cannot stand at the start of a name", p.Prefix))
	case strings.HasPrefix(p.Prefix, "aiperf_"):
		errs = append(errs, invalid.Key(path+".prefix", "%q is for series of this program", p.Prefix))
	}
	for i, name := range p.DropLabels {
		errs = append(errs, validLabel(fmt.Sprintf("%s.drop_labels[%d]", path, i), name)...)
	}
	return append(errs, p.validateRenames(path+".rename_labels")...)
}

func validExpressions(path string, list []string) []error {
	var errs []error
	for i, text := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if text == "" {
			errs = append(errs, invalid.Key(at, "must not be empty"))
		} else if _, err := regexp.Compile(text); err != nil {
			errs = append(errs, invalid.Key(at, "%q is no regular expression: %v", text, err))
		}
	}
	return errs
}

func (p *Passthrough) validateRenames(path string) []error {
	var errs []error
	from := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.RenameLabels)) {
		at, to := path+"."+name, p.RenameLabels[name]
		errs = append(errs, validLabel(at, name)...)
		switch earlier := from[to]; {
		case len(validLabel(at, to)) > 0:
			errs = append(errs, validLabel(at, to)...)
		case strings.HasPrefix(to, model.ReservedLabelPrefix) || slices.Contains(ownLabels, to):
			errs = append(errs, invalid.Key(at, "%q is set by this program", to))
		case earlier != "":
			errs = append(errs, invalid.Key(at, "%q is the new name of %q already", to, earlier))
		case slices.Contains(p.DropLabels, name):
			errs = append(errs, invalid.Key(at, "is left out by drop_labels"))
		}
		from[to] = name
	}
	return errs
}

// anchored makes of expressions one that matches what any of them matches whole.
func anchored(texts ...string) string {
	return "^(?:(?:" + strings.Join(texts, ")|(?:") + "))$"
}
