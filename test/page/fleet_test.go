package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// names are the targets that the table shows, in its order.
func (b *tab) names() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("#fleet tbody tr:not([hidden])")].map((r) => r.dataset.target)`)
}

// column is what a column of the table shows, from top to bottom, without what stands below in small letters.
func (b *tab) column(name string) []string {
	b.t.Helper()
	return eval[[]string](b, fmt.Sprintf(`(() => {
	  const at = [...document.querySelectorAll("#fleet thead th")].findIndex((th) => th.dataset.sort === %q);
	  return [...document.querySelectorAll("#fleet tbody tr:not([hidden])")].map((row) => {
	    const cell = row.cells[at].cloneNode(true);
	    for (const sub of cell.querySelectorAll(".sub")) sub.remove();
	    return cell.textContent.trim();
	  });
	})()`, name))
}

// sorted is which columns say that the table is sorted by them, and how.
func (b *tab) sorted() string {
	b.t.Helper()
	return eval[string](b, `[...document.querySelectorAll("#fleet th[aria-sort]")].map((th) => th.dataset.sort + " " + th.getAttribute("aria-sort")).join()`)
}

// value reads what a cell shows, as people do.
func value(text string) (v float64, known bool) {
	number, unit, _ := strings.Cut(strings.ReplaceAll(text, "\u202f", ""), " ")
	if before, found := strings.CutSuffix(number, "/s"); found {
		number, unit = before, "/s"
	} else if before, found := strings.CutSuffix(number, "/min"); found {
		number, unit = before, "/min"
	}
	if number == "none" {
		return 0, true
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	switch {
	case unit == "ms":
		v /= 1e3
	case unit == "/min":
		v /= 60
	case strings.HasPrefix(unit, "of "): // a share
		of, err := strconv.ParseFloat(strings.TrimPrefix(unit, "of "), 64)
		if err != nil {
			return 0, false
		}
		v /= of
	}
	return v, true
}

// byHealth and byText are the orders of columns without numbers.
func byHealth(a, b string) int {
	healths := []string{"failing", "degraded", "unknown", "idle", "healthy"}
	return cmp.Compare(slices.Index(healths, a), slices.Index(healths, b))
}

// columns are those that the table can be sorted by, and how they compare; nil: by value, absent ones last.
var columns = []struct {
	name         string
	order        func(a, b string) int
	largestFirst bool
}{
	{"health", byHealth, false},
	{"target", natural, false},
	{"model", strings.Compare, false},
	{"p50", nil, true},
	{"p95", nil, true},
	{"goodput", nil, false},
	{"errors", nil, true},
	{"rate", nil, true},
	{"budget", nil, true},
	{"state", strings.Compare, false},
}

// natural compares names with a number at their end by it.
func natural(a, b string) int {
	stem := func(s string) (string, int) {
		at := strings.LastIndex(s, "-")
		n, err := strconv.Atoi(s[at+1:])
		if at < 0 || err != nil {
			return s, 0
		}
		return s[:at], n
	}
	aStem, aNumber := stem(a)
	bStem, bNumber := stem(b)
	return cmp.Or(strings.Compare(aStem, bStem), cmp.Compare(aNumber, bNumber))
}

// wrong tells what is wrong with the order of texts, "" if nothing is. Values are told apart as far as they are shown.
func wrong(texts []string, order func(a, b string) int, descending bool) string {
	direction := 1
	if descending {
		direction = -1
	}
	for i := 1; i < len(texts); i++ {
		a, b := texts[i-1], texts[i]
		if order != nil {
			if order(a, b)*direction > 0 {
				return fmt.Sprintf("%q before %q", a, b)
			}
			continue
		}
		av, known := value(a)
		bv, next := value(b)
		if (!known && next) || (known && next && (av-bv)*float64(direction) > 1e-9) {
			return fmt.Sprintf("%q before %q", a, b)
		}
	}
	return ""
}

// quiet keeps the page as it is, so that what it shows does not change between two questions of a test.
const quiet = `window.fetch = () => new Promise(() => {})`

func TestTheFleetIsSortedByEachColumn(t *testing.T) {
	t.Parallel()
	b := open(t, rig.zoo.url)
	b.goTo("/")
	// What is asked often has figures, one has failed.
	b.until("the fleet has figures", `document.querySelector('tr[data-target="juliet"]').dataset.health === "failing" && document.querySelector('tr[data-target="echo"] [data-label="TTFT p50"]').dataset.v`)
	eval[any](b, quiet+"; 0")
	if got := b.sorted(); got != "health ascending" {
		t.Errorf("sorted by %q at first, want by health", got)
	}
	for how, act := range map[string]func(column string){
		"mouse": func(column string) { b.click("#by-" + column) },
		"Enter": func(column string) {
			eval[any](b, "document.getElementById('by-"+column+"').focus()")
			b.press(kb.Enter)
		},
		"Spacebar": func(column string) { eval[any](b, "document.getElementById('by-"+column+"').focus()"); b.press(" ") },
	} {
		b.click("#by-model") // where none of the others begins
		for _, c := range columns {
			if c.name == "model" {
				continue
			}
			for _, descending := range []bool{c.largestFirst, !c.largestFirst} {
				act(c.name)
				want := c.name + map[bool]string{false: " ascending", true: " descending"}[descending]
				if got := b.sorted(); got != want {
					t.Errorf("%s: sorted by %q, want %q", how, got, want)
				}
				texts := b.column(c.name)
				if len(texts) != 12 {
					t.Fatalf("%s: %d rows, want 12", how, len(texts))
				}
				if fault := wrong(texts, c.order, descending); fault != "" {
					t.Errorf("%s: %s: %s in %q", how, want, fault, texts)
				}
			}
			if focused := eval[string](b, "document.activeElement.id"); focused != "by-"+c.name {
				t.Errorf("%s: focus is on %q after sorting by %s", how, focused, c.name)
			}
		}
	}
}

func TestTheFleetIsFilteredAndTheAddressKeepsIt(t *testing.T) {
	t.Parallel()
	b := open(t, rig.zoo.url)
	b.goTo("/")
	b.until("juliet fails", `document.querySelector('#only-failing')`)

	b.click("#q")
	b.press("d", "e", "l")
	if got, want := b.names(), []string{"delta-2", "delta-10"}; !sameSet(got, want) {
		t.Errorf("filter del: %q, want %q", got, want)
	}
	if got, want := eval[string](b, `document.getElementById("shown").textContent`), "2 of 12 targets match the filter"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	eval[any](b, `document.getElementById("q").select(); 0`)
	b.press(kb.Backspace)
	b.click("#only-failing")
	if got, want := b.names(), []string{"juliet"}; !slices.Equal(got, want) {
		t.Errorf("filter failing: %q, want %q", got, want)
	}
	b.click("#by-target")
	b.click("#q")
	b.press("j", "u")

	b.goTo("/config")
	b.back()
	b.until("the filter is as it was", `document.getElementById("q")?.value === "ju" && document.querySelector("#only-failing")?.getAttribute("aria-pressed") === "true"`)
	if got, want := b.names(), []string{"juliet"}; !slices.Equal(got, want) {
		t.Errorf("after coming back: %q, want %q", got, want)
	}
	b.do(chromedp.Reload())
	b.until("the filter is as it was", `document.getElementById("q")?.value === "ju" && document.querySelector("#only-failing")?.getAttribute("aria-pressed") === "true"`)
	if got := b.sorted(); got != "target ascending" {
		t.Errorf("sorted by %q after a reload, want by target", got)
	}
	b.click("#only-failing")
	eval[any](b, `document.getElementById("q").select(); 0`)
	b.press(kb.Backspace)
	if got := b.names(); len(got) != 12 {
		t.Errorf("without filters %q", got)
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
