package gpu

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// dialect is how an exporter tells about GPUs. It is data: what an exporter renames is one more word in a list.
type dialect struct {
	source   SourceName
	vendor   string
	prefixes []string // what sites put before names; they are tried beside the one that is configured
	names    names
	rules    []rule
	// part is the id of the instance that a series is of, "" if it is of the whole GPU.
	part func(*exposition.Series) string
	// whole tells whether what a series says about its whole GPU is true there; nil = always.
	whole func(*exposition.Series) bool
	// blank tells the values that stand for "not available"; nil = none do.
	blank func(series string, value float64) bool
}

// names are the labels that hold a property, the newest spelling first.
type names struct {
	index, uuid, hostname, model, profile, bus []string
	driver, cuda, vbios                        []string
}

// rule makes a series of ours from families. Of two rules for the same series the first one that finds something is taken.
type rule struct {
	series     string
	families   []string
	times, per float64  // from the unit of the source to ours; 0 is 1
	labels     []string // own labels of the series; an empty one is taken from the page, see from
	from       string
	where      *exposition.Label // only series with this label
	part       bool              // the value is of the instance that the series names; else of the whole GPU, whatever it names
	join       join
	complete   bool                                   // only if the first two families are there, and of each family one value
	convert    func(float64) (value float64, ok bool) // instead of times and per
	expand     func(mask uint64) []Sample             // instead of all of it
}

// join says what several values for one sample of a device are together.
type join uint8

const (
	first join = iota // all the same, as the power of a GPU that each of its instances repeats
	sum
	mean
	least
)

// What is multiplied with, or divided by, to come from the source's unit to ours. A division by 1000 is exact where a product with 0.001 is not.
const (
	percent = 100
	milli   = 1e3
	micro   = 1e6
	nano    = 1e9
	kilo    = 1e3
	mega    = 1e6
	mebi    = 1 << 20
)

// found are the devices of a page that is being read.
type found struct {
	byID  map[Identity]*device
	order []*device
}

// device is one that is being read from a page.
type device struct {
	Device
	values map[string]*draft
	order  []*draft
}

// draft is a sample that is being put together.
type draft struct {
	sample   Sample
	rule     int
	n        float64
	families uint64 // which of the rule's
}

// devices are those of a page, in the order in which the rules find them. prefix is what the site puts before names.
func (d *dialect) devices(page *exposition.Page, prefix string) []Device {
	all := d.read(page, prefix)
	out := make([]Device, 0, len(all.order))
	for _, dev := range all.order {
		for _, r := range dev.order {
			if !d.rules[r.rule].complete || r.families&3 == 3 {
				dev.Samples = append(dev.Samples, r.sample)
			}
		}
		out = append(out, dev.Device)
	}
	return out
}

// families finds those of the page by their plain names.
func (d *dialect) families(page *exposition.Page, prefix string) map[string]*exposition.Family {
	prefixes := append([]string{prefix, ""}, d.prefixes...)
	out := make(map[string]*exposition.Family, len(page.Families))
	for i := range page.Families {
		f := &page.Families[i]
		if f.Kind == exposition.Histogram || f.Kind == exposition.Summary {
			continue
		}
		for _, p := range prefixes {
			if name, ok := strings.CutPrefix(f.Name, p); ok {
				if _, taken := out[name]; !taken {
					out[name] = f
				}
			}
		}
	}
	return out
}

// read applies the rules.
func (d *dialect) read(page *exposition.Page, prefix string) *found {
	families := d.families(page, prefix)
	all := &found{byID: map[Identity]*device{}}
	for i := range d.rules {
		r := &d.rules[i]
		for j, name := range r.families {
			f, ok := families[name]
			if !ok {
				continue
			}
			for k := range f.Series {
				s := &f.Series[k]
				if r.where != nil && s.Label(r.where.Name) != r.where.Value || d.blankAt(r.series, s.Value) {
					continue
				}
				if dev := d.find(all, s, r.part); dev != nil {
					dev.take(i, r, j, s)
				}
			}
		}
	}
	return all
}

// blankAt tells the values that say nothing.
func (d *dialect) blankAt(series string, v float64) bool {
	const absoluteZero = -273.15
	lowest := 0.
	if series == seriesTemperature || series == seriesMemoryHeat {
		lowest = absoluteZero
	}
	return math.IsNaN(v) || math.IsInf(v, 0) || v < lowest || d.blank != nil && d.blank(series, v)
}

