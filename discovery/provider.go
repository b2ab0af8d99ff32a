package discovery

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	sd "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// panicPause is how long a mechanism that panicked rests.
const panicPause = 10 * time.Second

// urlLabel is where HTTP discovery writes the address that it asks, query and all.
const urlLabel = "__meta_url"

// provider is one mechanism of one set. For the manager it is both the configuration and what discovers by it: made before the manager
// hears of it, so that a configuration that cannot work is refused whole, and watched, so that a page can tell how it does.
type provider struct {
	id     uint64 // first: the manager compares providers field by field, and must not look into one that runs
	room   *Discovery
	set    string
	config sd.Config
	inner  sd.Discoverer
	logger *slog.Logger

	mu       sync.Mutex
	at       time.Time // of the last answer
	answered bool
	problems map[string]string // what is wrong, by what is asked; "" if nobody says
	erred    bool              // since the last answer
	failures int64
	heard    chan<- complaint // takes errors while it runs
	deaf     <-chan struct{}  // closed while it does not
}

// complaint is an error that a mechanism logged.
type complaint struct{ asked, problem string }

// provider gives the one that runs for a mechanism of a set, or makes one.
func (d *Discovery) provider(name string, config sd.Config) (*provider, error) {
	d.mu.Lock()
	if s := d.sets[name]; s != nil {
		for _, p := range s.providers {
			if reflect.DeepEqual(p.config, config) {
				d.mu.Unlock()
				return p, nil
			}
		}
	}
	d.mu.Unlock()
	deaf := make(chan struct{})
	close(deaf)
	p := &provider{id: d.lastID.Add(1), room: d, set: name, config: config, at: d.deps.Now(), problems: map[string]string{}, deaf: deaf}
	p.logger = slog.New(&listener{
		Handler: d.deps.Logger.With(slog.String("set", name), slog.String("mechanism", config.Name())).Handler(), provider: p,
	})
	return p, p.make()
}

func (p *provider) make() error {
	inner, err := p.config.NewDiscoverer(sd.DiscovererOptions{Logger: p.logger, Metrics: p.room.metrics.MechanismMetrics[p.config.Name()], SetName: p.set})
	if err != nil {
		return errors.New(p.shown(err.Error()))
	}
	p.inner = inner
	return nil
}

// shown is a text that somebody else wrote without secrets: what is known to be one, and what stands in URLs. Where a server has redirected to is in no
// configuration.
func (p *provider) shown(text string) string { return secret.RedactURLs(p.room.deps.Redact(text)) }

// Name implements sd.Config.
func (p *provider) Name() string { return p.config.Name() }

// NewDiscoverer implements sd.Config. The manager runs what it gets exactly once.
func (p *provider) NewDiscoverer(sd.DiscovererOptions) (sd.Discoverer, error) {
	p.room.running.Add(1)
	return p, nil
}

// NewDiscovererMetrics implements sd.Config.
func (*provider) NewDiscovererMetrics(prometheus.Registerer, sd.RefreshMetricsInstantiator) sd.DiscovererMetrics {
	return &sd.NoopDiscovererMetrics{} // those of the mechanism itself are registered by its name
}

// Run implements sd.Discoverer.
func (p *provider) Run(ctx context.Context, up chan<- []*targetgroup.Group) {
	defer p.room.running.Done()
	for ctx.Err() == nil {
		if p.runOnce(ctx, up) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(panicPause): //nolint:forbidigo // once in ten seconds at most, and what waits is done then
		}
		if err := p.make(); err != nil {
			p.logger.Error("discovery cannot be made anew", slog.Any("err", err))
		}
	}
}

// runOnce forwards what is found until ctx ends; false if the mechanism panicked.
func (p *provider) runOnce(ctx context.Context, up chan<- []*targetgroup.Group) (orderly bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan []*targetgroup.Group)
	complaints, deaf := p.hear()
	defer deaf()
	ended := make(chan bool, 1)
	go func() {
		ended <- p.room.contained(p.logger, func() { p.inner.Run(ctx, found) })
	}()
	for {
		select {
		case orderly = <-ended:
			deaf()
			if orderly { // one that gave up early is not asked again
				<-ctx.Done()
			}
			return orderly
		case c := <-complaints:
			p.complain(c)
		case groups := <-found:
			p.noteAnswer(groups)
			select {
			case up <- groups:
			case <-ctx.Done():
			}
		}
	}
}

