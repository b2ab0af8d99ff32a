package board

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
)

// Number is one value, or a few side by side, in large letters.
type Number struct {
	Course bool // with the course of the shown time behind it
	Names  bool // each value with its name
	Filled bool // the colour behind the number, not of it: what has to be seen from the other end of the room
}

func (n Number) draw(*Panel) drawing {
	o := stat.Options{
		GraphMode: common.BigValueGraphModeNone, ColorMode: common.BigValueColorModeValue, JustifyMode: common.BigValueJustifyModeAuto,
		TextMode: common.BigValueTextModeValue, ReduceOptions: last(), Orientation: common.VizOrientationAuto, WideLayout: true,
		PercentChangeColorMode: common.PercentChangeColorModeStandard,
	}
	if n.Course {
		o.GraphMode = common.BigValueGraphModeArea
	}
	if n.Names {
		o.TextMode = common.BigValueTextModeValueAndName
	}
	if n.Filled {
		o.ColorMode = common.BigValueColorModeBackground
	}
	return drawing{panel: "stat", options: o, format: prometheus.PromQueryFormatTimeSeries, color: byThresholds()}
}

// Lines are courses over time.
type Lines struct {
	Log     bool // an axis for what spans orders of magnitude, such as latencies
	Stacked bool // parts of a whole
	Bars    bool // counts
	Steps   bool // draws the panel's thresholds as lines
	Table   bool // a legend with last and largest values, for many series
}

func (l Lines) draw(p *Panel) drawing {
	custom := common.GraphFieldConfig{
		DrawStyle: new(common.GraphDrawStyleLine), LineInterpolation: new(common.LineInterpolationLinear), LineWidth: new(1.5), FillOpacity: new(0.0),
		ShowPoints: new(common.VisibilityModeAuto), PointSize: new(4.0), SpanNulls: &common.BoolOrFloat64{Bool: new(false)},
		GradientMode: new(common.GraphGradientModeNone), AxisPlacement: new(common.AxisPlacementAuto),
		ScaleDistribution: &common.ScaleDistributionConfig{Type: common.ScaleDistributionLinear},
		Stacking:          &common.StackingConfig{Mode: new(common.StackingModeNone), Group: new("A")},
		ThresholdsStyle:   &common.GraphThresholdsStyleConfig{Mode: common.GraphThresholdsStyleModeOff},
	}
	if !l.Log && p.Max == nil {
		custom.AxisSoftMax = leastTop[p.Unit]
	}
	if l.Log {
		custom.ScaleDistribution = &common.ScaleDistributionConfig{Type: common.ScaleDistributionLog, Log: new(10.0)}
	}
	if l.Stacked {
		custom.Stacking.Mode, custom.FillOpacity, custom.LineWidth = new(common.StackingModeNormal), new(45.0), new(1.0)
	}
	if l.Bars {
		custom.DrawStyle, custom.FillOpacity, custom.LineWidth = new(common.GraphDrawStyleBars), new(80.0), new(0.0)
	}
	if l.Steps {
		custom.ThresholdsStyle.Mode = common.GraphThresholdsStyleModeDashed
	}
	legend := common.VizLegendOptions{DisplayMode: common.LegendDisplayModeList, Placement: common.LegendPlacementBottom, ShowLegend: true, Calcs: []string{}}
	if l.Table {
		legend.DisplayMode, legend.Placement, legend.Calcs = common.LegendDisplayModeTable, common.LegendPlacementRight, []string{"lastNotNull", "max"}
	}
	return drawing{
		panel: "timeseries", format: prometheus.PromQueryFormatTimeSeries, custom: custom,
		color:   &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdPaletteClassicByName},
		options: commonOptions(legend),
	}
}

// leastTop is what an axis reaches at least, so that nothing but zeros does not look like a scale of a hundred.
var leastTop = map[Unit]*float64{
	Share: new(0.01), Count: new(1.0), Plain: new(1.0), Requests: new(0.1), Cores: new(0.1), TokensPerSecond: new(1.0), Seconds: new(0.001),
}

