package report

import (
	"cmp"
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// reading is one page: the quantities, and which of them it had.
type reading struct {
	at    int64
	value [quantities]float64
	has   [quantities]bool
}

// replica is what is said of a replica, by who says it: on the page of a front end the engine behind it may count the same tokens once more.
type replica map[string]*counted

// counted is what one of them has counted since it was read first. A counter that goes back has begun again with its process: what it counted
// since then is added.
type counted struct {
	last     [quantities]float64 // as on the page
	seen     [quantities]bool
	readings []reading
}

// add takes a page, on which some that were there before may say nothing.
func (r replica) add(at int64, families []*dto.MetricFamily) {
	pages := map[string]*reading{"": {at: at}} // a page may have nothing that is kept
	for server := range r {
		pages[server] = &reading{at: at}
	}
	for _, f := range families {
		q, ok := serverFamilies[f.GetName()]
		if !ok {
			continue
		}
		for _, m := range f.GetMetric() {
			server := serverOf(m)
			if pages[server] == nil {
				pages[server] = &reading{at: at}
			}
			if h := m.GetHistogram(); h != nil {
				pages[server].add(q, h.GetSampleSum())
				pages[server].add(q+1, float64(h.GetSampleCount()))
			} else if m.GetCounter() != nil {
				pages[server].add(q, m.GetCounter().GetValue())
			}
		}
	}
	for server, page := range pages {
		if r[server] == nil {
			r[server] = &counted{}
		}
		r[server].add(page)
	}
}

// serverOf is the kind of server that says something.
func serverOf(m *dto.Metric) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == "server" {
			return l.GetValue()
		}
	}
	return ""
}

func (r *reading) add(q quantity, value float64) {
	r.value[q] += value
	r.has[q] = true
}

func (c *counted) add(page *reading) {
	total := reading{at: page.at, has: page.has}
	if n := len(c.readings); n > 0 {
		total.value = c.readings[n-1].value
	}
	for q, value := range page.value {
		switch {
		case !page.has[q]:
			continue // once more on the page, it goes on from where it was
		case !c.seen[q]:
			c.seen[q] = true
		case value < c.last[q]:
			total.value[q] += value
		default:
			total.value[q] += value - c.last[q]
		}
		c.last[q] = value
	}
	c.readings = append(c.readings, total)
}

// at gives a quantity at an instant, between the readings before and after it. It is not known if one of them is not there or more than one and
// a half intervals away: the counter may have stood still for most of that time.
func (c *counted) at(q quantity, instant, interval int64) (float64, bool) {
	after, exact := slices.BinarySearchFunc(c.readings, instant, func(r reading, at int64) int { return cmp.Compare(r.at, at) })
	if exact {
		return c.readings[after].value[q], c.readings[after].has[q]
	}
	if after == 0 || after == len(c.readings) {
		return 0, false
	}
	a, b := &c.readings[after-1], &c.readings[after]
	if limit := interval + interval/2; instant-a.at > limit || b.at-instant > limit || !a.has[q] || !b.has[q] {
		return 0, false
	}
	part := float64(instant-a.at) / float64(b.at-a.at)
	return a.value[q] + part*(b.value[q]-a.value[q]), true
}

// counts tells whether any of it is said.
func (r replica) counts() bool {
	for _, c := range r {
		if c.seen != ([quantities]bool{}) {
			return true
		}
	}
	return false
}

// during is what a replica did during a window, as whoever has counted most of it says: the sum of a histogram is that of its count.
func (r replica) during(window span, interval int64) (value [quantities]float64, has [quantities]bool) {
	var most [quantities]float64
	for _, server := range slices.Sorted(maps.Keys(r)) { // so that of equals it is always the same
		for q := range value {
			got, known := r[server].during(quantity(q), window, interval)
			n := got
			if s := quantity(q); s == queueSeconds || s == ttftSeconds {
				n, _ = r[server].during(s+1, window, interval)
			}
			if known && (!has[q] || n > most[q]) {
				value[q], most[q], has[q] = got, n, true
			}
		}
	}
	return value, has
}

func (c *counted) during(q quantity, window span, interval int64) (float64, bool) {
	from, begun := c.at(q, window.from, interval)
	to, ended := c.at(q, window.to, interval)
	return to - from, begun && ended
}
