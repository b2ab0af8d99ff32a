package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// WithDiscovered gives the configuration with the targets that were discovered beside those of the file, and what of them is not used. It is
// the same for the same sets, shares everything else with c, and prints as c does.
func (c *Config) WithDiscovered(sets []discovery.Set) (*Config, []discovery.Dropped) {
	out := *c
	out.Targets = slices.DeleteFunc(slices.Clone(c.Targets), func(t Target) bool { return t.Source != "" })
	a := admission{config: &out, taken: map[string]string{}, slos: c.AllSLOs()}
	for i := range out.Targets {
		t := &out.Targets[i]
		a.taken[t.Name] = "targets"
		if t.Enabled {
			a.series += a.seriesOf(t)
		}
	}
	a.room = make([]int, len(c.TargetDiscovery))
	for i := range c.TargetDiscovery {
		a.room[i] = c.TargetDiscovery[i].MaxTargets
	}
	// Those that are in use go first, those of them that are missing and in their grace included: whoever is new takes the room that is left.
	for _, used := range []bool{true, false} {
		for i := range c.TargetDiscovery {
			config := &c.TargetDiscovery[i]
			if at := slices.IndexFunc(sets, func(s discovery.Set) bool { return s.Name == config.Name }); at >= 0 {
				a.set(i, sets[at].Targets, used)
			}
		}
	}
	out.redactor = c.ofFiles.With(out.discoveredSecrets()...)
	return &out, a.dropped
}

// discoveredSecrets are the parameters of URLs that are secrets by their names, and came with labels.
func (c *Config) discoveredSecrets() []*secret.Source {
	var out []*secret.Source
	for i := range c.Targets {
		t := &c.Targets[i]
		if t.Source == "" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.Endpoint.URLParams)) {
			if secret.SensitiveHeader(name) {
				out = append(out, secret.Literal("", secret.Secret(t.Endpoint.URLParams[name])))
			}
		}
	}
	return out
}

// admission decides which discovered targets are used.
type admission struct {
	config  *Config
	taken   map[string]string // by name: the set that has it, or "targets"
	slos    []metrics.SLO
	series  int   // of all targets so far
	room    []int // for how many targets each set has room
	dropped []discovery.Dropped
}

// set admits the targets of a set that are in use, or those that are not. Either are in the order in which they go first.
func (a *admission) set(number int, found []discovery.Target, used bool) {
	s := &a.config.TargetDiscovery[number]
	for i := range found {
		f := &found[i]
		if f.Used != used {
			continue
		}
		drop := func(reason discovery.Reason, format string, args ...any) {
			a.dropped = append(a.dropped, discovery.Dropped{
				Set: s.Name, Name: f.Name, Address: discovery.Shown(f.Labels)[discovery.AddressLabel], Labels: f.Discovered, Origin: f.Origin,
				Reason: reason, Detail: fmt.Sprintf(format, args...),
			})
		}
		owner, exists := a.taken[f.Name]
		switch {
		case exists:
			drop(discovery.Duplicate, "%q is already the name of a target of %s", f.Name, owner)
			continue
		case a.room[number] == 0:
			drop(discovery.MaxTargets, "the set has %d targets already", s.MaxTargets)
			continue
		case len(a.config.Targets) >= a.config.Global.MaxTargets:
			drop(discovery.GlobalMaxTargets, "there are %d targets already", a.config.Global.MaxTargets)
			continue
		}
		t, problem := a.make(s, f)
		if problem != "" {
			drop(discovery.Invalid, "%s", problem)
			continue
		}
		n := 0
		if t.Enabled {
			n = a.seriesOf(&t)
		}
		if limit := a.config.Metrics.MaxSeriesPerTarget; limit > 0 && n > limit {
			drop(discovery.MaxSeries, "it has an estimated %d series, metrics.max_series_per_target allows %d", n, limit)
			continue
		}
		if a.series+n > maxSeries {
			drop(discovery.MaxSeries, "all targets have an estimated %d series with it, %d are allowed", a.series+n, maxSeries)
			continue
		}
		a.series += n
		a.taken[f.Name] = "target_discovery " + s.Name
		a.config.Targets = append(a.config.Targets, t)
		a.room[number]--
	}
}

func (a *admission) seriesOf(t *Target) int {
	features, _ := a.config.features(t)
	return a.config.Metrics.SeriesOf(&features, a.slos)
}

// make gives the target of a template and labels, or says why there is none.
func (a *admission) make(s *DiscoverySet, f *discovery.Target) (t Target, problem string) {
	t = s.Template
	t.Name, t.Source = f.Name, s.Name
	base, err := addressOf(f.Labels)
	if err != nil {
		return t, fmt.Sprintf("%s %v", discovery.AddressLabel, err)
	}
	t.URL = secret.URL(base)
	if path := f.Labels[discovery.MetricsPathLabel]; path != "" {
		page, err := metricsPage(base, path)
		if err != nil {
			return t, fmt.Sprintf("%s %v", discovery.MetricsPathLabel, err)
		}
		t.Server.MetricsURL, t.Server.MetricsURLs = secret.URL(page), nil
	}
	t.fill(f.Labels)
	from := s.Template.Seed
	if s.Template.randomSeed {
		from = a.config.seedBase
	}
	t.Seed = seedOf(from, t.Name)
	var problems []string
	for _, err := range a.config.validateTarget(&t, "target") {
		problems = append(problems, strings.TrimPrefix(err.Error(), "target."))
	}
	return t, strings.Join(problems, "; ")
}

// fill puts what labels say over a template.
func (t *Target) fill(from map[string]string) {
	for name, key := range map[string]*string{
		discovery.ModelLabel: &t.Model, discovery.WorkloadLabel: &t.Workload, discovery.LoadLabel: &t.Load,
		discovery.EndpointTypeLabel: (*string)(&t.Endpoint.Type),
	} {
		if value := from[name]; value != "" {
			*key = value
		}
	}
	params, own := maps.Clone(t.Endpoint.URLParams), maps.Clone(t.Labels)
	for name, value := range from {
		if param, ok := strings.CutPrefix(name, discovery.ParamPrefix); ok && param != "" {
			params = with(params, param, value)
		} else if !strings.HasPrefix(name, "__") {
			own = with(own, name, value)
		}
	}
	t.Endpoint.URLParams, t.Labels = params, own
}

// with sets a key of a map that may be nil.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// addressOf gives the URL for __address__ and __scheme__. The address may be a whole URL or have a path. A credential in it is refused: it
// would stand in labels, which everybody sees.
func addressOf(labels map[string]string) (string, error) {
	address := labels[discovery.AddressLabel]
	if address == "" {
		return "", errors.New("is missing")
	}
	if !strings.Contains(address, "://") {
		scheme := labels[discovery.SchemeLabel]
		if scheme == "" {
			scheme = "http"
		}
		address = scheme + "://" + address
	}
	if errs := endpoint.ValidateURL("", address); len(errs) > 0 {
		return "", errors.New(strings.TrimPrefix(errs[0].Error(), ": "))
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("is not a URL")
	case u.User != nil:
		return "", errors.New("must not have a user or password: credentials belong into the template")
	case u.RawQuery != "" || u.ForceQuery:
		return "", fmt.Errorf("must not have a query: parameters are labels, %s<name>", discovery.ParamPrefix)
	}
	return address, nil
}

// metricsPage gives the page of metrics at a path of the host of base.
func metricsPage(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	page, err := url.Parse("/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		return "", errors.New("is not a path")
	}
	u.Path, u.RawPath, u.RawQuery = page.Path, page.RawPath, page.RawQuery
	return u.String(), nil
}
