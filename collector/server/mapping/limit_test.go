package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sized is a page whose families have that many series.
func sized(sizes ...int) string {
	page := ""
	for i, size := range sizes {
		var series []string
		for j := range size {
			series = append(series, fmt.Sprintf(`{n="%d"} 1`, j))
		}
		page += family("gauge", string(rune('a'+i)), series...)
	}
	return page
}

func TestFamiliesBeyondTheBoundAreDroppedTheLargestFirstAndAlwaysTheSame(t *testing.T) {
	t.Parallel()
	m := New(Options{Kind: Generic, MaxSeries: 20, Passthrough: Passthrough{Allow: []string{".*"}}})
	for _, step := range []struct {
		name    string
		page    string
		want    []string
		dropped int
	}{
		{"within the bound", sized(10, 9, 1), []string{"a", "b", "c"}, 0},
		{"the largest goes", sized(10, 9, 2), []string{"b", "c"}, 10},
		{"and not another that is larger now", sized(10, 12, 2), []string{"b", "c"}, 10},
		{"it stays away while the page is about as large as it may be", sized(10, 8, 2), []string{"b", "c"}, 10},
		{"another goes if that is not enough", sized(10, 25, 2), []string{"c"}, 35},
		{"all come back when there is room", sized(8, 8, 2), []string{"a", "b", "c"}, 0},
		{"of equal ones the first by name goes", sized(10, 10, 2), []string{"b", "c"}, 10},
	} {
		r := m.Map(parse(t, step.page))
		var got []string
		for _, f := range r.Passed {
			got = append(got, f.GetName())
		}
		if diff := cmp.Diff(step.want, got); diff != "" || r.Dropped != step.dropped {
			t.Errorf("%s: dropped %d, want %d; %s", step.name, r.Dropped, step.dropped, diff)
		}
	}
}

func TestDroppedFamiliesThatEndedAreForgotten(t *testing.T) {
	t.Parallel()
	m := New(Options{Kind: Generic, MaxSeries: 20, Passthrough: Passthrough{Allow: []string{".*"}}})
	for i := range 10 {
		name := fmt.Sprintf("x%d", i)
		m.Map(parse(t, strings.NewReplacer(" a ", " "+name+" ", "a{", name+"{").Replace(sized(30))))
	}
	if got := len(m.limit.dropped); got > 1 {
		t.Errorf("%d families are remembered, of which one is still on the page", got)
	}
}

func TestNormalisedAndPassedFamiliesShareOneBound(t *testing.T) {
	t.Parallel()
	page := family("gauge", "vllm:num_requests_running", `{engine="0"} 1`, `{engine="1"} 1`, `{engine="2"} 1`) + sized(2)
	r := mapText(t, &Options{Kind: VLLM, MaxSeries: 3, Passthrough: Passthrough{Allow: []string{"a"}}}, page)
	if len(r.Normalised) != 0 || len(r.Passed) != 1 || r.Dropped != 3 {
		t.Errorf("%d normalised, %d passed, %d series dropped; want 0, 1, 3", len(r.Normalised), len(r.Passed), r.Dropped)
	}
}
