package generator

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
	"github.com/aiperf-exporter/aiperf-exporter/generator/tokenize"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// generation is what a target asks, whom, and how that travels. A change of any of it makes the next generation, beside this one: each
// request ends by the one by which it was admitted. It never changes, but for what it learns.
type generation struct {
	config      *TargetConfig // of which only what is asked and how it travels holds
	url         string
	streams     bool // requests ask for streams
	codec       endpoint.Codec
	traits      endpoint.Traits
	headers     http.Header // of all requests
	trace       func() metrics.Trace
	content     *content
	client      client
	checks      *answer.Checks
	counter     *tokenize.Client    // nil = the server is not asked for counts
	fingerprint *answer.Fingerprint // nil = answers are not compared
	backoff     *load.Backoff       // of the server, hence of all generations that ask it

	// usageRefused: the server does not take the field that asks for usage in streams.
	usageRefused atomic.Bool
	// usageTold: the last success told all its counts.
	usageTold atomic.Bool

	// users are those who may use it: its target while it is the present one, and its requests. The last one closes it.
	users atomic.Int64
}

// newGeneration makes what asks a target from now on, with one user. It goes on with what before, nil = none, has in common with it, but for the
// content where that is to begin anew.
func newGeneration(c *TargetConfig, deps *Deps, before *generation, anew bool) (*generation, error) {
	g := &generation{config: c}
	g.users.Store(1)
	if err := g.build(deps, before, anew); err != nil {
		g.content.release()
		return nil, fmt.Errorf("target %q: %w", c.Name, err)
	}
	return g, nil
}

// build makes what can fail.
func (g *generation) build(deps *Deps, before *generation, anew bool) error {
	c := g.config
	var err error
	if g.codec, err = endpoint.New(c.Endpoint); err != nil {
		return err
	}
	g.traits = g.codec.Traits()
	g.streams = c.streams(g.codec)
	if g.url, err = c.Endpoint.URL(c.URL, g.codec.Path(c.Model, g.streams)); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if g.checks, err = answer.NewChecks(c.Expect); err != nil {
		return fmt.Errorf("expect: %w", err)
	}
	g.headers = baseHeader(c, &g.traits, deps.UserAgent)
	if !traceIsUsers(g.headers, &c.Endpoint) {
		g.trace = deps.Trace
	}
	if before != nil && !anew && c.sameContent(before.config) {
		g.content = before.content.share()
	} else if g.content, err = newContent(c, deps); err != nil {
		return fmt.Errorf("workload %q: %w", c.WorkloadName, err)
	}
	if g.counter, err = g.newCounter(deps.UserAgent); err != nil {
		return err
	}
	if err = g.observe(before); err != nil {
		return err
	}
	g.know(before)
	g.client, err = deps.newClient(c)
	return err
}

// observe makes what compares answers, or goes on with that of before, which has learned what is usual.
func (g *generation) observe(before *generation) error {
	c := g.config
	if !c.Fingerprint.Enabled {
		return nil
	}
	if before != nil && before.fingerprint != nil && !before.fingerprint.Dismissed() && c.sameQuestions(before.config) {
		g.fingerprint = before.fingerprint
		return nil
	}
	var err error
	g.fingerprint, err = answer.NewFingerprint(&c.Fingerprint, g.questions())
	return err
}

// know takes over what is known of the server from the generation before, if that has asked the same one.
func (g *generation) know(before *generation) {
	c := g.config
	if before == nil || before.config.URL != c.URL {
		g.backoff = load.NewBackoff(&c.Load.Backoff, seed.Derive(c.Seed, "load.backoff", c.Name))
		return
	}
	g.backoff = before.backoff
	g.usageRefused.Store(before.usageRefused.Load())
}

// acquire adds a user; false: it is closed.
func (g *generation) acquire() bool {
	for {
		users := g.users.Load()
		if users == 0 {
			return false
		}
		if g.users.CompareAndSwap(users, users+1) {
			return true
		}
	}
}

// release takes a user away. The last one closes the idle connections and gives the content back.
func (g *generation) release() {
	if g.users.Add(-1) == 0 {
		g.client.Close()
		g.content.release()
	}
}
