package config

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/otlp"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
	"github.com/aiperf-exporter/aiperf-exporter/selftest"
)

// delimiter would separate the levels of flat keys. Ours are nested maps, because names have dots (gpt-4.1); a control character cannot
// be part of a key.
const delimiter = "\x1f"

// overlay joins nested maps, later ones over earlier ones: maps deep, everything else whole.
func overlay(layers ...map[string]any) (map[string]any, error) {
	k := koanf.New(delimiter)
	for _, layer := range layers {
		if err := k.Load(confmap.Provider(layer, ""), nil); err != nil {
			return nil, err
		}
	}
	return k.Raw(), nil
}

// defaultsOf gives a struct as a nested map, without what is empty.
func defaultsOf(config any) (map[string]any, error) {
	out, err := structs.Provider(config, "koanf").Read()
	if err != nil {
		return nil, err
	}
	dropEmpty(out)
	return out, nil
}

// dropEmpty leaves out maps and lists without entries: those that are nil in the struct would come back as empty ones.
func dropEmpty(m map[string]any) {
	maps.DeleteFunc(m, func(_ string, v any) bool {
		if inner, ok := v.(map[string]any); ok {
			dropEmpty(inner)
		}
		value := reflect.ValueOf(v)
		return (value.Kind() == reflect.Map || value.Kind() == reflect.Slice) && value.Len() == 0
	})
}

// decode joins the layers, fills in all defaults and gives the configuration. sending is what the environment has for OTLP, under the file;
// seeds that are not written come from seedBase.
func decode(layers []map[string]any, sending *otlp.Config, seedBase uint64) (*Config, error) {
	written, err := overlay(layers...)
	if err != nil {
		return nil, err
	}
	defaults, err := defaultLayer(written, sending)
	if err != nil {
		return nil, err
	}
	all, err := overlay(defaults, written)
	if err != nil {
		return nil, err
	}
	excess := cutTargets(all)
	random, err := fillTargets(all, seedBase)
	if err != nil {
		return nil, err
	}
	randomTemplates, err := fillSets(all)
	if err != nil {
		return nil, err
	}
	if err = fillModules(all); err != nil {
		return nil, err
	}
	delete(all, "defaults")
	config := &Config{seedBase: seedBase}
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:      config,
		TagName:     "koanf",
		ErrorUnused: true,
		MatchName:   func(key, field string) bool { return key == field },
	})
	if err != nil {
		return nil, err
	}
	if err := decoder.Decode(all); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	config.excessTargets = excess
	for i := range config.Targets {
		config.Targets[i].randomSeed = random[i]
	}
	for i := range config.TargetDiscovery {
		config.TargetDiscovery[i].Template.randomSeed = randomTemplates[i]
	}
	return config, nil
}

// defaultLayer is what the file would say if all defaults were written out, for the entries that it has.
func defaultLayer(written map[string]any, sending *otlp.Config) (map[string]any, error) {
	out := map[string]any{}
	for block, config := range map[string]any{
		"global": DefaultGlobal(), "collectors": DefaultCollectors(), "otlp": *sending, "metrics": metrics.DefaultConfig(),
		"selftest": selftest.DefaultConfig(), "probe": probe.DefaultConfig(), "debug": DefaultDebug(),
	} {
		m, err := defaultsOf(config)
		if err != nil {
			return nil, err
		}
		out[block] = m
	}
	for block, config := range map[string]any{
		"http_clients": DefaultHTTPClient(),
		"workloads":    workload.DefaultConfig(),
		"loads":        load.DefaultConfig(),
		"slos":         metrics.DefaultSLOConfig(),
	} {
		entries, _ := written[block].(map[string]any) // nil: none are written
		m := make(map[string]any, len(entries))
		for name := range entries {
			entry, err := defaultsOf(config)
			if err != nil {
				return nil, err
			}
			m[name] = entry
		}
		out[block] = m
	}
	return out, nil
}

