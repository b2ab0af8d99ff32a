package mapping

import (
	"cmp"
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// limiter bounds the series of a page. What it dropped stays dropped until the page is well below the bound, so that no family comes and goes when
// two are about as large as each other, or the page is about as large as it may be.
type limiter struct {
	most    int             // 0 = no bound
	dropped map[string]bool // by name
}

// apply drops families, the largest first, and tells how many series they had.
func (l *limiter) apply(lists ...*[]*dto.MetricFamily) int {
	sizes, total := map[string]int{}, 0
	for _, list := range lists {
		for _, f := range *list {
			sizes[f.GetName()] += len(f.Metric)
			total += len(f.Metric)
		}
	}
	if l.most <= 0 || total <= l.most-l.most/10 {
		l.dropped = nil
	}
	if l.most <= 0 || total <= l.most && l.dropped == nil {
		return 0
	}
	if l.dropped == nil {
		l.dropped = map[string]bool{}
	}
	gone := 0
	maps.DeleteFunc(l.dropped, func(name string, _ bool) bool { return sizes[name] == 0 }) // a server may invent names for ever
	for name := range l.dropped {
		gone += sizes[name]
		delete(sizes, name)
	}
	largest := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(a, b)) })
	for _, name := range largest {
		if total-gone <= l.most {
			break
		}
		l.dropped[name] = true
		gone += sizes[name]
	}
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, func(f *dto.MetricFamily) bool { return l.dropped[f.GetName()] })
	}
	return gone
}
