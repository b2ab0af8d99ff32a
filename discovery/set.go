package discovery

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
)

// maxDropped bounds the targets that are kept only to show that relabelling dropped them: a cluster has thousands of pods that nobody means.
const maxDropped = 100

// set is what is known of the targets of one set. Instants are handed in.
type set struct {
	config    SetConfig
	since     time.Time
	providers []*provider

	groups     []*targetgroup.Group // as last told
	targets    []Target             // sorted, none twice
	dropped    []Dropped
	relabelled int
	failed     int64           // failures of mechanisms that others have taken the place of
	used       map[string]bool // names of the targets that are in use
}

func newSet(config SetConfig, now time.Time) *set { return &set{config: config, since: now} }

// sync takes the groups that there are now and tells whether the targets changed.
func (s *set) sync(groups []*targetgroup.Group, now time.Time) (changed bool) {
	s.groups = slices.Clone(groups)
	slices.SortFunc(s.groups, func(a, b *targetgroup.Group) int { return cmp.Compare(a.Source, b.Source) })
	present := s.relabel()
	return s.take(append(present, s.missing(present, s.targets, now)...), now)
}

// configure takes another configuration. Relabelling that drops a target now is meant: it gets no grace.
func (s *set) configure(config SetConfig, now time.Time) (changed bool) {
	s.config = config
	before := slices.DeleteFunc(slices.Clone(s.targets), func(t Target) bool { return t.Missing.IsZero() })
	present := s.relabel()
	return s.take(append(present, s.missing(present, before, now)...), now)
}

// replace takes the mechanisms of another configuration.
func (s *set) replace(providers []*provider) {
	for _, p := range s.providers {
		if !slices.Contains(providers, p) {
			s.failed += p.status().failures
		}
	}
	s.providers = providers
}

// failures counts those of all mechanisms that the set ever had.
func (s *set) failures() int64 {
	n := s.failed
	for _, p := range s.providers {
		n += p.status().failures
	}
	return n
}

// expire lets go what is missing for longer than the grace.
func (s *set) expire(now time.Time) (changed bool) { return s.take(slices.Clone(s.targets), now) }

// take puts targets in order, without those whose grace is over.
func (s *set) take(targets []Target, now time.Time) (changed bool) {
	targets = slices.DeleteFunc(targets, func(t Target) bool { return !t.Missing.IsZero() && !now.Before(t.Missing.Add(s.config.Grace)) })
	slices.SortFunc(targets, compareTargets)
	targets = slices.CompactFunc(targets, func(a, b Target) bool { return compareTargets(a, b) == 0 })
	changed = !sameTargets(targets, s.targets)
	s.targets = targets
	return changed
}

// missing gives those of before whose names are not among the present: a target that has moved is not missing.
func (s *set) missing(present, before []Target, now time.Time) []Target {
	found := make(map[string]bool, len(present))
	for i := range present {
		found[present[i].Name] = true
	}
	var out []Target
	for _, t := range before {
		if found[t.Name] {
			continue
		}
		if t.Missing.IsZero() {
			t.Missing = now
		}
		out = append(out, t)
	}
	return out
}

// nextExpiry is when the grace of a target is over next.
func (s *set) nextExpiry() (at time.Time, ok bool) {
	for i := range s.targets {
		t := &s.targets[i]
		if end := t.Missing.Add(s.config.Grace); !t.Missing.IsZero() && (!ok || end.Before(at)) {
			at, ok = end, true
		}
	}
	return at, ok
}

// relabel makes targets of the groups.
func (s *set) relabel() []Target {
	var out []Target
	s.dropped, s.relabelled = nil, 0
	builder := labels.NewBuilder(labels.EmptyLabels())
	for _, group := range s.groups {
		for _, own := range group.Targets {
			builder.Reset(labels.EmptyLabels())
			discovered := merge(builder, group.Labels, own)
			if !relabel.ProcessBuilder(builder, s.config.Relabel...) {
				s.drop(group.Source, discovered)
				continue
			}
			after := withoutMeta(builder.Labels())
			out = append(out, Target{Name: nameOf(s.config.Name, after), Labels: after, Discovered: Shown(discovered), Origin: group.Source})
		}
	}
	return out
}

// merge puts the labels of a group and of a target of it, which win, into the builder.
func merge(builder *labels.Builder, layers ...model.LabelSet) map[string]string {
	all := map[string]string{}
	for _, layer := range layers {
		for name, value := range layer {
			all[string(name)] = string(value)
		}
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	for name, value := range all {
		builder.Set(name, value)
	}
	return all
}

func (s *set) drop(origin string, discovered map[string]string) {
	s.relabelled++
	if len(s.dropped) < maxDropped {
		seen := Shown(discovered)
		s.dropped = append(s.dropped, Dropped{Set: s.config.Name, Address: seen[AddressLabel], Labels: seen, Origin: origin, Reason: Relabelled})
	}
}

// show gives the set as others see it.
func (s *set) show() Set {
	out := Set{
		Name: s.config.Name, Targets: slices.Clone(s.targets), Dropped: slices.Clone(s.dropped), Relabelled: s.relabelled, Groups: len(s.groups),
		Complete: true,
	}
	for i := range out.Targets {
		out.Targets[i].Used = s.used[out.Targets[i].Name]
	}
	for _, p := range s.providers {
		status := p.status()
		out.Complete = out.Complete && status.answered
		if at := status.at; out.LastRefresh.IsZero() || at.Before(out.LastRefresh) {
			out.LastRefresh = at
		}
		out.LastError = cmp.Or(out.LastError, status.problem)
	}
	if out.LastRefresh.IsZero() {
		out.LastRefresh = s.since
	}
	return out
}