// cutTargets leaves no more targets than are allowed, and tells how many there were too many: a file with a million of them should be
// refused quickly.
func cutTargets(all map[string]any) (excess int) {
	global, _ := all["global"].(map[string]any)
	limit, _ := global["max_targets"].(int)
	targets, _ := all["targets"].([]any)
	if limit < 1 || len(targets) <= limit {
		return 0
	}
	all["targets"] = targets[:limit]
	return len(targets) - limit
}

// builtInTarget is what a target is where nothing is written.
func builtInTarget() (map[string]any, error) {
	out := map[string]any{"accounting": string(metrics.Estimated), "enabled": true}
	for key, config := range map[string]any{
		"endpoint": endpoint.DefaultConfig(), "timeouts": transport.DefaultTimeouts(), "budget": budget.DefaultConfig(),
		"fingerprint": answer.DefaultFingerprintConfig(), "server": server.DefaultTargetConfig(), "cost": metrics.DefaultCostConfig(),
	} {
		defaults, err := defaultsOf(config)
		if err != nil {
			return nil, err
		}
		out[key] = defaults
	}
	return out, nil
}

// fillTargets puts `defaults:` and the built-in defaults under every target, and a seed where there is none: random tells by index
// where it did.
func fillTargets(all map[string]any, seedBase uint64) (random []bool, err error) {
	builtIn, err := builtInTarget()
	if err != nil {
		return nil, err
	}
	written, _ := all["defaults"].(map[string]any) // nil: the block is not written
	targets, _ := all["targets"].([]any)
	random = make([]bool, len(targets))
	for i, target := range targets {
		own, _ := target.(map[string]any) // the checker lets nothing else pass
		filled, err := overlay(builtIn, written, own)
		if err != nil {
			return nil, err
		}
		if _, ok := filled["seed"]; !ok {
			name, _ := filled["name"].(string)
			filled["seed"], random[i] = seedOf(seedBase, name), true
		}
		targets[i] = filled
	}
	return random, nil
}

// fillSets puts the defaults under every discovery set and its template; random tells by index which templates have no seed.
func fillSets(all map[string]any) (random []bool, err error) {
	sets, _ := all["target_discovery"].([]any) // nil: none are written
	random = make([]bool, len(sets))
	builtIn, err := builtInTarget()
	if err != nil {
		return nil, err
	}
	written, _ := all["defaults"].(map[string]any) // nil: the block is not written
	inherited := forTemplates(written)
	bare := DefaultDiscoverySet()
	for i, set := range sets {
		own, _ := set.(map[string]any) // the checker lets nothing else pass
		template, _ := own["template"].(map[string]any)
		filled, err := overlay(map[string]any{"max_targets": bare.MaxTargets, "grace": bare.Grace}, own)
		if err != nil {
			return nil, err
		}
		full, err := overlay(builtIn, inherited, template)
		if err != nil {
			return nil, err
		}
		_, seeded := full["seed"]
		random[i] = !seeded
		filled["template"] = full
		sets[i] = filled
	}
	return random, nil
}

// notInherited are the keys of `defaults:` that templates do not get.
var notInherited = []string{"url", "load", "gpus"}

// forTemplates gives `defaults:` without what must not come to discovered targets unseen, or cannot be that of many.
func forTemplates(defaults map[string]any) map[string]any {
	out := maps.Clone(defaults)
	for _, key := range notInherited {
		delete(out, key)
	}
	if drift, ok := out["fingerprint"].(map[string]any); ok {
		drift = maps.Clone(drift)
		delete(drift, "baseline_file")
		out["fingerprint"] = drift
	}
	return out
}

// seedOf is the seed of a target that has none of its own: as random as seedBase, and the same whenever the process loads the target anew. It
// has 53 bits, so that it survives readers of YAML and JSON that only know floating point numbers.
func seedOf(seedBase uint64, target string) uint64 {
	b := seed.Derive(seedBase, "config.seed", target)
	return binary.LittleEndian.Uint64(b[:]) >> 11
}

// RandomSeed is one for Options.
func RandomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return binary.LittleEndian.Uint64(b[:])
}
