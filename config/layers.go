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
	return config, nil
}

// defaultLayer is what the file would say if all defaults were written out, for the entries that it has.
func defaultLayer(written map[string]any, sending *otlp.Config) (map[string]any, error) {
	out := map[string]any{}
	for block, config := range map[string]any{
		"global": DefaultGlobal(), "collectors": DefaultCollectors(), "otlp": *sending, "metrics": metrics.DefaultConfig(),
		"selftest": selftest.DefaultConfig(),
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

// fillTargets puts `defaults:` and the built-in defaults under every target, and a seed where there is none: random tells by index
// where it did.
func fillTargets(all map[string]any, seedBase uint64) (random []bool, err error) {
	protocol, err := defaultsOf(endpoint.DefaultConfig())
	if err != nil {
		return nil, err
	}
	timeouts, err := defaultsOf(transport.DefaultTimeouts())
	if err != nil {
		return nil, err
	}
	spending, err := defaultsOf(budget.DefaultConfig())
	if err != nil {
		return nil, err
	}
	costs, err := defaultsOf(metrics.DefaultCostConfig())
	if err != nil {
		return nil, err
	}
	scraping, err := defaultsOf(server.DefaultTargetConfig())
	if err != nil {
		return nil, err
	}
	drift, err := defaultsOf(answer.DefaultFingerprintConfig())
	if err != nil {
		return nil, err
	}
	builtIn := map[string]any{"endpoint": protocol, "timeouts": timeouts, "budget": spending, "fingerprint": drift, "server": scraping, "cost": costs, "accounting": string(metrics.Estimated), "enabled": true}
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
