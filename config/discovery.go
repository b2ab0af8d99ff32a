package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// DiscoverySet is one entry under `target_discovery:`. Name, one mechanism at least and Template.Load are required.
type DiscoverySet struct {
	// name of the set, at most 54 letters, digits, dots, dashes and underscores. A target without a `__target_name__` is called after it
	Name string `koanf:"name" yaml:"name"`

	// SD is decoded from Rest once all layers are joined: its types only know YAML.
	SD   discovery.Mechanisms `koanf:"-" yaml:",inline" json:"-"`
	Rest map[string]any       `koanf:",remain" yaml:"-" json:"-"`

	// what every target of the set is, with the keys of `targets` except `name`, `url` and `gpus`; `defaults` are under it. Its `load` must be
	// written: nothing that is discovered gets traffic otherwise
	Template Target `koanf:"template" yaml:"template"`
	// most targets of the set; those beyond are left out: newcomers first, in the order of names. One that is missing keeps its place for its grace
	MaxTargets int `koanf:"max_targets" yaml:"max_targets"`
	// how long a target that is not found any more stays, so that one that flaps loses nothing
	Grace time.Duration `koanf:"grace" yaml:"grace"`
}

// DefaultDiscoverySet is what keys of an entry that are not written mean.
func DefaultDiscoverySet() DiscoverySet {
	return DiscoverySet{MaxTargets: 50, Grace: discovery.DefaultGrace}
}

// Format implements fmt.Formatter: the credentials of Prometheus' types print as they are, so nothing inside may be printed.
func (s DiscoverySet) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "discovery set "+s.Name) // fmt keeps the error of its own writer
}

// Discovery gives the sets as the room that discovers knows them.
func (c *Config) Discovery() []discovery.SetConfig {
	out := make([]discovery.SetConfig, 0, len(c.TargetDiscovery))
	for i := range c.TargetDiscovery {
		s := &c.TargetDiscovery[i]
		out = append(out, discovery.SetConfig{Name: s.Name, Configs: s.SD.Configs(), Relabel: s.SD.RelabelConfigs(), Grace: s.Grace})
	}
	return out
}

// decodeDiscovery decodes the parts of the sets that only have YAML types. The checker has already looked at each key and each value; what
// remains is what Prometheus requires of their combination.
func (c *Config) decodeDiscovery() []error {
	var errs []error
	for i := range c.TargetDiscovery {
		s, path := &c.TargetDiscovery[i], fmt.Sprintf("target_discovery[%d]", i)
		for _, key := range append(slices.Clone(discovery.MechanismKeys), "relabel_configs") {
			entries, _ := s.Rest[key].([]any) // nil: not written
			for j, entry := range entries {
				here := fmt.Sprintf("%s.%s[%d]", path, key, j)
				if err := s.decode(key, entry); err != nil {
					errs = append(errs, invalid.Key(blame(entry, here, err), "%s", mechanismProblem(err)))
				}
			}
		}
		for j, step := range s.SD.RelabelConfigs() {
			if err := step.Validate(model.LegacyValidation); err != nil {
				errs = append(errs, invalid.Key(fmt.Sprintf("%s.relabel_configs[%d]", path, j), "%v", err))
			}
		}
	}
	return errs
}

func (s *DiscoverySet) decode(key string, entry any) error {
	into := s.SD.Entry(key)
	text, err := yaml.Marshal(entry)
	if err != nil {
		return err
	}
	return yamlv2.UnmarshalStrict(text, into)
}

// mechanismProblem takes away what an error of the YAML library says of a text that nobody wrote.
func mechanismProblem(err error) string {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "has something that is not a URL" // the error would quote it, with any password
	}
	if list, ok := errors.AsType[*yamlv2.TypeError](err); ok {
		out := make([]string, len(list.Errors))
		for i, problem := range list.Errors {
			_, after, found := strings.Cut(problem, ": ")
			if out[i] = problem; found && strings.HasPrefix(problem, "line ") {
				out[i] = after
			}
		}
		return strings.Join(out, "; ")
	}
	return err.Error()
}

// files gives the files with secrets and certificates that the mechanisms of the set name, by key below path.
func (s *DiscoverySet) files(path string) map[string]string {
	out := map[string]string{}
	for _, key := range discovery.MechanismKeys {
		if key != "file_sd_configs" { // whose files are what is found, not what it takes to find it
			maps.Copy(out, filesOf(s.Rest[key], path+"."+key))
		}
	}
	return out
}

// validateDiscovery checks the sets, and their templates as far as no discovered target is needed for it.
func (c *Config) validateDiscovery() []error {
	var errs []error
	first := map[string]int{}
	for i := range c.TargetDiscovery {
		s, path := &c.TargetDiscovery[i], fmt.Sprintf("target_discovery[%d]", i)
		if j, ok := first[s.Name]; ok && s.Name != "" {
			errs = append(errs, invalid.Key(path+".name", "%q is already the name of target_discovery[%d]", s.Name, j))
		} else {
			first[s.Name] = i
		}
		errs = append(errs, s.validate(path)...)
		errs = append(errs, c.validateTemplate(s, path+".template")...)
	}
	return errs
}

func (s *DiscoverySet) validate(path string) []error {
	var errs []error
	switch {
	case s.Name == "":
		errs = append(errs, invalid.Key(path+".name", "is required"))
	case !entryName.MatchString(s.Name):
		errs = append(errs, invalid.Key(path+".name", entryNameRule+", got %q", s.Name))
	case len(s.Name) > discovery.MaxSetName:
		errs = append(errs, invalid.Key(path+".name", "must have at most %d characters, so that targets can be called after it", discovery.MaxSetName))
	}
	mechanisms := 0
	for _, key := range discovery.MechanismKeys {
		entries, _ := s.Rest[key].([]any) // nil: not written
		mechanisms += len(entries)
	}
	if mechanisms == 0 {
		errs = append(errs, invalid.Key(path, "must say where targets are found: one of %s", strings.Join(discovery.MechanismKeys, ", ")))
	}
	if s.Template.Load == "" {
		errs = append(errs, invalid.Key(path+".template.load", "is required: what is discovered only gets traffic where its load is written down"))
	}
	if s.MaxTargets < 1 {
		errs = append(errs, invalid.Key(path+".max_targets", "must be >= 1, got %d", s.MaxTargets))
	}
	if s.Grace < 0 {
		errs = append(errs, invalid.Key(path+".grace", "must be >= 0, got %v", s.Grace))
	}
	return errs
}

// validateTemplate checks the target that would come of a template with labels that say nothing wrong.
func (c *Config) validateTemplate(s *DiscoverySet, path string) []error {
	t := s.Template
	t.Name, t.URL = defaultName, "https://discovered.invalid" // https: no client is too good for it
	if t.Model == "" {
		t.Model = "model"
	}
	if t.Endpoint.Type == "" {
		t.Endpoint.Type = endpoint.Chat
	}
	if t.Load == "" { // which is told already
		t.Load = defaultName
		if _, ok := c.Loads[defaultName]; !ok {
			return nil
		}
	}
	t.Source = s.Name
	return c.validateTarget(&t, path)
}
