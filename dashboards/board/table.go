package board

import (
	"cmp"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Table has a line for each set of labels, and a column for each query: all queries have to give the same labels.
type Table struct {
	Columns []Column
	// Sorted is the column that is sorted by at first, the largest above.
	Sorted string
}

// Column shows a label, or with Query the value of a query of the panel by its place.
type Column struct {
	Title string
	Label string
	Query int // counted from 1; 0 = a label
	Width float64
	Unit  Unit
	// Decimals of the value; nil = as many as Grafana thinks fit.
	Decimals *float64
	Empty    string // what is said where there is no value, a dash unless said otherwise
	Hidden   bool   // only there for the links of other columns
	Base     Colour
	Steps    []Step
	Words    []Word
	Bar      bool // the value as a bar behind it, for a share
	Fill     bool // the colour behind the value
	Links    []Link
}

func (t Table) draw(*Panel) drawing {
	rename, index := map[string]any{}, map[string]any{}
	for i := range t.Columns {
		c := &t.Columns[i]
		rename[c.field()], index[c.field()] = c.Title, i
	}
	overrides := make([]dashboard.DashboardFieldConfigSourceOverrides, 0, len(t.Columns))
	for i := range t.Columns {
		overrides = append(overrides, dashboard.DashboardFieldConfigSourceOverrides{Matcher: ofName(t.Columns[i].Title), Properties: t.Columns[i].properties()})
	}
	return drawing{
		panel: "table", format: prometheus.PromQueryFormatTable, color: byThresholds(), overrides: overrides,
		custom: common.TableFieldOptions{Align: common.FieldTextAlignmentAuto, CellOptions: automatic(), Filterable: new(false)},
		options: table.Options{
			ShowHeader: true, CellHeight: new(common.TableCellHeightSm),
			SortBy: []common.TableSortByFieldState{{DisplayName: t.Sorted, Desc: new(true)}},
		},
		transformations: []dashboard.DataTransformerConfig{
			{Id: "merge", Options: map[string]any{}},
			{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": t.fields()}}},
			{Id: "organize", Options: map[string]any{"indexByName": index, "renameByName": rename}},
		},
	}
}

// fields are the names of what is shown, as the queries give them.
func (t *Table) fields() (out []string) {
	for i := range t.Columns {
		out = append(out, t.Columns[i].field())
	}
	return out
}

// field is the name that the data source gives the column.
func (c *Column) field() string {
	if c.Query == 0 {
		return c.Label
	}
	return "Value #" + letter(c.Query-1)
}

// properties are what makes a column differ from a table's usual one.
func (c *Column) properties() (out []dashboard.DynamicConfigValue) {
	add := func(id string, value any) { out = append(out, dashboard.DynamicConfigValue{Id: id, Value: value}) }
	if c.Width > 0 {
		add("custom.width", c.Width)
	}
	if c.Query > 0 {
		add("unit", string(c.Unit))
	}
	if c.Query > 0 && len(c.Words) == 0 {
		add("custom.align", common.FieldTextAlignmentRight)
	} else {
		add("custom.align", common.FieldTextAlignmentLeft)
	}
	if c.Decimals != nil {
		add("decimals", *c.Decimals)
	}
	if c.Hidden {
		add("custom.hidden", true) // until Grafana 12, then the next
		add("custom.hideFrom", common.HideSeriesConfig{Viz: true})
	}
	add("noValue", cmp.Or(c.Empty, "–"))
	if len(c.Words) > 0 {
		add("mappings", mappings(c.Words))
	}
	if c.Base != "" {
		add("thresholds", thresholds(c.Base, c.Steps))
	}
	switch {
	case c.Fill:
		add("custom.cellOptions", common.TableColoredBackgroundCellOptions{
			Type: common.TableCellDisplayModeColorBackground, Mode: new(common.TableCellBackgroundDisplayModeBasic),
		})
	case c.Bar:
		add("custom.cellOptions", common.TableBarGaugeCellOptions{
			Type: common.TableCellDisplayModeGauge, Mode: new(common.BarGaugeDisplayModeBasic), ValueDisplayMode: new(common.BarGaugeValueModeText),
		})
		add("min", 0)
		add("max", 1)
	case len(c.Steps) > 0 || len(c.Words) > 0:
		add("custom.cellOptions", common.TableColorTextCellOptions{Type: common.TableCellDisplayModeColorText})
	}
	if len(c.Links) > 0 {
		list := make([]dashboard.DashboardLink, 0, len(c.Links))
		for _, l := range c.Links {
			list = append(list, l.build())
		}
		add("links", list)
	}
	return out
}

// automatic is a cell as the table thinks fit.
func automatic() *common.TableCellOptions {
	return &common.TableCellOptions{TableAutoCellOptions: &common.TableAutoCellOptions{Type: common.TableCellDisplayModeAuto}}
}

// commonOptions are those of courses.
func commonOptions(legend common.VizLegendOptions) timeseries.Options {
	return timeseries.Options{Legend: legend, Tooltip: multi()}
}
