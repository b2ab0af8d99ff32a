package config

import (
	"fmt"
	"maps"
	"slices"

	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/budget"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/transport"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/probe"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Module is one entry under `modules:`: what /probe asks of the target that a request names. Model and Endpoint.Type are required.
type Module struct {
	// name of the model as servers know it
	Model    string   `koanf:"model" yaml:"model"`
	Endpoint Endpoint `koanf:"endpoint" yaml:"endpoint"`

	// name of an entry under `workloads`. Without it the entry `default` is taken, if there is one, else the defaults
	Workload string `koanf:"workload" yaml:"workload,omitempty"`
	// names of entries under `slos`, by which the request is judged
	SLO Names `koanf:"slo" yaml:"slo,omitempty"`
	// name of an entry under `http_clients`; without it the entry `default`, if there is one, else the defaults
	Client string `koanf:"client" yaml:"client,omitempty"`
	// The probe ends after `total`, or earlier if the scraper does not wait that long
	Timeouts transport.Timeouts `koanf:"timeouts" yaml:"timeouts"`
	// what every answer must be; a probe whose answer is not fails as `content_check`
	Expect []answer.Expect `koanf:"expect" yaml:"expect,omitempty"`
	// To whom the module may speak, in place of `probe.allowed_targets`. A module that sends credentials speaks to nobody else: without the list, to
	// configured targets only, with their credentials
	AllowedTargets []string `koanf:"allowed_targets" yaml:"allowed_targets,omitempty"`
}

// DefaultModule is what a module has where nothing is written.
func DefaultModule() Module {
	return Module{Endpoint: Endpoint{Config: endpoint.DefaultConfig()}, Timeouts: transport.DefaultTimeouts()}
}

// moduleOwner is under which name a module has its secret; no target has a colon in its name.
func moduleOwner(name string) string { return "module:" + name }

// noLoad stands for the load of a module, which has none; no entry has this name.
const noLoad = "-"

// target is the module as a target, for whatever is the same for both. Its URL is made up.
func (m *Module) target(name string) *Target {
	return &Target{
		Name: moduleOwner(name), URL: "https://module.invalid", Model: m.Model, Endpoint: m.Endpoint, Workload: m.Workload, Load: noLoad,
		SLO: m.SLO, Client: m.Client, Timeouts: m.Timeouts, Expect: m.Expect, Accounting: metrics.Estimated, Enabled: true,
	}
}

// ModuleNames lists the modules, in order.
func (c *Config) ModuleNames() []string { return slices.Sorted(maps.Keys(c.Modules)) }

// Module gives a module with everything that it refers to; false: there is none of that name.
func (c *Config) Module(name string) (probe.Module, bool) {
	m, ok := c.Modules[name]
	if !ok {
		return probe.Module{}, false
	}
	t := m.target(name)
	asked, err := c.target(t)
	if err != nil { // cannot happen: the URL is ours, and everything else was checked
		return probe.Module{}, false
	}
	asked.Name, asked.URL, asked.LoadName = "", "", ""
	asked.Load, asked.Budget = load.DefaultConfig(), budget.Config{}
	return probe.Module{Target: asked, Allowed: probe.NewRules(m.AllowedTargets), Authenticated: c.authenticates(t)}, true
}

// authenticates tells whether requests carry anything that shows who we are, and so must not reach strangers.
func (c *Config) authenticates(t *Target) bool {
	_, client := entry(c.HTTPClients, t.Client, DefaultHTTPClient())
	return c.credential(t) != nil || client.authenticates() || client.HTTP.TLSConfig.Cert != "" || client.HTTP.TLSConfig.CertFile != "" ||
		hasSecrets(client.HTTP.HTTPHeaders) || hasSensitive(t.Endpoint.Headers) || hasSensitive(t.Endpoint.URLParams)
}

func hasSensitive(values map[string]string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(values)), secret.SensitiveHeader)
}

func hasSecrets(headers *promconfig.Headers) bool {
	if headers == nil {
		return false
	}
	for name, header := range headers.Headers {
		if len(header.Secrets)+len(header.Files) > 0 || secret.SensitiveHeader(name) {
			return true
		}
	}
	return false
}

func (c *Config) validateModules() []error {
	return validateEntries("modules", c.Modules, func(m *Module, path string) []error { return c.validateModule(m, path) })
}

func (c *Config) validateModule(m *Module, path string) []error {
	var errs []error
	name := path[len("modules."):]
	if name == probe.NoModule {
		errs = append(errs, invalid.Key(path, "the name %q is taken: the label module has it where there is no module", name))
	}
	if m.Model == "" {
		errs = append(errs, invalid.Key(path+".model", "is required"))
	} else if problem := labelValueProblem(m.Model); problem != "" {
		errs = append(errs, invalid.Key(path+".model", "%s", problem))
	}
	errs = append(errs, m.Endpoint.Validate(path+".endpoint")...)
	errs = append(errs, m.Endpoint.validateCredential(path+".endpoint")...)
	errs = append(errs, validateTimeouts(path+".timeouts", m.Timeouts)...)
	if m.Timeouts.Total == 0 {
		errs = append(errs, invalid.Key(path+".timeouts.total", "must be > 0: somebody waits for the answer"))
	}
	for i := range m.Expect {
		errs = append(errs, m.Expect[i].Validate(fmt.Sprintf("%s.expect[%d]", path, i))...)
	}
	errs = append(errs, probe.ValidateAllowed(path+".allowed_targets", m.AllowedTargets)...)
	t := m.target(name)
	errs = append(errs, c.validateFit(t, path)...)
	t.Load = ""
	return append(errs, c.validateReferences(t, path)...)
}

// moduleReferences are what modules name.
func (c *Config) moduleReferences() []reference {
	var refs []reference
	for name, m := range c.Modules {
		for _, ref := range m.target(name).references() {
			if ref.block != "loads" {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// warnModules finds modules that cannot be used as they are.
func (c *Config) warnModules() []error {
	var out []error
	for _, name := range c.ModuleNames() {
		m := c.Modules[name]
		if len(m.AllowedTargets) == 0 && c.authenticates(m.target(name)) {
			out = append(out, invalid.Key("modules."+name, "sends credentials and has no allowed_targets: no target that is not configured can be asked"))
		}
	}
	return out
}

// fillModules puts the built-in defaults under every module.
func fillModules(all map[string]any) error {
	modules, _ := all["modules"].(map[string]any) // nil: none are written
	for name, module := range modules {
		builtIn := map[string]any{}
		for key, config := range map[string]any{"endpoint": endpoint.DefaultConfig(), "timeouts": transport.DefaultTimeouts()} {
			defaults, err := defaultsOf(config)
			if err != nil {
				return err
			}
			builtIn[key] = defaults
		}
		own, _ := module.(map[string]any) // the checker lets nothing else pass
		filled, err := overlay(builtIn, own)
		if err != nil {
			return err
		}
		modules[name] = filled
	}
	return nil
}
