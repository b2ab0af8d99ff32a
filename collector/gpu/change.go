package gpu

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Change is another configuration, made ready beside the one that holds. It ends with Commit or Discard; changes are made one after the other.
type Change struct {
	collector *Collector
	podLabels bool
	owners    owners
	told      map[string]bool
	feeds     []*feed // those that do not change among them
}

// Plan makes a change ready; nothing that runs is touched. A source of which nothing has changed goes on as if nothing had happened. Errors are those
// of files and certificates that cannot be read.
func (c *Collector) Plan(config Config, http promconfig.HTTPClientConfig, targets map[string]Selector) (*Change, error) {
	change := &Change{collector: c, podLabels: config.PodLabels, told: map[string]bool{}}
	var err error
	if change.owners, err = newOwners(targets); err != nil {
		return nil, err
	}
	for name := range targets {
		change.told[name] = true
	}
	c.mu.RLock()
	before := c.feeds // which is replaced, never changed
	c.mu.RUnlock()
	for _, wanted := range config.recipes(scrape.Detached(http)) {
		f, err := c.feed(wanted, before)
		if err != nil {
			change.Discard()
			return nil, fmt.Errorf("%s: %w", wanted.name, err)
		}
		change.feeds = append(change.feeds, f)
	}
	return change, nil
}

// recipe is everything that a feed is made of.
type recipe struct {
	name   SourceName
	asked  string         // the page of an exporter without credentials, "" = the driver
	nvml   NVMLConfig     // of the driver
	block  ExporterConfig // of an exporter, with the one page that is asked
	http   promconfig.HTTPClientConfig
	named  bool // the configuration asks for it; else it was only tried
	opened any  // what of it the source is made of; a source serves as long as that is the same
}

// recipes are those of a configuration, in the order of SourceNames.
func (c *Config) recipes(http promconfig.HTTPClientConfig) []recipe {
	var out []recipe
	names, named := c.sources()
	for _, name := range SourceNames {
		if !slices.Contains(names, name) {
			continue
		}
		block := c.Exporter(name)
		if block == nil {
			driver := c.NVML
			driver.Interval = 0 // that of the looks, which the driver does not know
			out = append(out, recipe{name: name, nvml: c.NVML, named: named, opened: driver})
			continue
		}
		for _, u := range block.URLs {
			one := *block
			one.URLs = []secret.URL{u}
			out = append(out, recipe{name: name, asked: u.Public(), block: one, http: http, named: named, opened: [2]any{one, http}})
		}
	}
	return out
}

// feed is the one of the recipe that there is, or one that takes its place.
func (c *Collector) feed(r recipe, before []*feed) (*feed, error) {
	out := &feed{
		recipe: r, interval: r.nvml.Interval, certain: r.name == NVML, logger: c.deps.Logger, observe: c.deps.Observe, bell: c.deps.Bell,
		panicked: c.deps.Panicked, gone: map[Identity]loss{}, ended: make(chan struct{}),
	}
	if r.name != NVML {
		out.interval = r.block.Interval
	}
	if at := slices.IndexFunc(before, func(f *feed) bool { return f.name == r.name && f.asked == r.asked }); at >= 0 {
		if reflect.DeepEqual(before[at].recipe, r) {
			return before[at], nil
		}
		out.before, out.log = before[at], before[at].log
		if reflect.DeepEqual(before[at].opened, r.opened) {
			out.source = before[at].source
			return out, nil
		}
	} else {
		out.log = c.logs[r.name].Target(r.asked)
	}
	var err error
	out.source, err = c.open(out)
	return out, err
}

// open makes the source of a feed.
func (c *Collector) open(f *feed) (Source, error) {
	if f.name == NVML {
		return &driver{Source: c.deps.NVML(f.nvml), log: f.log, clock: c.deps.Clock}, nil
	}
	url, err := address(f.block.URLs[0])
	if err != nil {
		return nil, err
	}
	client, err := scrape.NewClient(scrape.Options{HTTP: f.http, UserAgent: c.deps.UserAgent, Redactor: c.deps.Redactor})
	if err != nil {
		return nil, err
	}
	out := &exporter{
		dialect: dialects[f.name], client: client, url: url, prefix: f.block.Prefix, wait: min(f.interval, maxWait),
		log: f.log, clock: c.deps.Clock, parser: exposition.NewParser(maxSamples), xids: &xidHistory{},
	}
	if f.before != nil {
		if old, ok := f.before.source.(*exporter); ok {
			out.xids = old.xids
		}
	}
	return out, nil
}

// Commit puts the change into effect. GPUs of targets that it was not told of stay with them until they are removed, unless they now belong to
// another one. What was counted of the looks at a source that is still asked goes on.
func (ch *Change) Commit() {
	c := ch.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.owners.targets {
		if !ch.told[o.target] && !c.leaving[o.target] {
			ch.owners.targets = append(ch.owners.targets, o)
		}
	}
	before := c.feeds
	c.podLabels, c.owners, c.told, c.leaving, c.feeds = ch.podLabels, ch.owners, ch.told, map[string]bool{}, ch.feeds
	for _, f := range ch.feeds {
		if !slices.Contains(before, f) && f.before != nil {
			f.inherit()
		}
	}
	for _, f := range before {
		if !slices.Contains(ch.feeds, f) {
			f.leave()
		}
	}
	for _, f := range ch.feeds {
		if c.start != nil && f.stop == nil {
			c.start(f)
		}
	}
}

// Discard gives the change up.
func (ch *Change) Discard() {
	ch.collector.mu.RLock()
	defer ch.collector.mu.RUnlock()
	for _, f := range ch.feeds {
		if !slices.Contains(ch.collector.feeds, f) && (f.before == nil || f.before.source != f.source) {
			f.source.Close()
		}
	}
}

// Remove takes the GPUs away from the target. One that the configuration has keeps them until that changes: its name has been given again, or the
// change that leaves it out is still to come.
func (c *Collector) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[name] {
		c.leaving[name] = true
		return
	}
	c.owners.targets = slices.DeleteFunc(slices.Clone(c.owners.targets), func(o owner) bool { return o.target == name })
}

// inherit takes over what the feed before it has seen, and its source if it is the same.
func (f *feed) inherit() {
	b := f.before
	b.mu.Lock()
	defer b.mu.Unlock()
	f.state, f.message, f.at, f.devices, f.gone, f.skips = b.state, b.message, b.at, b.devices, maps.Clone(b.gone), b.skips
	if f.source == b.source {
		b.passedOn.Store(true)
	}
}

// leave makes the feed end.
func (f *feed) leave() {
	if f.stop != nil {
		f.stop()
		return
	}
	f.end()
}
