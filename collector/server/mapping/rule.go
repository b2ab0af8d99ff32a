package mapping

import (
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Rule maps one family of a server to one signal. It is what `map:` holds in a configuration, and wins over the table.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Rule struct {
	// name of the series that it becomes, one of `aiperf_server_*`; labels of that series are taken from labels of the same name
	Series string `koanf:"series" yaml:"series"`
	// name of the family on the server's page
	Family string `koanf:"family" yaml:"family"`
	// labels that a series of the family must have to be taken
	Labels map[string]string `koanf:"labels" yaml:"labels,omitempty"`
	// factor to the unit of the series, so for milliseconds 0.001
	Scale float64 `koanf:"scale" yaml:"scale,omitempty"`
}

// Validate finds what is wrong with a rule, by key below path.
func (r *Rule) Validate(path string) []error {
	var errs []error
	switch _, ok := seriesByName()[r.Series]; {
	case r.Series == "":
		errs = append(errs, invalid.Key(path+".series", "must be set"))
	case !ok:
		errs = append(errs, invalid.Key(path+".series", "%q is no series that a server's metrics are mapped to", r.Series))
	}
	switch {
	case r.Family == "":
		errs = append(errs, invalid.Key(path+".family", "must be set"))
	case !model.LegacyValidation.IsValidMetricName(r.Family):
		errs = append(errs, invalid.Key(path+".family", "%q is no name of a family", r.Family))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		errs = append(errs, validLabel(path+".labels."+name, name)...)
	}
	if !(r.Scale >= 0) || math.IsInf(r.Scale, 0) {
		errs = append(errs, invalid.Key(path+".scale", "must be above 0, got %v", r.Scale))
	}
	return errs
}

// validLabel finds what is wrong with the name of a label of a page.
func validLabel(path, name string) []error {
	switch {
	case !model.LegacyValidation.IsValidLabelName(name):
		return []error{invalid.Key(path, "%q is no name of a label", name)}
	case name == model.BucketLabel || name == model.QuantileLabel:
		return []error{invalid.Key(path, "%q is a part of histograms and summaries, not a label of a series", name)}
	}
	return nil
}

// link makes a rule ready for use. Its labels are exact, not expressions.
func (r *Rule) link() link {
	where := make(map[string]string, len(r.Labels))
	for name, value := range r.Labels {
		where[name] = regexp.QuoteMeta(value)
	}
	row := row{Series: r.Series, Family: []string{r.Family}, Where: where, Scale: r.Scale}
	compiled, err := row.compile("", nil)
	if err != nil {
		panic("mapping: rule that is not valid: " + err.Error())
	}
	return link{compiled, keys(r.Family, compiled.counts())}
}
