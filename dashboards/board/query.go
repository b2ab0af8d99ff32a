package board

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// Query asks Prometheus for something.
type Query struct {
	Expr   string
	Legend string // with {{label}}
	// Now asks for the present value only, not for its course.
	Now bool
	// Exemplars are to be drawn, too: single requests, with their ids.
	Exemplars bool
	// Style is that of all series of this query.
	Style Style
}

// Style is how series differ from the others of a panel; the zero value changes nothing.
type Style struct {
	Colour Colour
	Dashed bool   // limits and other things that are not measured
	Band   string // fill down to the series of this name
	Unit   Unit
	Right  bool // has an axis of its own, at the right
}

// source is whatever the reader chose at the top of the page. There is no other: a page that names a data source works in one house only.
func source() *common.DataSourceRef {
	return &common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// letter is the reference of the n-th query.
func letter(n int) string { return string(rune('A' + n)) }

// build makes the query with a reference letter, in the format that the form of the panel needs.
func (q *Query) build(n int, format prometheus.PromQueryFormat) variants.Dataquery {
	out := prometheus.Dataquery{
		RefId: new(letter(n)), Datasource: source(), Expr: q.Expr, EditorMode: new(prometheus.QueryEditorModeCode),
		Instant: new(q.Now), Range: new(!q.Now), Format: &format, LegendFormat: new(q.Legend),
	}
	if q.Exemplars {
		out.Exemplar = new(true)
	}
	return out
}

// overrides are what the style changes.
func (s *Style) overrides(matcher dashboard.MatcherConfig) []dashboard.DashboardFieldConfigSourceOverrides {
	var set []dashboard.DynamicConfigValue
	add := func(id string, value any) { set = append(set, dashboard.DynamicConfigValue{Id: id, Value: value}) }
	if s.Colour != "" {
		add("color", fixed(s.Colour))
	}
	if s.Dashed {
		add("custom.lineStyle", common.LineStyle{Fill: new(common.LineStyleFillDash), Dash: []float64{8, 6}})
		add("custom.fillOpacity", 0)
		add("custom.stacking", common.StackingConfig{Mode: new(common.StackingModeNone), Group: new("A")})
	}
	if s.Band != "" {
		add("custom.fillBelowTo", s.Band)
		add("custom.fillOpacity", 12)
	}
	if s.Unit != "" {
		add("unit", string(s.Unit))
	}
	if s.Right {
		add("custom.axisPlacement", common.AxisPlacementRight)
	}
	if len(set) == 0 {
		return nil
	}
	return []dashboard.DashboardFieldConfigSourceOverrides{{Matcher: matcher, Properties: set}}
}

// ofQuery matches all series of a query.
func ofQuery(n int) dashboard.MatcherConfig {
	return dashboard.MatcherConfig{Id: "byFrameRefID", Options: letter(n)}
}

// ofName matches the series of a name.
func ofName(name string) dashboard.MatcherConfig {
	return dashboard.MatcherConfig{Id: "byName", Options: name}
}

// most is how many queries a panel may have: they are named by letters.
const most = 26

func tooMany(n int) error {
	if n > most {
		return fmt.Errorf("%d queries, at most %d", n, most)
	}
	return nil
}
