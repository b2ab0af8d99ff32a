package web

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

const (
	// shownWorst is how many unhealthy targets stand above the table.
	shownWorst = 3
	// shownCollectors is how many collectors are shown although they work.
	shownCollectors = 6
)

// fleetPage is what the entry page shows.
type fleetPage struct {
	frame
	Health     view.Health // of the fleet: that of its verdict
	Rest       string      // what the verdict leaves out
	Counts     []healthCount
	Worst      []row
	MoreWorst  int
	Rows       []row
	Reload     *reloaded
	Loaded     *moment
	ErrorBar   string
	Collectors collectorTable // of many, those that do not work
	Working    collectorTable // the others
	Discovery  []discoveryRow
}

// healthCount is how many targets are how well.
type healthCount struct {
	Health view.Health
	Count  int
}

// row is a target in the table of the fleet.
type row struct {
	Name, Href, Model, Load string
	Health                  view.Health
	Rank                    int // by health, and by age of the health
	Since                   *moment
	Reason                  string
	P50, P95, Goodput       cell
	Spark                   spark
	Errors                  cell
	Dropped                 int
	Rate                    cell
	Budget                  *gauge
	State                   string
}

// cell is a text and what it is sorted by; "" comes last in both directions.
type cell struct{ Text, Sort, About string }

// gauge is how much of a limit is used.
type gauge struct {
	Text, About string
	Width       string
	Sort        string
	Full        bool
}

type reloaded struct {
	view.Reload
	When    moment
	Errors  []string
	Summary string
}

// collectorTable is a table of collectors, and what it is called.
type collectorTable struct {
	Label string
	Rows  []collectorRow
}

type collectorRow struct {
	view.Collector
	For  string // the target that it reads for, where the page has more than one
	Last *moment
	Took string
}

type discoveryRow struct {
	view.DiscoverySet
	Last *moment
}

func newFleetPage(f frame, d Daemon, now time.Time) *fleetPage {
	targets := d.Targets()
	p := &fleetPage{frame: f, Loaded: newMoment(now, &f.Process.Config.Loaded), ErrorBar: duration(f.Process.Instrument.ErrorBar)}
	counts := map[view.Health]int{}
	p.Rows = make([]row, len(targets))
	for i := range targets {
		p.Rows[i] = newRow(&targets[i], i, now)
		counts[targets[i].Health]++
	}
	for _, h := range view.Healths {
		p.Counts = append(p.Counts, healthCount{h, counts[h]})
	}
	p.Health, p.Verdict = verdict(counts, len(targets))
	p.Rest = rest(p.Counts, len(targets))
	unhealthy := counts[view.Failing] + counts[view.Degraded]
	p.Worst = p.Rows[:min(unhealthy, shownWorst)]
	p.MoreWorst = unhealthy - len(p.Worst)
	p.Title = "targets"
	if len(targets) > 0 {
		p.Title = strconv.Itoa(unhealthy) + " unhealthy"
	}
	if r := f.Process.Config.Reload; r != nil {
		p.Reload = newReloaded(r, now)
	}
	p.Collectors, p.Working = newCollectors(d.Collectors(), now)
	for _, s := range d.Discovery() {
		p.Discovery = append(p.Discovery, discoveryRow{s, newMoment(now, s.Last)})
	}
	return p
}

// newCollectors has those that do not work first, and where there are many the others apart: a fleet has one for each target.
func newCollectors(all []view.Collector, now time.Time) (shown, working collectorTable) {
	shown.Label, working.Label = "Table of collectors", "Table of collectors that work"
	for _, c := range all {
		row := collectorRow{c, c.Target, newMoment(now, c.Last), duration(c.Duration)}
		if c.State == view.CollectorOK {
			working.Rows = append(working.Rows, row)
		} else {
			shown.Rows = append(shown.Rows, row)
		}
	}
	if len(all) <= shownCollectors {
		shown.Rows, working.Rows = append(shown.Rows, working.Rows...), nil
	}
	return shown, working
}

