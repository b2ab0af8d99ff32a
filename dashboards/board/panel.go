package board

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// Panel is one picture.
type Panel struct {
	Key   string // names it on its page for good: its number comes from it
	Title string
	Help  string // what it shows and how to read it, for somebody who was just woken
	W, H  uint32 // of 24 units across; a unit is 38 pixels high
	Form  Form

	Unit     Unit
	Decimals *float64 // nil: as many as Grafana thinks fit
	Min, Max *float64
	Empty    string // what is said where there is no value; the default says that there were no requests
	// Base is the colour of values below the first step, Good unless said otherwise.
	Base  Colour
	Steps []Step
	Words []Word
	// Named are series that have a style by their name.
	Named []Named
	Links []Link

	Queries []Query
}

// Named is a series by the name in its legend.
type Named struct {
	Name  string
	Style Style
}

// Colours is the style of series of which only the colour is of a kind of its own.
func Colours(pairs ...any) (out []Named) {
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, Named{pairs[i].(string), Style{Colour: pairs[i+1].(Colour)}}) //nolint:forcetypeassert // a table of this program
	}
	return out
}

// Link leads from a value to a page about it.
type Link struct {
	Title, UID string
	// Choices of that page by variable, each a field or a label of the value: ${__data.fields.Target}, ${__field.labels.uuid}.
	Choices []Choice
}

// Choice is a variable of another page, and its value.
type Choice struct{ Variable, Value string }

// noRequests is the usual reason for an empty panel.
const noRequests = "no requests in the window"

// Form is how the values are drawn.
type Form interface {
	// draw gives the name of Grafana's panel, its options, and what it keeps in fieldConfig.defaults.custom.
	draw(p *Panel) drawing
}

type drawing struct {
	panel           string
	options, custom any
	format          prometheus.PromQueryFormat
	color           *dashboard.FieldColor
	overrides       []dashboard.DashboardFieldConfigSourceOverrides
	transformations []dashboard.DataTransformerConfig
}

// build makes Grafana's panel at the next place.
func (p *Panel) build(place *grid) (dashboard.Panel, error) {
	drawn := p.Form.draw(p)
	at := place.put(p.W, p.H)
	out := dashboard.Panel{
		Type: drawn.panel, Id: new(identifier(p.Key)), Title: new(p.Title), Description: new(p.Help), Datasource: source(), GridPos: &at,
		Transformations: drawn.transformations, Options: drawn.options,
	}
	for i := range p.Queries {
		out.Targets = append(out.Targets, p.Queries[i].build(i, drawn.format))
	}
	out.FieldConfig = &dashboard.FieldConfigSource{
		Defaults: dashboard.FieldConfig{
			Unit: new(string(p.Unit)), Decimals: p.Decimals, Min: p.Min, Max: p.Max, NoValue: new(cmp.Or(p.Empty, noRequests)), Color: drawn.color, Custom: drawn.custom,
			Thresholds: thresholds(cmp.Or(p.Base, Good), p.Steps), Mappings: mappings(p.Words), Links: p.links(),
		},
		Overrides: append(p.overrides(), drawn.overrides...),
	}
	return out, p.check()
}

// overrides are the styles of queries, then those of names, which win.
func (p *Panel) overrides() []dashboard.DashboardFieldConfigSourceOverrides {
	out := make([]dashboard.DashboardFieldConfigSourceOverrides, 0, len(p.Queries)+len(p.Named))
	for i := range p.Queries {
		out = append(out, p.Queries[i].Style.overrides(ofQuery(i))...)
	}
	for i := range p.Named {
		out = append(out, p.Named[i].Style.overrides(ofName(p.Named[i].Name))...)
	}
	return out
}

// links are those of single values.
func (p *Panel) links() (out []dashboard.DashboardLink) {
	for _, l := range p.Links {
		out = append(out, l.build())
	}
	return out
}

func (l *Link) build() dashboard.DashboardLink {
	var url strings.Builder
	url.WriteString("/d/" + l.UID + "?${__url_time_range}&${datasource:queryparam}")
	for _, c := range l.Choices {
		url.WriteString("&var-" + c.Variable + "=" + c.Value)
	}
	return dashboard.DashboardLink{Title: l.Title, Type: dashboard.DashboardLinkTypeLink, Url: new(url.String()), Tags: []string{}}
}

// check finds what a person who adds a panel forgets.
func (p *Panel) check() error {
	var errs []error
	for what, missing := range map[string]bool{"key": p.Key == "", "help": p.Help == "", "unit": p.Unit == ""} {
		if missing {
			errs = append(errs, fmt.Errorf("panel %q (%s): no %s", p.Key, p.Title, what))
		}
	}
	if err := tooMany(len(p.Queries)); err != nil {
		errs = append(errs, fmt.Errorf("panel %q: %w", p.Key, err))
	}
	return errors.Join(errs...)
}

// multi shows all series at an instant, the largest first.
func multi() common.VizTooltipOptions {
	return common.VizTooltipOptions{Mode: common.TooltipDisplayModeMulti, Sort: common.SortOrderDescending}
}

// last reduces a course to its newest value.
func last() common.ReduceDataOptions {
	return common.ReduceDataOptions{Calcs: []string{"lastNotNull"}, Fields: new(""), Values: new(false)}
}
