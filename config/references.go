package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// blocks hold the entries that targets name, in the order in which warnings name them.
var blocks = []string{"secrets", "http_clients", "workloads", "loads", "slos"}

// entryNames gives the names of the entries of each block, in order.
func (c *Config) entryNames() map[string][]string {
	return map[string][]string{
		"secrets":      slices.Sorted(maps.Keys(c.Secrets)),
		"http_clients": slices.Sorted(maps.Keys(c.HTTPClients)),
		"workloads":    slices.Sorted(maps.Keys(c.Workloads)),
		"loads":        slices.Sorted(maps.Keys(c.Loads)),
		"slos":         slices.Sorted(maps.Keys(c.SLOs)),
	}
}

// reference is the name of an entry, and the key that holds it.
type reference struct {
	key, block, name string
	implied          bool // nothing was written: the entry "default" is meant, if there is one
}

func (t *Target) references() []reference {
	orDefault := func(key, block, name string) reference {
		return reference{key: key, block: block, name: cmp.Or(name, defaultName), implied: name == ""}
	}
	refs := []reference{
		orDefault("client", "http_clients", t.Client),
		orDefault("workload", "workloads", t.Workload),
		orDefault("load", "loads", t.Load),
	}
	if t.Endpoint.Secret != "" {
		refs = append(refs, reference{key: "endpoint.secret", block: "secrets", name: t.Endpoint.Secret})
	}
	if t.Server.Client != "" {
		refs = append(refs, reference{key: "server.client", block: "http_clients", name: t.Server.Client})
	}
	for i, name := range t.SLO {
		refs = append(refs, reference{key: fmt.Sprintf("slo[%d]", i), block: "slos", name: name})
	}
	return refs
}

// resolve checks that what is named exists.
func (ref reference) resolve(entries map[string][]string, path string) []error {
	names := entries[ref.block]
	if ref.implied || slices.Contains(names, ref.name) {
		return nil
	}
	return []error{invalid.Key(path, "there is no entry %q under %s%s", ref.name, ref.block, didYouMean(ref.name, names))}
}

// validateReferences checks that everything a target names exists, once.
func (c *Config) validateReferences(t *Target, path string) []error {
	var errs []error
	entries := c.entryNames()
	for _, ref := range t.references() {
		errs = append(errs, ref.resolve(entries, path+"."+ref.key)...)
	}
	for i, name := range t.SLO {
		if slices.Index(t.SLO, name) < i {
			errs = append(errs, invalid.Key(fmt.Sprintf("%s.slo[%d]", path, i), "%q is listed twice", name))
		}
	}
	_, client := entry(c.HTTPClients, t.Client, DefaultHTTPClient())
	errs = append(errs, c.validateHeaderPlaces(t, path)...)
	if client.HTTPVersion == transport.HTTP2 && t.URL != "" && !strings.HasPrefix(strings.ToLower(t.URL.Reveal()), "https://") {
		errs = append(errs, invalid.Key(path+".url", "must be https: the client of the target asks for HTTP/2, which is agreed upon in the TLS handshake"))
	}
	if !client.reaches(hostOf(t.URL)) {
		errs = append(errs, invalid.Key(path+".url", "is not an address of IPv%s, to which alone the client of the target connects", client.IPFamily))
	}
	return errs
}

// hostOf is the host of a URL, "" if it is none.
func hostOf(address secret.URL) string {
	full, err := endpoint.URL(address.Reveal(), "/") // adds the scheme
	if err != nil {
		return ""
	}
	u, err := url.Parse(full)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// warnings finds what is allowed but probably not meant.
func (c *Config) warnings() []error {
	var out []error
	if len(c.TargetDiscovery) == 0 && !slices.ContainsFunc(c.Targets, func(t Target) bool { return t.Enabled }) {
		out = append(out, invalid.Key("targets", "no target is enabled, nothing will be measured"))
	}
	out = append(out, c.warnInsecure()...)
	for _, name := range slices.Sorted(maps.Keys(c.Workloads)) {
		wl := c.Workloads[name]
		for _, warning := range wl.Dataset.Warnings() {
			out = append(out, invalid.Key("workloads."+name+".dataset", "%s", warning))
		}
	}
	out = append(out, c.idle()...)
	out = append(out, c.warnModules()...)
	return append(out, c.warnUnused()...)
}

// warnInsecure finds connections on which somebody else may listen.
func (c *Config) warnInsecure() []error {
	var out []error
	warn := func(block, danger string) {
		out = append(out, invalid.Key(block+".tls_config.insecure_skip_verify", "certificates are not verified: anybody on the way can %s", danger))
	}
	for _, name := range slices.Sorted(maps.Keys(c.HTTPClients)) {
		if client := c.HTTPClients[name]; client.HTTP.TLSConfig.InsecureSkipVerify {
			warn("http_clients."+name, "read and change requests, credentials among them")
		}
	}
	for i := range c.TargetDiscovery {
		for j := range c.TargetDiscovery[i].SD.HTTP {
			if c.TargetDiscovery[i].SD.HTTP[j].HTTPClientConfig.TLSConfig.InsecureSkipVerify {
				warn(fmt.Sprintf("target_discovery[%d].http_sd_configs[%d]", i, j), "say what the targets are")
			}
		}
	}
	if c.OTLP.TLS.InsecureSkipVerify {
		warn("otlp", "read and change what is sent")
	}
	return out
}

// warnUnused finds entries that nobody names.
func (c *Config) warnUnused() []error {
	used := map[string]bool{}
	note := func(refs []reference) {
		for _, ref := range refs {
			used[ref.block+"."+ref.name] = true
		}
	}
	for i := range c.Targets {
		note(c.Targets[i].references())
	}
	for i := range c.TargetDiscovery {
		note(c.TargetDiscovery[i].Template.references())
	}
	note(c.collectorReferences())
	note(c.moduleReferences())
	var out []error
	entries := c.entryNames()
	for _, block := range blocks {
		for _, name := range entries[block] {
			// A label of what is discovered may name them.
			byLabel := len(c.TargetDiscovery) > 0 && (block == "workloads" || block == "loads")
			if path := block + "." + name; !used[path] && !byLabel {
				out = append(out, invalid.Key(path, "is not used by any target"))
			}
		}
	}
	return out
}
