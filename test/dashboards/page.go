package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// page is what is read of a dashboard.
type page struct {
	UID        string  `json:"uid"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
	file string
}

type panel struct {
	Title   string  `json:"title"`
	Panels  []panel `json:"panels"` // of a row that is folded
	Targets []struct {
		RefID   string `json:"refId"`
		Expr    string `json:"expr"`
		Instant bool   `json:"instant"`
	} `json:"targets"`
}

// question is one query of a page.
type question struct {
	page, title, ref string
	expr             string
	now              bool // its present value is shown, else its course
	plain            bool // it is of a page for people: it does not ask for a job, and where it has no answer may be asked without its limits
}

// forms are those of histograms in which a question is put, each of them alternatives: who follows a runbook has either form. Pages explain figures in one of
// them, with classic ones mostly, which everybody has.
func (q *question) forms() [][]string {
	if q.plain && !strings.HasPrefix(q.page, "docs/runbooks/") {
		return [][]string{{classic, native}}
	}
	return [][]string{{native}, {classic}}
}

// name is how a question is called in the list of reasons.
func (q *question) name() string { return strings.TrimSpace(q.page + ": " + q.title + " " + q.ref) }

// readPages reads the dashboards of a folder.
func readPages(folder string) ([]*page, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no dashboards in %s: %w", folder, err)
	}
	var out []*page
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read dashboard: %w", err)
		}
		p := &page{file: file}
		if err := json.Unmarshal(text, p); err != nil {
			return nil, fmt.Errorf("read dashboard %s: %w", file, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// labelValues is the question of a variable.
var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// questions are all of a page: those of panels, events and variables.
func (p *page) questions() (out []question, err error) {
	add := func(one *panel) {
		for _, t := range one.Targets {
			out = append(out, question{page: p.UID, title: one.Title, ref: t.RefID, expr: t.Expr, now: t.Instant})
		}
	}
	for i := range p.Panels {
		add(&p.Panels[i])
		for j := range p.Panels[i].Panels {
			add(&p.Panels[i].Panels[j])
		}
	}
	for _, a := range p.Annotations.List {
		out = append(out, question{page: p.UID, title: "event", ref: a.Name, expr: a.Expr})
	}
	for _, v := range p.Templating.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			return nil, fmt.Errorf("variable %s of %s: %w", v.Name, p.UID, err)
		}
		m := labelValues.FindStringSubmatch(query.Query)
		if m == nil {
			return nil, fmt.Errorf("variable %s of %s asks %q", v.Name, p.UID, query.Query)
		}
		out = append(out, question{page: p.UID, title: "variable", ref: v.Name, expr: "count by (" + m[2] + ") (" + m[1] + ")", now: true})
	}
	return out, nil
}
