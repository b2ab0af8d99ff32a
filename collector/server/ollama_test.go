package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

func TestModelsOfOllama(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body  string
		model string
		most  int
		want  map[string]float64
	}{
		"the target's model has the name that the target has for it": {
			`{"models":[{"name":"llama3.2:latest","model":"llama3.2:latest","size":5137025024,"size_vram":3000000000,"expires_at":"2026-11-30T14:38:31Z"},{"name":"qwen3:8b","size_vram":0}]}`,
			"llama3.2", 100,
			map[string]float64{`loaded llama3.2`: 1, `vram llama3.2`: 3e9, `loaded qwen3:8b`: 1, `vram qwen3:8b`: 0},
		},
		"with its tag, too":                          {`{"models":[{"name":"qwen3:8b"}]}`, "qwen3:8b", 100, map[string]float64{`loaded qwen3:8b`: 1}},
		"if it is not in memory, that is said":       {`{"models":[]}`, "qwen3:8b", 100, map[string]float64{`loaded qwen3:8b`: 0}},
		"a name that stands there twice counts once": {`{"models":[{"name":"m"},{"name":"m:latest"}]}`, "m", 100, map[string]float64{`loaded m`: 1}},
		"a name without an end has one": {
			`{"models":[{"name":"` + strings.Repeat("x", 1000) + `"}]}`, "m", 100,
			map[string]float64{"loaded " + exposition.Clip(strings.Repeat("x", 1000)): 1, "loaded m": 0},
		},
		"a list without an end has one": {`{"models":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, "c", 4, map[string]float64{`loaded a`: 1, `loaded b`: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			models, err := parseModels([]byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			result := mapModels(models, &mapping.Options{Target: "t", Instance: "h:1", Model: tc.model, MaxSeries: tc.most})
			got := map[string]float64{}
			for _, f := range result.Normalised {
				short := map[string]string{seriesLoaded: "loaded", seriesVRAM: "vram"}[f.GetName()]
				for _, m := range f.Metric {
					got[short+" "+labelOf(m, "model")] = m.Gauge.GetValue()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
	for _, body := range []string{`{"error":"not found"}`, `{"models":null}`, `<html>`, ``, `[]`, `{"models":[1]}`} {
		if _, err := parseModels([]byte(body)); !errors.Is(err, exposition.ErrIncompatible) {
			t.Errorf("%s: %v, want %v", body, err, exposition.ErrIncompatible)
		}
	}
}
