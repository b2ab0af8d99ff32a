package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Part of a dashboard's JSON, read without the types that wrote it.
type (
	page struct {
		UID    string      `json:"uid"`
		ID     *int        `json:"id"`
		Title  string      `json:"title"`
		Panels []part      `json:"panels"`
		Vars   variables   `json:"templating"`
		Events annotations `json:"annotations"`
	}
	part struct {
		ID          int        `json:"id"`
		Type        string     `json:"type"`
		Title       string     `json:"title"`
		Description string     `json:"description"`
		Grid        place      `json:"gridPos"`
		Collapsed   bool       `json:"collapsed"`
		Panels      []part     `json:"panels"`
		Targets     []question `json:"targets"`
		FieldConfig struct {
			Defaults struct {
				Unit    string `json:"unit"`
				NoValue string `json:"noValue"`
			} `json:"defaults"`
		} `json:"fieldConfig"`
		Options struct {
			ReduceOptions *struct {
				Calcs []string `json:"calcs"`
			} `json:"reduceOptions"`
		} `json:"options"`
	}
	place    struct{ X, Y, W, H int }
	question struct {
		RefID string `json:"refId"`
		Expr  string `json:"expr"`
	}
	variables struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	}
	annotations struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	}
)

// all are the panels of a page, those of folded rows and the rows themselves included.
func (p *page) all() (out []part) {
	for _, one := range p.Panels {
		out = append(out, one)
		out = append(out, one.Panels...)
	}
	return out
}

// committed are the files, by name without ending: as text and read.
func committed(t *testing.T) (map[string][]byte, map[string]*page) {
	t.Helper()
	files, err := filepath.Glob("../json/*.json")
	if err != nil {
		t.Fatal(err)
	}
	texts, read := map[string][]byte{}, map[string]*page{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		texts[name], read[name] = text, &page{}
		if err := json.Unmarshal(text, read[name]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return texts, read
}

func TestTheFilesAreThoseThatTheSourceMakes(t *testing.T) {
	t.Parallel()
	texts, _ := committed(t)
	for _, p := range pages() {
		want, err := p.JSON()
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(want), string(texts[p.UID])); diff != "" {
			t.Errorf("%s is not up to date, run make gen (-want +got):\n%s", p.UID, diff)
		}
		delete(texts, p.UID)
	}
	for name := range texts {
		t.Errorf("nothing makes %s.json", name)
	}
}

func TestAPageIsTheSameEachTimeItIsMade(t *testing.T) {
	t.Parallel()
	for i, p := range pages() {
		first, err := p.JSON()
		if err != nil {
			t.Fatal(err)
		}
		second, err := pages()[i].JSON()
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Errorf("%s: two different texts", p.UID)
		}
	}
}

func TestNumbersAndLettersAreUniqueAndPanelsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	_, read := committed(t)
	for name, p := range read {
		if p.UID != name || p.ID != nil {
			t.Errorf("%s: uid %q, id %v: the uid is the file's name, and Grafana gives the id", name, p.UID, p.ID)
		}
		ids := map[int]string{}
		for _, one := range p.all() {
			if other, taken := ids[one.ID]; taken || one.ID == 0 {
				t.Errorf("%s: panels %q and %q have the number %d", name, one.Title, other, one.ID)
			}
			ids[one.ID] = one.Title
			checkPanel(t, name, &one)
		}
	}
}

func checkPanel(t *testing.T, name string, p *part) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.Title == "" || len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") {
		t.Errorf("%s: panel %q: the description is to be a sentence: %q", name, p.Title, p.Description)
	}
	if p.FieldConfig.Defaults.Unit == "" || p.FieldConfig.Defaults.NoValue == "" || len(p.Targets) == 0 {
		t.Errorf("%s: panel %q has no unit, no text for an empty one, or no query", name, p.Title)
	}
	if r := p.Options.ReduceOptions; r != nil && len(r.Calcs) != 1 {
		t.Errorf("%s: panel %q shows no value: calcs are %v", name, p.Title, r.Calcs)
	}
	letters := map[string]bool{}
	for _, q := range p.Targets {
		if q.RefID == "" || letters[q.RefID] {
			t.Errorf("%s: panel %q: query without a letter of its own: %q", name, p.Title, q.RefID)
		}
		letters[q.RefID] = true
	}
}

func TestPanelsLieBesideEachOther(t *testing.T) {
	t.Parallel()
	_, read := committed(t)
	for name, p := range read {
		taken := map[[2]int]string{}
		for _, one := range p.Panels {
			lay(t, name, taken, &one)
		}
		for _, row := range p.Panels {
			inside := map[[2]int]string{}
			for _, one := range row.Panels {
				lay(t, name, inside, &one)
			}
		}
	}
}

// lay marks the units of a panel.
func lay(t *testing.T, name string, taken map[[2]int]string, p *part) {
	t.Helper()
	if p.Grid.W < 1 || p.Grid.H < 1 || p.Grid.X+p.Grid.W > 24 {
		t.Errorf("%s: panel %q is at %+v, the page is 24 units wide", name, p.Title, p.Grid)
	}
	for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
		for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
			if other := taken[[2]int{x, y}]; other != "" {
				t.Errorf("%s: panels %q and %q overlap", name, p.Title, other)
				return
			}
			taken[[2]int{x, y}] = p.Title
		}
	}
}

// firstScreen is what fits at 1440 x 900, in units of the grid.
const firstScreen = 18

func TestTheFirstScreenAnswersTheQuestion(t *testing.T) {
	t.Parallel()
	_, read := committed(t)
	for _, p := range pages() {
		made := read[p.UID].Panels
		for i := range p.First {
			if at := made[i].Grid; at.Y+at.H > firstScreen {
				t.Errorf("%s: %q ends at line %d, below the first screen", p.UID, made[i].Title, at.Y+at.H)
			}
		}
		if row := made[len(p.First)]; row.Type != "row" {
			t.Errorf("%s: a row is to follow the first screen, not %q", p.UID, row.Title)
		}
	}
}
