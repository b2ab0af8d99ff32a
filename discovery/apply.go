package discovery

import (
	"fmt"

	sd "github.com/prometheus/prometheus/discovery"
)

// Apply takes the sets of a configuration: Plan, and if nothing is wrong its Commit.
func (d *Discovery) Apply(configs []SetConfig) error {
	change, err := d.Plan(configs)
	if err != nil {
		return err
	}
	change.Commit()
	return nil
}

// Change is what Plan prepared. It holds the room for itself until Commit or Discard, one of which must follow.
type Change struct {
	d    *Discovery
	sets map[string]*plan
	list []string
}

// plan is a set as it will be.
type plan struct {
	config    SetConfig
	providers []*provider
}

// Plan makes what new sets need beside what runs. What both name stays as it is.
func (d *Discovery) Plan(configs []SetConfig) (*Change, error) {
	d.applying.Lock()
	ready := false // for whoever ends the change; else, also after a panic of a mechanism, there is none
	defer func() {
		if !ready {
			d.applying.Unlock()
		}
	}()
	c := &Change{d: d, sets: make(map[string]*plan, len(configs))}
	for _, config := range configs {
		p := &plan{config: config}
		for _, mechanism := range config.Configs {
			one, err := d.provider(config.Name, mechanism)
			if err != nil {
				return nil, fmt.Errorf("target_discovery %q: %s_sd_configs: %w", config.Name, mechanism.Name(), err)
			}
			p.providers = append(p.providers, one)
		}
		c.sets[config.Name] = p
		c.list = append(c.list, config.Name)
	}
	ready = true
	return c, nil
}

// Discard leaves everything as it was.
func (c *Change) Discard() { c.d.applying.Unlock() }

// Commit puts the sets into effect. Targets of a set whose mechanisms are other ones now stay for its grace.
func (c *Change) Commit() {
	d := c.d
	defer d.applying.Unlock()
	d.mu.Lock()
	now, changed, old := d.deps.Now(), len(c.list) != len(d.order), d.sets
	d.sets = make(map[string]*set, len(c.list))
	d.order = c.list
	for name, p := range c.sets {
		s, known := old[name]
		if !known {
			s, changed = newSet(p.config, now), true
		}
		s.replace(p.providers)
		changed = s.configure(p.config, now) || changed
		d.sets[name] = s
	}
	d.signal(changed)
	d.mu.Unlock()
	poke(d.wake)
	if len(c.list) > 0 && !d.isBegun() {
		close(d.begun)
	}
	if d.started {
		d.handOver()
	}
}

func (d *Discovery) isBegun() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

// handOver tells the manager which mechanisms there are. Those that it has go on.
func (d *Discovery) handOver() {
	d.mu.Lock()
	configs := make(map[string]sd.Configs, len(d.sets))
	for name, s := range d.sets {
		for _, p := range s.providers {
			configs[name] = append(configs[name], p)
		}
	}
	d.mu.Unlock()
	_ = d.manager.ApplyConfig(configs) // what could fail was made before; it never gives an error
}
