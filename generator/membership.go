package generator

import (
	"fmt"
	"slices"
)

// claim finds the targets that a plan can build on, by name: those of the configuration, and those that have left it and are still there. They
// stay there until the plan has ended. It waits for a target that is being buried: what is made for the next one of its name must not go with it.
func (g *Generator) claim(wanted []TargetConfig) (map[string]*Target, error) {
	names := make(map[string]bool, len(wanted))
	for i := range wanted {
		if names[wanted[i].Name] {
			return nil, fmt.Errorf("target %q: there are two of that name", wanted[i].Name)
		}
		names[wanted[i].Name] = true
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	known := make(map[string]*Target, len(g.targets))
	for _, t := range slices.Concat(g.leaving, g.targets) { // the newest of a name last
		if names[t.name] && !t.superseded {
			known[t.name] = t
		}
	}
	g.claimed = nil
	for _, t := range known {
		g.claimed = append(g.claimed, t)
	}
	return known, nil
}

// unclaim ends a plan that is not committed.
func (g *Generator) unclaim() {
	g.changing.Lock()
	defer g.changing.Unlock()
	g.replace(g.living())
}

// replace makes the targets those of another configuration. Those that it does not have leave, those that it has again are called back, and
// new ones begin. It ends a plan.
func (g *Generator) replace(next []*Target) {
	stay := make(map[string]*Target, len(next))
	for _, t := range next {
		stay[t.name] = t
	}
	g.mu.Lock()
	for _, t := range g.targets {
		if successor := stay[t.name]; successor != t {
			t.superseded = successor != nil
			g.leaving = append(g.leaving, t)
			t.leaving.Store(true)
			t.nudge()
		}
	}
	g.leaving = slices.DeleteFunc(g.leaving, func(t *Target) bool { return stay[t.name] == t })
	g.targets, g.claimed = next, nil
	for _, t := range next {
		if t.leaving.Swap(false) {
			t.nudge()
		}
		g.enliven(t)
	}
	var gone []*Target
	for _, t := range g.leaving {
		t.superseded = t.superseded || stay[t.name] != nil
		if !t.alive {
			gone = append(gone, t)
		}
	}
	g.mu.Unlock()
	g.bury(gone)
}

// bury ends targets that have left and drained: all that there are at once, because somebody may have to look at all series before some of them go.
func (g *Generator) bury(gone []*Target) {
	if len(gone) == 0 {
		return
	}
	g.mu.Lock()
	g.leaving = slices.DeleteFunc(g.leaving, func(t *Target) bool { return slices.Contains(gone, t) })
	named := map[string]bool{}
	for _, t := range slices.Concat(g.targets, g.leaving) {
		named[t.name] = true
	}
	g.mu.Unlock()
	var names []string
	for _, t := range gone {
		if !named[t.name] {
			named[t.name] = true
			names = append(names, t.name)
		}
	}
	end := func() {
		for _, t := range gone {
			t.Close()
		}
	}
	if g.deps.Ledger != nil {
		for _, name := range names {
			g.deps.Ledger.Retire(name)
		}
	}
	if g.deps.Removed == nil || len(names) == 0 {
		end()
		return
	}
	g.deps.Removed(names, end)
}
