package mapping

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// ownLabels are put on each series that is passed through. One of the server with such a name becomes exported_…, as in Prometheus.
var ownLabels = []string{"target", "instance_id"}

// rayLabels are those of Ray that change with each restart.
var rayLabels = []string{"SessionName", "WorkerId"}

// passer passes families through.
type passer struct {
	allow, deny *regexp.Regexp // of names on the page; allow nil = nothing
	reserved    *regexp.Regexp // names that nothing may have with us
	config      Passthrough
	own         []exposition.Label
}

// passed is a family that is passed through, and its name with us.
type passed struct {
	family int
	name   string
}

func newPasser(o *Options) passer {
	p := passer{
		config:   o.Passthrough,
		own:      []exposition.Label{{Name: ownLabels[0], Value: o.Target}, {Name: ownLabels[1], Value: o.Instance}},
		deny:     regexp.MustCompile(anchored(append([]string{alwaysDenied}, o.Passthrough.Deny...)...)),
		reserved: regexp.MustCompile(anchored(alwaysDenied)),
	}
	if len(o.Passthrough.Allow) > 0 {
		p.allow = regexp.MustCompile(anchored(o.Passthrough.Allow...))
	}
	return p
}

// plainName is the name of a family without what only newer readers take, as Prometheus writes it for older ones. With us all get the same: names
// that are told apart by nothing else would become one on the way to an older reader, and cost it the whole page.
func plainName(name string) string { return model.EscapeName(name, model.UnderscoreEscaping) }

// plainLabel is likewise the name of a label, in which there is no colon.
func plainLabel(name string) string { return strings.ReplaceAll(plainName(name), ":", "_") }

// plan lists the families of a page that are passed through. Of families whose names would be mixed up, as that of a gauge x_count with a part of
// the histogram x, the first by name stays.
func (p *passer) plan(page *exposition.Page) []passed {
	if p.allow == nil {
		return nil
	}
	var out []passed
	for i := range page.Families {
		f := &page.Families[i]
		if f.Name == "" || !p.allow.MatchString(f.Name) || p.deny.MatchString(f.Name) {
			continue
		}
		name := plainName(p.config.Prefix + f.Name)
		if p.reserved.MatchString(name) {
			continue
		}
		if f.Kind == exposition.Counter && !strings.HasSuffix(name, "_total") {
			name += "_total"
		}
		out = append(out, passed{i, name})
	}
	slices.SortStableFunc(out, func(a, b passed) int { return cmp.Compare(a.name, b.name) })
	taken := map[string]bool{}
	return slices.DeleteFunc(out, func(f passed) bool {
		names := namesOnPage(f.name, page.Families[f.family].Kind)
		if slices.ContainsFunc(names, func(name string) bool { return taken[name] }) {
			return true
		}
		for _, name := range names {
			taken[name] = true
		}
		return false
	})
}

// namesOnPage are all names that samples of a family have.
func namesOnPage(name string, kind exposition.Kind) []string {
	switch kind {
	case exposition.Histogram:
		return []string{name, name + "_bucket", name + "_count", name + "_sum"}
	case exposition.Summary:
		return []string{name, name + "_count", name + "_sum"}
	case exposition.Untyped, exposition.Counter, exposition.Gauge:
	}
	return []string{name}
}

// families passes those of a plan, by name.
func (p *passer) families(plan []passed, page *exposition.Page) []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for _, f := range plan {
		if family := p.family(&page.Families[f.family], f.name); family != nil {
			out = append(out, family)
		}
	}
	return out
}

// family is nil where nothing of it can be shown, or labels that are left out would have made two series one.
func (p *passer) family(f *exposition.Family, name string) *dto.MetricFamily {
	out := &dto.MetricFamily{Name: new(name), Help: new(strings.ToValidUTF8(f.Help, "\uFFFD")), Type: passedType(f.Kind).Enum()}
	seen := make(map[string]bool, len(f.Series))
	var key []byte
	for i := range f.Series {
		m := &dto.Metric{}
		if !setValue(m, f.Kind, &f.Series[i]) {
			continue
		}
		if m.Label = p.labels(f, &f.Series[i]); m.Label == nil {
			return nil
		}
		key = key[:0]
		for _, l := range m.Label {
			key = append(append(append(append(key, l.GetName()...), 0xff), l.GetValue()...), 0xff)
		}
		if seen[string(key)] {
			return nil
		}
		seen[string(key)] = true
		out.Metric = append(out.Metric, m)
	}
	if len(out.Metric) == 0 {
		return nil
	}
	return out
}

// labels are those of a series with ours, by name; nil if two have one name.
func (p *passer) labels(f *exposition.Family, s *exposition.Series) []*dto.LabelPair {
	pairs := make([]exposition.Label, 0, len(s.Labels)+len(p.own))
	pairs = append(pairs, p.own...)
	for _, l := range s.Labels {
		if l.Name = plainLabel(l.Name); l.Value == "" || p.drops(f, l.Name) { // an empty label is none
			continue
		}
		l.Name = p.rename(s, l.Name)
		pairs = append(pairs, l)
	}
	slices.SortFunc(pairs, func(a, b exposition.Label) int { return cmp.Compare(a.Name, b.Name) })
	memory := make([]dto.LabelPair, len(pairs))
	out := make([]*dto.LabelPair, len(pairs))
	for i, l := range pairs {
		if i > 0 && pairs[i-1].Name == l.Name {
			return nil
		}
		memory[i].Name, memory[i].Value = new(l.Name), new(exposition.Clip(l.Value))
		out[i] = &memory[i]
	}
	return out
}

// rename gives a label its name with us.
func (p *passer) rename(s *exposition.Series, name string) string {
	if to, ok := p.config.RenameLabels[name]; ok {
		return to
	}
	if !slices.Contains(ownLabels, name) {
		return name
	}
	for {
		if name = "exported_" + name; s.Label(name) == "" {
			return name
		}
	}
}

// drops tells whether a label is left out.
func (p *passer) drops(f *exposition.Family, label string) bool {
	return strings.HasPrefix(label, "__") || slices.Contains(p.config.DropLabels, label) ||
		strings.HasPrefix(f.Name, "ray_") && slices.Contains(rayLabels, label)
}