// Heat is a distribution over time: the darker, the more.
type Heat struct{}

func (Heat) draw(p *Panel) drawing {
	log := &common.ScaleDistributionConfig{Type: common.ScaleDistributionLog, Log: new(10.0)}
	return drawing{
		panel: "heatmap", format: prometheus.PromQueryFormatHeatmap,
		custom: heatmap.FieldConfig{ScaleDistribution: &common.ScaleDistributionConfig{Type: common.ScaleDistributionLinear}, HideFrom: &common.HideSeriesConfig{}},
		options: heatmap.Options{
			Calculate: new(false), CellGap: new(uint8(1)), ShowValue: common.VisibilityModeNever,
			Color: heatmap.HeatmapColorOptions{
				Mode: new(heatmap.HeatmapColorModeScheme), Scheme: "Oranges", Fill: "dark-orange", Scale: new(heatmap.HeatmapColorScaleExponential),
				Exponent: 0.5, Steps: 64,
			},
			FilterValues: &heatmap.FilterValueRange{Le: new(float32(1e-9))},
			RowsFrame:    &heatmap.RowsHeatmapOptions{Layout: new(common.HeatmapCellLayoutAuto)},
			YAxis:        heatmap.YAxisConfig{Unit: new(string(p.Unit)), AxisPlacement: new(common.AxisPlacementLeft), ScaleDistribution: log},
			CellValues:   &heatmap.CellValues{Unit: new(string(Count))},
			Legend:       heatmap.HeatmapLegend{Show: true},
			Tooltip:      heatmap.HeatmapTooltip{Mode: common.TooltipDisplayModeSingle, YHistogram: new(true), ShowColorScale: new(false)},
			Exemplars:    heatmap.ExemplarConfig{Color: "rgba(31, 120, 255, 0.9)"},
		},
	}
}

// Gauges are bars of the present values, side by side.
type Gauges struct{}

func (Gauges) draw(*Panel) drawing {
	return drawing{
		panel: "bargauge", format: prometheus.PromQueryFormatTimeSeries, color: byThresholds(),
		options: bargauge.Options{
			DisplayMode: common.BarGaugeDisplayModeBasic, ValueMode: common.BarGaugeValueModeText, NamePlacement: common.BarGaugeNamePlacementLeft,
			ShowUnfilled: true, Sizing: common.BarGaugeSizingManual, MinVizWidth: 8, MinVizHeight: 16, MaxVizHeight: 30, ReduceOptions: last(),
			Text:        &common.VizTextDisplayOptions{TitleSize: new(13.0), ValueSize: new(14.0)},
			Orientation: common.VizOrientationHorizontal,
			Legend:      common.VizLegendOptions{DisplayMode: common.LegendDisplayModeList, Placement: common.LegendPlacementBottom, Calcs: []string{}},
		},
	}
}

// States are bands over time, one for each series, in the words of the panel.
type States struct{}

func (States) draw(*Panel) drawing {
	return drawing{
		// A colour by thresholds would show ranges of numbers in place of the words.
		panel: "state-timeline", format: prometheus.PromQueryFormatTimeSeries, color: new(fixed(Absent)),
		custom: statetimeline.FieldConfig{
			FillOpacity: new(uint32(75)), LineWidth: new(uint32(0)), SpanNulls: &statetimeline.BoolOrUint32{Bool: new(false)},
		},
		options: statetimeline.Options{
			ShowValue: common.VisibilityModeAuto, RowHeight: 0.8, MergeValues: new(true), AlignValue: new(common.TimelineValueAlignmentLeft),
			Legend:  common.VizLegendOptions{DisplayMode: common.LegendDisplayModeList, Placement: common.LegendPlacementBottom, ShowLegend: true, Calcs: []string{}},
			Tooltip: multi(),
		},
	}
}

// byThresholds colours a value by the panel's steps.
func byThresholds() *dashboard.FieldColor {
	return &dashboard.FieldColor{Mode: dashboard.FieldColorModeIdThresholds}
}