// find is the device that a value of the series belongs to, made if it is new; nil if the series names no GPU, or the value is not true there.
func (d *dialect) find(all *found, s *exposition.Series, part bool) *device {
	instance := d.part(s)
	id := Identity{Index: value(s, d.names.index), UUID: value(s, d.names.uuid), Hostname: value(s, d.names.hostname)}
	if id.Index == "" && id.UUID == "" || !part && d.whole != nil && !d.whole(s) {
		return nil
	}
	if part {
		id.Instance = instance
	}
	dev, ok := all.byID[id.key()]
	if !ok {
		dev = &device{Device: Device{Identity: id, Info: Info{Vendor: d.vendor}}, values: map[string]*draft{}}
		all.byID[id.key()] = dev
		all.order = append(all.order, dev)
	}
	d.describe(dev, s, id.Instance == instance)
	return dev
}

// key is what makes two devices the same: an UUID holds everywhere, without one an index holds on its host.
func (id Identity) key() Identity {
	if id.UUID != "" {
		id.Index, id.Hostname = "", ""
	}
	return id
}

// describe fills in what the series tells about the device, if it is not known yet. own: the series is of this device and not of an instance on it.
func (d *dialect) describe(dev *device, s *exposition.Series, own bool) {
	fill := func(field *string, labels ...string) {
		if *field == "" {
			*field = value(s, labels)
		}
	}
	fill(&dev.Index, d.names.index...)
	fill(&dev.Hostname, d.names.hostname...)
	fill(&dev.Info.Model, d.names.model...)
	if dev.Info.PCIBusID == "" {
		dev.Info.PCIBusID = strings.ToLower(value(s, d.names.bus))
	}
	fill(&dev.Info.DriverVersion, d.names.driver...)
	fill(&dev.Info.CUDAVersion, d.names.cuda...)
	fill(&dev.Info.VBIOSVersion, d.names.vbios...)
	if own {
		if dev.Instance != "" {
			fill(&dev.Info.Profile, d.names.profile...)
		}
		fill(&dev.Info.Namespace, "namespace")
		fill(&dev.Info.Pod, "pod")
		fill(&dev.Info.Container, "container")
	}
}

// take adds a value of family number j of rule number i.
func (dev *device) take(i int, r *rule, j int, s *exposition.Series) {
	if r.expand != nil {
		for _, sample := range r.expand(uint64(s.Value)) {
			dev.add(i, r, j, sample)
		}
		return
	}
	sample := Sample{Name: r.series, Value: s.Value * cmp.Or(r.times, 1) / cmp.Or(r.per, 1), Labels: r.labels}
	if r.convert != nil {
		v, ok := r.convert(s.Value)
		if !ok {
			return
		}
		sample.Value = v
	}
	if r.from != "" {
		from := s.Label(r.from)
		if from == "" {
			return
		}
		sample.Labels = slices.Clone(r.labels)
		sample.Labels[slices.Index(sample.Labels, "")] = from
	}
	dev.add(i, r, j, sample)
}

func (dev *device) add(i int, r *rule, j int, sample Sample) {
	key := sample.Name + "\x00" + strings.Join(sample.Labels, "\x00")
	had, ok := dev.values[key]
	if !ok {
		had = &draft{sample: sample, rule: i, n: 1, families: 1 << j}
		dev.values[key] = had
		dev.order = append(dev.order, had)
		return
	}
	if had.rule != i || r.complete && had.families>>j&1 == 1 { // a GPU that pods share is repeated for each of them
		return
	}
	had.families |= 1 << j
	switch r.join {
	case first:
	case sum:
		had.sample.Value += sample.Value
	case mean:
		had.n++
		had.sample.Value += (sample.Value - had.sample.Value) / had.n
	case least:
		had.sample.Value = min(had.sample.Value, sample.Value)
	}
}

// value is that of the first label that has one, bounded: it becomes the value of a label of ours.
func value(s *exposition.Series, labels []string) string {
	for _, name := range labels {
		if v := s.Label(name); v != "" {
			return exposition.Clip(v)
		}
	}
	return ""
}
