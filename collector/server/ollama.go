package server

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// loadedModel is one that Ollama has in memory.
type loadedModel struct {
	Name string   `json:"name"`
	VRAM *float64 `json:"size_vram"` // bytes
}

// parseModels reads what Ollama answers at GET /api/ps: no model is an empty list, and nobody else answers with one.
func parseModels(body []byte) ([]loadedModel, error) {
	var answer struct {
		Models []loadedModel `json:"models"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%w: %w", exposition.ErrIncompatible, err)
	}
	if answer.Models == nil {
		return nil, fmt.Errorf("%w: %w", exposition.ErrIncompatible, errNotOllama)
	}
	return answer.Models, nil
}

var errNotOllama = errors.New("no list of models")

// latest is the tag that Ollama gives a name without one.
const latest = ":latest"

// mapModels gives the series of the loaded models. The target's own has the name that the target has for it, and is there with zero if it is not
// loaded. maxSeries bounds the list.
func mapModels(models []loadedModel, o *mapping.Options) *mapping.Result {
	out := &mapping.Result{Kinds: []mapping.Kind{mapping.Ollama}, Unmapped: map[string]int{}}
	b, seen := collector.NewBuilder(ollamaTable()), map[string]bool{}
	for i, m := range models {
		if 2*i+2 > o.MaxSeries {
			out.Dropped = 2 * (len(models) - i)
			break
		}
		name := exposition.Clip(m.Name)
		if m.Name == o.Model+latest {
			name = o.Model
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		b.Add(seriesLoaded, 1, o.Target, o.Instance, string(mapping.Ollama), name, "")
		if m.VRAM != nil {
			b.Add(seriesVRAM, *m.VRAM, o.Target, o.Instance, string(mapping.Ollama), name, "")
		}
	}
	if !seen[o.Model] && out.Dropped == 0 {
		b.Add(seriesLoaded, 0, o.Target, o.Instance, string(mapping.Ollama), o.Model, "")
	}
	out.Normalised = b.Families()
	return out
}
