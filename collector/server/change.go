package server

import (
	"fmt"
	"reflect"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
)

// Change is another configuration, made ready beside the one that holds. It ends with Commit or Discard; changes are made one after the other.
type Change struct {
	collector *Collector
	settings  *settings
	told      map[string]bool
	targets   []*target // that are read with it, those that do not change among them
	sources   []*source // that may be used by them, each of which counts it
	ended     bool
}

// Plan makes a change ready; nothing that runs is touched. Targets that have not changed keep everything if the configuration of the collector has
// not changed either; others are read anew. Errors are those of files and certificates that cannot be read.
func (c *Collector) Plan(config Config, targets []Target) (*Change, error) {
	change, before := c.begin(config)
	for i := range targets {
		given := targets[i]
		given.HTTP, given.Credential = scrape.Detached(given.HTTP), nil
		change.told[given.Name] = true
		if !config.Enabled || !given.Config.Asks() {
			continue
		}
		if old := before[given.Name]; old != nil && old.settings == change.settings && reflect.DeepEqual(old.given, given) {
			change.targets = append(change.targets, old)
			continue
		}
		made, err := change.target(given, targets[i].Credential)
		if err != nil {
			change.Discard()
			return nil, fmt.Errorf("target %q: %w", given.Name, err)
		}
		change.targets = append(change.targets, made)
	}
	return change, nil
}

// begin holds on to the sources that there are, which must not end before it is known whether they are used. before are the targets that are read.
func (c *Collector) begin(config Config) (change *Change, before map[string]*target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change = &Change{collector: c, settings: c.settings, told: map[string]bool{}, sources: append([]*source(nil), c.sources...)}
	if change.settings == nil || !reflect.DeepEqual(change.settings.Config, config) {
		change.settings = newSettings(config)
	}
	for _, s := range change.sources {
		s.plans++
	}
	return change, c.targets // which is replaced, never changed
}

// Commit puts the change into effect. Targets that it was not told of are still read, until they are removed: their last requests are not over. What
// was counted of the looks at a target goes on.
func (ch *Change) Commit() {
	c := ch.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	targets := map[string]*target{}
	for name, t := range c.targets {
		if ch.settings.Enabled && !ch.told[name] && !t.leaving {
			targets[name] = t
		}
	}
	for _, t := range ch.targets {
		name := t.given.Name
		switch old := c.targets[name]; {
		case t.log != nil: // it is read already
		case old != nil:
			t.log = old.log
		default:
			t.log = c.log.Target(name)
		}
		t.leaving = false
		targets[name] = t
	}
	c.settings, c.targets, c.told = ch.settings, targets, ch.told
	ch.end()
}

// Discard gives the change up.
func (ch *Change) Discard() {
	ch.collector.mu.Lock()
	defer ch.collector.mu.Unlock()
	ch.end()
}

// end lets go of the sources. The caller holds the mutex of the collector.
func (ch *Change) end() {
	if ch.ended {
		return
	}
	ch.ended = true
	known := make(map[*source]bool, len(ch.collector.sources))
	for _, s := range ch.collector.sources {
		known[s] = true
	}
	for _, s := range ch.sources {
		s.plans--
		if !known[s] {
			ch.collector.sources = append(ch.collector.sources, s)
		}
	}
	ch.collector.settle()
}

// Remove ends the target: its series are gone with the next look at them. One that the configuration has stays until that changes: its name has
// been given again, or the change that leaves it out is still to come.
func (c *Collector) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.targets[name]
	switch {
	case t == nil:
		return
	case c.told[name]:
		t.leaving = true
		return
	}
	targets := make(map[string]*target, len(c.targets))
	for other, t := range c.targets {
		if other != name {
			targets[other] = t
		}
	}
	c.targets = targets
	c.settle()
}
