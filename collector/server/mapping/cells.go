package mapping

import (
	"slices"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// maxAdapters bounds the series of one family that are made of the items in a label.
const maxAdapters = 50

// cells are the series of ours while a page is mapped.
type cells struct {
	bySeries map[*normalised]*output
	key      []byte
	labels   []string
	models   []string // that the page names, two at most
}

// output is what becomes a family.
type output struct {
	byLabels map[string]*cell
	order    []*cell
}

func (c *cells) begin() { c.bySeries, c.models = map[*normalised]*output{}, c.models[:0] }

// labelled is the cell with these labels and those that the recipe makes of the series; nil if there are too many.
func (c *cells) labelled(r *recipe, labels []string, s *exposition.Series, item string) *cell {
	fixed := len(labels)
	for i := range r.labels {
		labels = append(labels, r.label(&r.labels[i], s, item))
	}
	c.labels = labels
	parts := labels
	if r.series.join == collect {
		parts = labels[:fixed]
	}
	c.key = c.key[:0]
	for _, v := range parts {
		c.key = append(append(c.key, v...), 0xff) // in no valid UTF-8
	}
	out := c.bySeries[r.series]
	if out == nil {
		out = &output{byLabels: map[string]*cell{}}
		c.bySeries[r.series] = out
	}
	if found := out.byLabels[string(c.key)]; found != nil {
		for i, v := range labels[fixed:] {
			if found.values[fixed+i] == "" {
				found.values[fixed+i] = v
			}
		}
		return found
	}
	if item != "" && len(out.order) >= maxAdapters {
		return nil
	}
	made := &cell{values: slices.Clone(labels)}
	out.byLabels[string(c.key)] = made
	out.order = append(out.order, made)
	return made
}

// families makes families of all cells, by name. The cells are gone then.
func (c *cells) families() []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for series, o := range c.bySeries {
		if f := series.family(o.order); f != nil {
			out = append(out, f)
		}
	}
	c.bySeries = nil
	slices.SortFunc(out, byName)
	return out
}

// model is the one that the page names, "" if there are none or several.
func (c *cells) model() string {
	if len(c.models) != 1 {
		return ""
	}
	return c.models[0]
}
