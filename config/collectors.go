package config

import (
	"fmt"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/collector/gpu"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server"
)

// Collectors is the block `collectors:`: what is read from others.
type Collectors struct {
	Server server.Config `koanf:"server" yaml:"server"`
	GPU    gpu.Config    `koanf:"gpu" yaml:"gpu"`
}

// DefaultCollectors is what an absent block means.
func DefaultCollectors() Collectors {
	return Collectors{Server: server.DefaultConfig(), GPU: gpu.DefaultConfig()}
}

func (c *Collectors) validate(path string) []error {
	return append(c.Server.Validate(path+".server"), c.GPU.Validate(path+".gpu")...)
}

// ServerTargets gives the enabled targets as the server collector knows them.
func (c *Config) ServerTargets() []server.Target {
	var out []server.Target
	for i := range c.Targets {
		t := &c.Targets[i]
		if !t.Enabled {
			continue
		}
		target := server.Target{Name: t.Name, URL: t.URL.Reveal(), Model: t.Model, Config: t.Server, HTTP: c.scrapeClient(t.Server.Client, c.Collectors.Server.Client)}
		if credential := c.credential(t); t.Server.Auth == server.InheritAuth && credential != nil {
			target.Credential, target.CredentialKey = credential, c.credentialKey(t)
		}
		out = append(out, target)
	}
	return out
}

// GPUTargets gives, by target, the GPUs that serve it.
func (c *Config) GPUTargets() map[string]gpu.Selector {
	out := map[string]gpu.Selector{}
	for i := range c.Targets {
		if t := &c.Targets[i]; t.Enabled {
			out[t.Name] = t.GPUs
		}
	}
	return out
}

// GPUClient is what the exporters of GPU metrics are asked with.
func (c *Config) GPUClient() promconfig.HTTPClientConfig {
	return c.scrapeClient(c.Collectors.GPU.Client)
}

// scrapeClient is the first client that is named. Without one it is the plain one, not the entry "default": a credential meant for
// a server's API does not go to other ports unasked.
func (c *Config) scrapeClient(names ...string) promconfig.HTTPClientConfig {
	for _, name := range names {
		if client, ok := c.HTTPClients[name]; ok {
			return client.HTTP
		}
	}
	return promconfig.HTTPClientConfig{}
}

// collectorReferences are the clients that collectors name.
func (c *Config) collectorReferences() []reference {
	var refs []reference
	if name := c.Collectors.Server.Client; name != "" {
		refs = append(refs, reference{key: "collectors.server.client", block: "http_clients", name: name})
	}
	if name := c.Collectors.GPU.Client; name != "" {
		refs = append(refs, reference{key: "collectors.gpu.client", block: "http_clients", name: name})
	}
	return refs
}

// validateGPUs checks that no GPU is said to serve two targets: its joules would count twice.
func (c *Config) validateGPUs() []error {
	selectors := map[string]gpu.Selector{}
	for i := range c.Targets {
		if t := &c.Targets[i]; t.Enabled {
			selectors[fmt.Sprintf("targets[%d].gpus", i)] = t.GPUs
		}
	}
	return gpu.Overlaps(selectors)
}
