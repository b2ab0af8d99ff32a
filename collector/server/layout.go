package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// sourceKey is what pages have in common that one source may read.
type sourceKey struct {
	origin string // scheme, host and port
	client string // name of the HTTP client
	target string // whose credential is sent; "" = nobody's
}

// layOut makes the replicas of the targets, and the sources that read them.
func (c *Collector) layOut(targets []Target, newClient func(scrape.Options) (getter, error)) error {
	sources := map[sourceKey]*source{}
	for i := range targets {
		t := &targets[i]
		if !t.Config.Asks() {
			continue
		}
		shared := &target{name: t.Name}
		replicas, err := c.replicas(t)
		if err != nil {
			return fmt.Errorf("target %q: %w", t.Name, err)
		}
		for _, r := range replicas {
			key := sourceKey{origin: r.origin, client: cmp.Or(t.Config.Client, c.config.Client)}
			if t.Credential != nil {
				key.target = t.Name
			}
			s, ok := sources[key]
			if !ok {
				client, err := newClient(scrape.Options{HTTP: t.HTTP, UserAgent: c.deps.UserAgent, Credential: t.Credential})
				if err != nil {
					return fmt.Errorf("target %q: %w", t.Name, err)
				}
				s = &source{collector: c, client: client, pages: map[pageKey]*page{}}
				sources[key] = s
				c.sources = append(c.sources, s)
			}
			r.target = shared
			s.replicas = append(s.replicas, r)
			shared.replicas = append(shared.replicas, r)
		}
		c.targets = append(c.targets, shared)
	}
	return nil
}

// replicas are the configured ones of a target, or the one that is its endpoint.
func (c *Collector) replicas(t *Target) ([]*replica, error) {
	urls := t.Config.MetricsURLs
	if t.Config.MetricsURL != "" {
		urls = URLs{t.Config.MetricsURL}
	}
	if len(urls) == 0 {
		endpoint, err := secret.URL(t.URL).Address()
		if err != nil {
			return nil, err
		}
		named := t.Config.Kind != mapping.Auto
		r := c.newReplica(t, endpoint, hostPort(endpoint), named || t.Config.Auth != "" || t.Config.Client != "")
		r.finder = newFinder(places(t, endpoint), false)
		if !named {
			r.gate = newGate(endpoint, c.deps.Resolver)
			r.reset()
		}
		return []*replica{r}, nil
	}
	parsed := make([]*url.URL, len(urls))
	sharing := map[string]int{} // replicas by host and port
	for i, raw := range urls {
		var err error
		if parsed[i], err = raw.Address(); err != nil {
			return nil, err
		}
		sharing[hostPort(parsed[i])]++
	}
	out := make([]*replica, len(urls))
	for i, u := range parsed {
		instance := hostPort(u)
		if sharing[instance] > 1 {
			instance += u.EscapedPath()
		}
		out[i] = c.newReplica(t, u, instance, true)
		out[i].finder = newFinder([]place{{url: u.String(), format: t.format()}}, true)
	}
	return out, nil
}

func (c *Collector) newReplica(t *Target, u *url.URL, instance string, configured bool) *replica {
	r := &replica{
		collector:  c,
		origin:     u.Scheme + "://" + hostPort(u),
		configured: configured,
		told:       map[string]bool{},
		logger:     c.deps.Logger.With(slog.String("target", t.Name), slog.String("instance_id", instance)),
		options: mapping.Options{
			Target: t.Name, Instance: instance, Model: t.Model, Kind: t.Config.Kind, Prefix: t.Config.Prefix, Rules: t.Config.Map,
			Passthrough: c.config.Passthrough, MaxSeries: c.config.MaxSeries,
		},
	}
	r.reset()
	return r
}
