package server

import (
	"cmp"
	"log/slog"
	"net/url"
	"reflect"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// sourceKey is what pages have in common that one source may read, beside the configuration of the client.
type sourceKey struct {
	settings   *settings
	origin     string // scheme, host and port
	client     string // name of the HTTP client
	target     string // whose credential is sent; "" = nobody's
	credential string
}

// target makes one, and the sources for it that there are not yet.
func (ch *Change) target(given Target, credential func() (header, value string, err error)) (*target, error) {
	out := &target{given: given, settings: ch.settings}
	var err error
	if out.replicas, err = ch.replicas(&out.given); err != nil {
		return nil, err
	}
	for _, r := range out.replicas {
		key := sourceKey{settings: ch.settings, origin: r.origin, client: cmp.Or(given.Config.Client, ch.settings.Client)}
		if credential != nil {
			key.target, key.credential = given.Name, given.CredentialKey
		}
		if r.source, err = ch.source(key, given.HTTP, credential); err != nil {
			return nil, err
		}
		r.target = out
	}
	return out, nil
}

// source finds or makes one.
func (ch *Change) source(key sourceKey, http promconfig.HTTPClientConfig, credential func() (header, value string, err error)) (*source, error) {
	for _, s := range ch.sources {
		if s.key == key && reflect.DeepEqual(s.http, http) {
			return s, nil
		}
	}
	c := ch.collector
	client, err := c.newClient(scrape.Options{HTTP: http, UserAgent: c.deps.UserAgent, Credential: credential, Redactor: c.deps.Redactor})
	if err != nil {
		return nil, err
	}
	s := &source{key: key, http: http, deps: &c.deps, settings: ch.settings, client: client, pages: map[pageKey]*page{}, plans: 1}
	s.replicas.Store(new([]*replica))
	ch.sources = append(ch.sources, s)
	return s, nil
}

// replicas are the configured ones of a target, or the one that is its endpoint.
func (ch *Change) replicas(t *Target) ([]*replica, error) {
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
		r := ch.newReplica(t, endpoint, hostPort(endpoint), named || t.Config.Auth != "" || t.Config.Client != "")
		r.finder = newFinder(places(t, endpoint), false)
		if !named {
			r.gate = newGate(endpoint, ch.collector.deps.Resolver)
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
		out[i] = ch.newReplica(t, u, instance, true)
		out[i].finder = newFinder([]place{{url: u.String(), format: t.format()}}, true)
	}
	return out, nil
}

func (ch *Change) newReplica(t *Target, u *url.URL, instance string, configured bool) *replica {
	r := &replica{
		deps:       &ch.collector.deps,
		origin:     u.Scheme + "://" + hostPort(u),
		configured: configured,
		told:       map[string]bool{},
		logger:     ch.collector.deps.Logger.With(slog.String("target", t.Name), slog.String("instance_id", instance)),
		options: mapping.Options{
			Target: t.Name, Instance: instance, Model: t.Model, Kind: t.Config.Kind, Prefix: t.Config.Prefix, Rules: t.Config.Map,
			Passthrough: ch.settings.Passthrough, MaxSeries: ch.settings.MaxSeries,
		},
	}
	r.reset()
	return r
}