// verdict says in one line how the fleet is.
func verdict(counts map[view.Health]int, total int) (view.Health, string) {
	unhealthy := counts[view.Failing] + counts[view.Degraded]
	of := fmt.Sprintf("of %d targets", total)
	switch {
	case total == 0:
		return view.Idle, "There are no targets, so nothing is sent"
	case unhealthy > 0:
		worst := view.Degraded
		if counts[view.Failing] > 0 {
			worst = view.Failing
		}
		switch {
		case total == 1:
			return worst, "The only target is unhealthy"
		case unhealthy == total:
			return worst, fmt.Sprintf("All %d targets are unhealthy", total)
		case unhealthy == 1:
			return worst, "1 " + of + " is unhealthy"
		}
		return worst, strconv.Itoa(unhealthy) + " " + of + " are unhealthy"
	case counts[view.Unknown] == total:
		return view.Unknown, "Nothing is known yet of " + plural(total, "target", "targets")
	case counts[view.Idle] == total:
		return view.Idle, "Nothing is being sent to " + plural(total, "target", "targets")
	case counts[view.Unknown] > 0:
		return view.Unknown, "No target is unhealthy, as far as is known"
	case counts[view.Idle] > 0:
		return view.Healthy, "No target is unhealthy"
	case total == 1:
		return view.Healthy, "The only target is healthy"
	}
	return view.Healthy, fmt.Sprintf("All %d targets are healthy", total)
}

// rest counts the healths, where there is more than one.
func rest(counts []healthCount, total int) string {
	var parts []string
	for _, c := range counts {
		if c.Count == total {
			return ""
		}
		if c.Count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.Count, c.Health))
		}
	}
	return strings.Join(parts, ", ")
}

func newRow(t *view.Target, rank int, now time.Time) row {
	r := row{
		Name: t.Name, Href: targetHref(t.Name), Model: t.Model, Load: t.LoadText, Health: t.Health, Rank: rank, Since: newMoment(now, t.Since),
		Reason: t.Reason, P50: timed(t.Window.TTFT.P50), P95: timed(t.Window.TTFT.P95), Spark: newSpark(t.Points),
		Goodput: cell{Text: percent(t.Window.Goodput), Sort: sortable(t.Window.Goodput)}, Errors: newErrors(&t.Window),
		Rate: cell{Sort: sortable(&t.AchievedRate)}, Dropped: sum(t.Window.Dropped), State: t.State,
	}
	r.Rate.Text, r.Rate.About = rates(t.AchievedRate, t.AskedRate)
	if len(t.Budget) > 0 {
		tightest := slices.MaxFunc(t.Budget, func(a, b view.Budget) int { return cmp.Compare(used(&a), used(&b)) })
		r.Budget = newGauge(&tightest)
	}
	return r
}

func timed(v *float64) cell { return cell{Text: duration(v), Sort: sortable(v)} }

func sortable(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

// newErrors names the class of most failures of a window.
func newErrors(w *view.Window) cell {
	if w.Requests == 0 {
		return cell{Text: absent}
	}
	share := float64(w.Failures) / float64(w.Requests)
	out := cell{Text: "none", Sort: sortable(&share)}
	if w.Failures == 0 {
		return out
	}
	out.Text = fmt.Sprintf("%d of %d", w.Failures, w.Requests)
	if classes := byCount(w.Errors); len(classes) > 0 {
		out.About = words(classes[0].Name)
		if more := len(classes) - 1; more > 0 {
			out.About += fmt.Sprintf(" +%d", more)
		}
	}
	return out
}

// tally is how often something of a name was seen.
type tally struct {
	Name  string
	Count int
}

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}

// byCount has the most frequent first.
func byCount(counts map[string]int) []tally {
	out := make([]tally, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			out = append(out, tally{name, counts[name]})
		}
	}
	slices.SortStableFunc(out, func(a, b tally) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func used(b *view.Budget) float64 {
	if b.Limit <= 0 {
		return 1
	}
	return b.Used / b.Limit
}

func newGauge(b *view.Budget) *gauge {
	share := used(b)
	return &gauge{
		Text: percent(&share), About: fmt.Sprintf("%s of %s %s per %s", amount(b.Used), amount(b.Limit), words(b.Kind), b.Period),
		Width: proportion(math.Min(1, math.Max(0, share))), Sort: sortable(&share), Full: share >= 1,
	}
}

func newReloaded(r *view.Reload, now time.Time) *reloaded {
	out := &reloaded{Reload: *r, When: *newMomentOrZero(now, r.At)}
	for line := range strings.Lines(r.Error) {
		if line = strings.TrimSpace(line); line != "" {
			out.Errors = append(out.Errors, line)
		}
	}
	out.Summary = fmt.Sprintf("%d added, %d changed, %d removed, %d kept", r.Added, r.Changed, r.Removed, r.Kept)
	return out
}
