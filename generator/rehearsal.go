package generator

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/tokenizer"
)

// Rehearse makes the first request of each target, or two of a conversation, and sends them nowhere: it finds what only shows when workload
// and endpoint meet, such as a dataset that cannot be read, a ranking without passages, or a medium that the protocol cannot say. The error has
// a line for each target.
func (c *Config) Rehearse() error {
	var errs []error
	var tokenizers tokenizer.Shelf
	for i := range c.Targets {
		if err := c.Targets[i].rehearse(&tokenizers); err != nil {
			errs = append(errs, fmt.Errorf("target %q: %w", c.Targets[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// Rehearse is that of the configuration, for the targets that do not run already with the same of everything that is rehearsed: those have made requests
// since, and datasets are large.
func (g *Generator) Rehearse(c *Config) error {
	running := make(map[string]*TargetConfig, len(c.Targets))
	for _, t := range g.living() {
		running[t.name] = t.config.Load()
	}
	other := Config{Targets: slices.DeleteFunc(slices.Clone(c.Targets), func(t TargetConfig) bool {
		now := running[t.Name]
		return now != nil && t.rehearsedWith(now)
	})}
	return other.Rehearse()
}

// rehearsedWith tells whether the rehearsal of another target was that of this one.
func (c *TargetConfig) rehearsedWith(other *TargetConfig) bool {
	return c.sameQuestions(other) && c.Seed == other.Seed && c.replays() == other.replays()
}

func (c *TargetConfig) rehearse(tokenizers *tokenizer.Shelf) error {
	codec, err := endpoint.New(c.Endpoint)
	if err != nil {
		return err
	}
	w, err := workload.New(&c.Workload, tokenizers, c.Seed, c.Name)
	if err != nil {
		return fmt.Errorf("workload %q: %w", c.WorkloadName, err)
	}
	err = c.encodeTurns(codec, w)
	if err == nil && c.Load.Mode == load.Replay {
		if _, err = w.Recording().Next(); err != nil { // it needs times, which not every recording has
			err = fmt.Errorf("load %q cannot replay workload %q: %w", c.LoadName, c.WorkloadName, err)
		}
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// encodeTurns says the first turn of a conversation, and the second where there is one: not every protocol can repeat what was said.
func (c *TargetConfig) encodeTurns(codec endpoint.Codec, w *workload.Workload) error {
	const later = math.MaxInt64 / 2 // than any pause between them
	for _, now := range []int64{0, later} {
		turn, err := w.Next(workload.Pick{Now: now})
		if err != nil {
			return fmt.Errorf("workload %q: %w", c.WorkloadName, err)
		}
		err = c.encode(codec, turn)
		if err != nil || !turn.KeepAnswer {
			w.Done(turn, workload.End{Unsent: true})
			return err
		}
		w.Done(turn, workload.End{OK: true})
	}
	return nil
}

func (c *TargetConfig) encode(codec endpoint.Codec, turn *workload.Turn) error {
	wire := c.wire(turn)
	body, _, err := codec.Encode(nil, wire)
	if err == nil {
		err = sendable(body)
	}
	if err != nil {
		return fmt.Errorf("workload %q cannot be asked of endpoint type %s: %w", c.WorkloadName, c.Endpoint.Type, err)
	}
	if _, err := rowChecks(turn); err != nil {
		return fmt.Errorf("workload %q: %w", c.WorkloadName, err)
	}
	if asks := codec.Streams(wire); turn.Prompt.Payload != nil && asks != c.Workload.Stream {
		return fmt.Errorf("workload %q: stream is %t, but the recorded body says %t: set stream as the recording has it", c.WorkloadName, c.Workload.Stream, asks)
	}
	return nil
}

// wire is how a turn of the workload is to be said.
func (c *TargetConfig) wire(turn *workload.Turn) *endpoint.Turn {
	wire := &endpoint.Turn{
		Model:           c.Model,
		Prompt:          &turn.Prompt,
		MaxOutputTokens: turn.OutputTokens,
		Stream:          c.Workload.Stream,
		IncludeUsage:    true,
		PreviousID:      turn.PreviousID,
	}
	if turn.Model != "" {
		wire.Model = turn.Model
	}
	wire.Extra = merged(c.sampling(turn), c.Workload.Extra, turn.Extra)
	return wire
}

// sampling is how fixed questions are asked whose answers are compared, unless the user wants something else: so that the same server gives
// the same answer, and where the protocol can tell them with the probabilities of its tokens, which show what the text hides.
func (c *TargetConfig) sampling(turn *workload.Turn) map[string]any {
	if !c.Fingerprint.Enabled || turn.Fixed == 0 {
		return nil
	}
	switch c.Endpoint.Type {
	case endpoint.Chat:
		return map[string]any{"temperature": 0, "logprobs": true, "top_logprobs": 5}
	case endpoint.Completions:
		return map[string]any{"temperature": 0, "logprobs": 5}
	default:
		return map[string]any{"temperature": 0}
	}
}

// merged is all of the maps in one, later ones over earlier ones.
func merged(layers ...map[string]any) map[string]any {
	var out map[string]any
	shared := true // out is one of the layers, and must not be changed
	for _, layer := range layers {
		switch {
		case len(layer) == 0:
		case out == nil:
			out = layer
		default:
			if shared {
				out, shared = maps.Clone(out), false
			}
			maps.Copy(out, layer)
		}
	}
	return out
}
