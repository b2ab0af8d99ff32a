// Package board says what a dashboard of this project looks like, so that a page is only a list of questions: a panel has a key, a title, a sentence
// on how to read it, a unit and queries; colours stand for meanings. Identifiers, reference letters, the grid, the data source, the events that are
// drawn over every panel and the links between pages are the same everywhere and come from here.
//
// Nothing of this is linked into the exporter: dashboards/generate writes the pages as JSON, and people load that into Grafana.
package board

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// schemaVersion is the oldest that knows everything that is used here: Grafana 10 reads it, later ones migrate it as they load it.
const schemaVersion = 39

// Dashboard is one page.
type Dashboard struct {
	UID   string // the address of the page and the name of its file
	Title string
	Help  string // the question that it answers
	From  string // the time that it shows at first, such as now-6h
	// Variables come after the one for the data source.
	Variables []Variable
	// Target is whether the variable target is among them: the events of other targets are left out then.
	Target bool
	// First is what is seen without scrolling; it answers the question.
	First []Panel
	Rows  []Row
}

// Row is a titled part of a page below its first screen.
type Row struct {
	Key, Title string
	// Folded rows cost no query until they are opened: what only some people have, such as GPUs.
	Folded bool
	Panels []Panel
}

// JSON is the page as Grafana takes it. The same page gives the same bytes.
func (d *Dashboard) JSON() ([]byte, error) {
	out, err := d.build()
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", d.UID, err)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", d.UID, err)
	}
	return append(text, '\n'), nil
}

// build puts the parts in their places.
func (d *Dashboard) build() (*dashboard.Dashboard, error) { //nolint:staticcheck // its successor is for Grafana 12 and later
	panels, errs := d.panels()
	return &dashboard.Dashboard{ //nolint:staticcheck // likewise
		Uid:           new(d.UID),
		Title:         new(d.Title),
		Description:   new(d.Help),
		Tags:          []string{"aiperf", "generated"},
		Timezone:      new("browser"),
		Editable:      new(false),
		GraphTooltip:  new(dashboard.DashboardCursorSyncCrosshair),
		Time:          &dashboard.DashboardDashboardTime{From: d.From, To: "now"},
		Timepicker:    &dashboard.TimePickerConfig{RefreshIntervals: []string{"10s", "30s", "1m", "5m", "15m"}},
		Refresh:       new("30s"),
		SchemaVersion: schemaVersion,
		Panels:        panels,
		Templating:    dashboard.DashboardDashboardTemplating{List: variables(d.Variables)},
		Annotations:   dashboard.AnnotationContainer{List: events(d.Target)},
		Links:         []dashboard.DashboardLink{bar()},
	}, errors.Join(errs...)
}

// panels lays the panels out, one row after the other.
func (d *Dashboard) panels() (out []dashboard.PanelOrRowPanel, errs []error) {
	place := &grid{}
	add := func(list []Panel) []dashboard.Panel {
		built := make([]dashboard.Panel, 0, len(list))
		for i := range list {
			p, err := list[i].build(place)
			if err != nil {
				errs = append(errs, err)
			}
			built = append(built, p)
		}
		place.newLine()
		return built
	}
	open := func(list []dashboard.Panel) {
		for i := range list {
			out = append(out, dashboard.PanelOrRowPanel{Panel: &list[i]})
		}
	}
	open(add(d.First))
	for _, row := range d.Rows {
		at := place.put(gridWidth, 1)
		head := &dashboard.RowPanel{
			Type: "row", Id: identifier("row/" + row.Key), Title: new(row.Title), Collapsed: row.Folded, GridPos: &at, Panels: []dashboard.Panel{},
		}
		out = append(out, dashboard.PanelOrRowPanel{RowPanel: head})
		if panels := add(row.Panels); row.Folded {
			head.Panels = panels
			place.y = at.Y + at.H // what is folded takes no place
		} else {
			open(panels)
		}
	}
	return out, errs
}
