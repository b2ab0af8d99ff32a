package board

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// number is a panel with all that it needs.
func number(key string, width, height uint32) Panel {
	return Panel{
		Key: key, Title: key, Help: "A number.", W: width, H: height, Unit: Count, Form: Number{}, Queries: []Query{{Expr: "vector(1)", Now: true}},
	}
}

// placed reads where the panels of a page are, the inner ones of folded rows behind their row.
func placed(t *testing.T, d *Dashboard) (out []string) {
	t.Helper()
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Panels  []part
	}
	var read struct{ Panels []part }
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	var add func([]part)
	add = func(list []part) {
		for _, p := range list {
			at, err := json.Marshal([]int{p.GridPos.X, p.GridPos.Y, p.GridPos.W, p.GridPos.H})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p.Title+" "+string(at))
			add(p.Panels)
		}
	}
	add(read.Panels)
	return out
}

func TestPanelsFillLinesFromTheLeftAndFoldedRowsTakeNoPlace(t *testing.T) {
	t.Parallel()
	got := placed(t, &Dashboard{
		UID: "x", First: []Panel{number("a", 8, 4), number("b", 16, 6), number("c", 20, 3), number("d", 8, 2)},
		Rows: []Row{
			{Key: "r", Title: "open", Panels: []Panel{number("e", 24, 5)}},
			{Key: "s", Title: "folded", Folded: true, Panels: []Panel{number("f", 12, 5), number("g", 12, 5)}},
			{Key: "t", Title: "after", Panels: []Panel{number("h", 6, 5)}},
		},
	})
	want := []string{
		"a [0,0,8,4]", "b [8,0,16,6]", "c [0,6,20,3]", "d [0,9,8,2]",
		"open [0,11,24,1]", "e [0,12,24,5]",
		"folded [0,17,24,1]", "f [0,18,12,5]", "g [12,18,12,5]",
		"after [0,18,24,1]", "h [0,19,6,5]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPanelKeepsItsNumberWhereverItIs(t *testing.T) {
	t.Parallel()
	if a, b := identifier("ttft"), identifier("ttft"); a != b || a == 0 {
		t.Errorf("numbers %d and %d of the same key", a, b)
	}
	if identifier("ttft") == identifier("itl") {
		t.Error("two keys have the same number")
	}
}

func TestAPanelThatSaysTooLittleIsRefused(t *testing.T) {
	t.Parallel()
	for what, forget := range map[string]func(*Panel){
		"key": func(p *Panel) { p.Key = "" }, "help": func(p *Panel) { p.Help = "" }, "unit": func(p *Panel) { p.Unit = "" },
		"queries": func(p *Panel) { p.Queries = make([]Query, most+1) },
	} {
		p := number("a", 4, 4)
		forget(&p)
		_, err := (&Dashboard{UID: "x", First: []Panel{p}}).JSON()
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("without %s the error is %v", what, err)
		}
	}
}
