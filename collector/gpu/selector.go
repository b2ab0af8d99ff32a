package gpu

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Selector is the block `gpus:` of a target: the GPUs that serve it. What is given must hold together. Without any key all GPUs do, if there is
// only one target; of several, those without the block have none: a GPU that serves two would have its joules counted twice.
type Selector struct {
	// UUIDs of GPUs, whose MIG instances come along, or of instances; where an instance only has the UUID of its GPU it is `GPU-…/7`
	UUIDs []string `koanf:"uuids" yaml:"uuids,omitempty"`
	// regular expression for the whole name of the host
	Hostname string `koanf:"hostname" yaml:"hostname,omitempty"`
	// regular expression for the whole name of the pod that uses the GPU, where the exporter knows it
	Pod string `koanf:"pod" yaml:"pod,omitempty"`
}

// IsZero tells that nothing is said about GPUs.
func (s Selector) IsZero() bool { return len(s.UUIDs) == 0 && s.Hostname == "" && s.Pod == "" }

// Validate finds what is wrong, by key below path.
func (s *Selector) Validate(path string) []error {
	var errs []error
	for i, uuid := range s.UUIDs {
		key := fmt.Sprintf("%s.uuids[%d]", path, i)
		switch {
		case strings.TrimSpace(uuid) == "":
			errs = append(errs, invalid.Key(key, "must not be empty"))
		case slices.Contains(s.UUIDs[:i], uuid):
			errs = append(errs, invalid.Key(key, "%s is there twice", uuid))
		}
	}
	for _, expression := range []struct{ key, value string }{{"hostname", s.Hostname}, {"pod", s.Pod}} {
		if _, err := wholeText(expression.value); err != nil {
			errs = append(errs, invalid.Key(path+"."+expression.key, "must be a regular expression: %v", err))
		}
	}
	return errs
}

// wholeText compiles an expression that must fit the whole of a text.
func wholeText(expression string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expression); err != nil {
		return nil, err // without what is put around it
	}
	return regexp.Compile("^(?:" + expression + ")$")
}

// Overlaps finds the UUIDs that serve two targets. The selectors are given by the path of their key. What expressions select is not known before
// GPUs are seen.
func Overlaps(selectors map[string]Selector) []error {
	type claim struct{ path, uuid string }
	var claims []claim
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(selectors)) {
		for i, uuid := range selectors[path].UUIDs {
			for _, earlier := range claims {
				if earlier.path != path && sameGPU(earlier.uuid, uuid) {
					errs = append(errs, invalid.Key(fmt.Sprintf("%s.uuids[%d]", path, i), "%s already serves %s", uuid, strings.TrimSuffix(earlier.path, ".gpus")))
					break
				}
			}
			claims = append(claims, claim{path, uuid})
		}
	}
	return errs
}

// sameGPU tells whether two of Selector.UUIDs have a device in common: they are the same, or one is the whole GPU of the other.
func sameGPU(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// owners tell which target a device serves.
type owners struct {
	targets []owner // by name
}

type owner struct {
	target        string
	all           bool
	uuids         map[string]bool
	hostname, pod *regexp.Regexp // nil = any
}

func newOwners(targets map[string]Selector) (owners, error) {
	var out owners
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		s := targets[name]
		if s.IsZero() {
			if len(targets) == 1 {
				out.targets = append(out.targets, owner{target: name, all: true})
			}
			continue
		}
		o := owner{target: name}
		var err error
		if o.hostname, err = optional(s.Hostname); err != nil {
			return owners{}, fmt.Errorf("target %q: gpus: hostname: %w", name, err)
		}
		if o.pod, err = optional(s.Pod); err != nil {
			return owners{}, fmt.Errorf("target %q: gpus: pod: %w", name, err)
		}
		if len(s.UUIDs) > 0 {
			o.uuids = make(map[string]bool, len(s.UUIDs))
			for _, uuid := range s.UUIDs {
				o.uuids[uuid] = true
			}
		}
		out.targets = append(out.targets, o)
	}
	return out, nil
}

func optional(expression string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	return wholeText(expression)
}

// of is the target that a device serves, "" if it is none. gpu is the UUID of the whole GPU. Where expressions of several targets fit, the first by
// name has it, so that nothing is counted twice.
func (o *owners) of(d *Device, gpu string) string {
	for i := range o.targets {
		if o.targets[i].has(d, gpu) {
			return o.targets[i].target
		}
	}
	return ""
}

func (o *owner) has(d *Device, gpu string) bool {
	if o.all {
		return true
	}
	listed := o.uuids == nil || o.uuids[d.UUID] || o.uuids[gpu] || d.Instance != "" && o.uuids[gpu+"/"+d.Instance]
	return listed && (o.hostname == nil || o.hostname.MatchString(d.Hostname)) && (o.pod == nil || o.pod.MatchString(d.Info.Pod))
}
