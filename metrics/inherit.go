package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// identity names a series among those of a target.
type identity struct {
	desc   *prometheus.Desc
	labels string // values, in the order of the names
}

func identify(desc *prometheus.Desc, labels []*dto.LabelPair) identity {
	var all strings.Builder
	for _, l := range labels {
		all.WriteString(l.GetValue())
		all.WriteByte(0xff) // is in no valid value
	}
	return identity{desc, all.String()}
}

// inherit takes over what the board before shows as well, and since when it counts. What the configuration says is not taken over. The lock
// of the target is held.
func (b *board) inherit(before *board) {
	for code := range before.codes {
		b.addCode(code)
	}
	for series := range before.limits {
		b.addLimit(series)
	}
	places := make(map[identity]int, len(before.children))
	for i := range before.children {
		if c := &before.children[i]; c.desc != nil && !c.configured {
			places[identify(c.desc, c.labels)] = i
		}
	}
	for i := range b.children {
		c := &b.children[i]
		if c.desc == nil || c.configured {
			continue
		}
		if at, ok := places[identify(c.desc, c.labels)]; ok {
			b.values[i], c.created = before.values[at], before.children[at].created
		}
	}
	b.inheritHistograms(before)
}

func (b *board) inheritHistograms(before *board) {
	places := make(map[identity]int, len(before.hist.all)+len(before.weighted))
	for i := range before.hist.all {
		h := &before.hist.all[i]
		places[identify(h.layout.desc, h.labels)] = i
	}
	for i := range before.weighted {
		w := &before.weighted[i]
		places[identify(w.desc, w.labels)] = i
	}
	for i := range b.hist.all {
		h := &b.hist.all[i]
		if at, ok := places[identify(h.layout.desc, h.labels)]; ok {
			*h = before.hist.all[at]
		}
	}
	for i := range b.weighted {
		w := &b.weighted[i]
		if at, ok := places[identify(w.desc, w.labels)]; ok {
			*w = before.weighted[at]
		} else {
			w.since = w.of.clone()
		}
	}
}
