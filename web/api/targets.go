package api

import (
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// targets is the fleet without what only a look at one target needs: the points of the hour and the ticks of records.
func (a *API) targets(*http.Request) (any, error) {
	all := a.daemon.Targets()
	out := make([]view.Target, len(all))
	for i := range all {
		out[i] = all[i]
		out[i].Points = nil
		out[i].LastRecord, out[i].LastFailure = brief(all[i].LastRecord), brief(all[i].LastFailure)
	}
	return out, nil
}

// brief is a record without what makes it long.
func brief(r *view.Record) *view.Record {
	if r == nil {
		return nil
	}
	short := *r
	short.Ticks, short.Prompt, short.Answer = nil, "", ""
	return &short
}

func (a *API) target(r *http.Request) (any, error) {
	t, ok := a.daemon.Target(r.PathValue("name"))
	if !ok {
		return nil, noTarget(r)
	}
	t.LastRecord, t.LastFailure = brief(t.LastRecord), brief(t.LastFailure)
	return t, nil
}

func noTarget(r *http.Request) error {
	return notFound("there is no target %q", r.PathValue("name"))
}

func (a *API) records(r *http.Request) (any, error) {
	want, err := parseSelection(r.URL.Query())
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if _, ok := a.daemon.Target(name); !ok {
		return nil, noTarget(r)
	}
	var out []view.Record
	for _, record := range a.daemon.Records(name) {
		if want.limit > 0 && len(out) == want.limit {
			break
		}
		if want.outcome == "" || record.Outcome == string(want.outcome) {
			out = append(out, record)
		}
	}
	return out, nil
}

// paused is what a target, or its state, was asked to be.
type paused struct {
	Target string `json:"target"`
	Paused bool   `json:"paused"`
}

func (a *API) pause(pause bool) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		name := r.PathValue("name")
		if err := a.controls.Pause(name, pause); err != nil {
			return nil, notFound("%v", err)
		}
		return paused{Target: name, Paused: pause}, nil
	}
}

func (a *API) discovery(*http.Request) (any, error) { return a.daemon.Discovery(), nil }

func (a *API) collectors(*http.Request) (any, error) { return a.daemon.Collectors(), nil }

// ruleFile is a file of alerts and recording rules.
type ruleFile struct {
	File string `json:"file"`
	YAML string `json:"yaml"`
}

func (a *API) alerts(*http.Request) (any, error) {
	var out []ruleFile
	err := fs.WalkDir(a.rules, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yml", ".yaml"}, path.Ext(name)) {
			return err
		}
		text, err := fs.ReadFile(a.rules, name)
		out = append(out, ruleFile{File: name, YAML: string(text)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return out, nil
}