// hear lets errors be taken where answers are, in the order in which the mechanism comes to them: an answer before an error must not pass for its
// end. deaf, which may be called again, ends that.
func (p *provider) hear() (complaints <-chan complaint, deaf func()) {
	heard, over := make(chan complaint), make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.deaf = heard, over
	return heard, sync.OnceFunc(func() { close(over) })
}

// noteAnswer takes an answer, and hides the query of the address that was asked: it goes with the labels to pages.
func (p *provider) noteAnswer(groups []*targetgroup.Group) {
	for _, g := range groups {
		if g == nil {
			continue
		}
		if asked := string(g.Labels[urlLabel]); asked != "" {
			shown := secret.RedactURL(asked)
			g.Labels[urlLabel], g.Source = model.LabelValue(shown), strings.Replace(g.Source, asked, shown, 1)
		} else if asked, index, ok := cutIndex(g.Source); ok && strings.Contains(asked, "://") {
			g.Source = secret.RedactURL(asked) + index // an empty group only has its source
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(groups)
	if len(groups) > 0 || !p.erred { // DNS answers with nothing where every lookup failed
		p.answered, p.at = true, p.room.deps.Now()
	}
	p.erred = false
}

// cutIndex splits "http://host/path:2" into the address and ":2".
func cutIndex(source string) (asked, index string, ok bool) {
	i := strings.LastIndexByte(source, ':')
	if i < 0 {
		return "", "", false
	}
	return source[:i], source[i:], true
}

// settle forgets the problems that an answer solves. A file is asked by itself, and DNS answers although lookups failed.
func (p *provider) settle(groups []*targetgroup.Group) {
	for _, g := range groups {
		if g != nil {
			path, _, _ := cutIndex(g.Source)
			delete(p.problems, path)
		}
	}
	if p.config.Name() != "dns" || !p.erred {
		delete(p.problems, "")
	}
}

// noteError takes an error that the mechanism logged, behind the answers that it gave before.
func (p *provider) noteError(asked, problem string) {
	p.mu.Lock()
	heard, deaf := p.heard, p.deaf
	p.mu.Unlock()
	select {
	case heard <- complaint{asked, problem}:
	case <-deaf:
		p.complain(complaint{asked, problem})
	}
}

func (p *provider) complain(c complaint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems[c.asked], p.erred = c.problem, true
	p.failures++
}

// state is how a provider does.
type state struct {
	at       time.Time
	answered bool
	problem  string
	failures int64
}

func (p *provider) status() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := state{at: p.at, answered: p.answered, failures: p.failures}
	if keys := slices.Sorted(maps.Keys(p.problems)); len(keys) > 0 {
		out.problem = p.problems[keys[0]]
	}
	return out
}

// listener is the log of a mechanism: nothing else says that a look failed.
type listener struct {
	slog.Handler
	provider *provider
}

// Enabled implements slog.Handler: errors are heard whatever is logged.
func (l *listener) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || l.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *listener) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	asked, problem := "", r.Message
	r.Attrs(func(a slog.Attr) bool {
		text := l.provider.shown(a.Value.Resolve().String())
		switch a.Key {
		case "err":
			problem = text
		case "path":
			asked = a.Value.String()
		}
		out.AddAttrs(slog.String(a.Key, text))
		return true
	})
	if r.Level >= slog.LevelError {
		l.provider.noteError(asked, problem)
	}
	if !l.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return l.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (l *listener) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &listener{l.Handler.WithAttrs(attrs), l.provider}
}

// WithGroup implements slog.Handler.
func (l *listener) WithGroup(name string) slog.Handler {
	return &listener{l.Handler.WithGroup(name), l.provider}
}
