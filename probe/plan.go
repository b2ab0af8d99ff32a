package probe

import (
	"math/rand/v2"
	"net/url"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

// plan is what a probe is going to do.
type plan struct {
	module string // NoModule = the target says what is asked
	target generator.TargetConfig
	guard  *guard // nil: the configuration has chosen whom to ask
}

// NoModule is the value of the label module where a configured target is asked what it is always asked.
const NoModule = "none"

// plan finds the module and the target, and whether they may meet.
func (p *Prober) plan(q *query, config *Config) (*plan, *Rejection) {
	out := &plan{module: NoModule}
	var module Module
	if q.module != "" {
		var known bool
		if module, known = p.deps.Module(q.module); !known {
			return nil, reject(ReasonUnknownModule, "there is no such module")
		}
		out.module = q.module
	}
	configured, known := p.deps.Target(q.target)
	var err *Rejection
	switch {
	case known && q.module == "":
		out.target = configured
	case known:
		err = out.askOf(&configured, &module)
	case !hasScheme(q.target):
		err = reject(ReasonUnknownTarget, "the target is neither the name of a configured one nor a URL with http:// or https://")
	case q.module == "":
		err = reject(ReasonMissingModule, "a URL needs a module, which says what is asked")
	default:
		err = p.askURL(out, q.target, &module, config)
	}
	if err != nil {
		return nil, err
	}
	out.once()
	return out, nil
}

// askOf has a configured target asked what a module says: where it is and how it is reached is the target's, credentials among it. Headers and
// parameters are the module's, so that one with credentials must be allowed to speak to the target.
func (out *plan) askOf(configured *generator.TargetConfig, module *Module) *Rejection {
	if module.Authenticated {
		u, err := url.Parse(configured.URL)
		if err != nil {
			return reject(ReasonInternal, "the URL of the target cannot be read")
		}
		at, rejection := placeOf(u)
		if rejection != nil {
			return rejection
		}
		if !module.Allowed.mayAllow(at) {
			return reject(ReasonNotAllowed, "the module has credentials, and the target is not among its allowed_targets")
		}
		out.guard = &guard{rules: module.Allowed}
		configured.URL, configured.Client.Guard = at.url, out.guard.ask
	}
	timeouts := module.Target.Client.Timeouts
	out.target = module.Target
	out.target.Name, out.target.URL = configured.Name, configured.URL
	out.target.Client, out.target.Budget = configured.Client, configured.Budget
	out.target.Client.Timeouts = timeouts
	return nil
}

// askURL has somebody asked who stands in the request only.
func (p *Prober) askURL(out *plan, raw string, module *Module, config *Config) *Rejection {
	at, rejection := parseURL(raw)
	if rejection != nil {
		return rejection
	}
	rules := module.Allowed
	if rules == nil && !module.Authenticated {
		rules = config.rules()
	}
	if !rules.mayAllow(at) {
		return reject(ReasonNotAllowed, "the target is not among the allowed_targets")
	}
	out.guard = &guard{rules: rules}
	out.target = module.Target
	out.target.Name, out.target.URL = out.module, at.url
	out.target.Client.Guard, out.target.Client.Resolver = out.guard.ask, p.deps.Resolver
	return nil
}

// once leaves out of a target what is about more than one request: its load, and baselines that its answers are compared with. What is random is so
// in each probe anew, else all of them would ask the same.
func (out *plan) once() {
	c := &out.target
	c.Load, c.Paused = load.DefaultConfig(), false
	c.Fingerprint = answer.FingerprintConfig{}
	c.Seed = rand.Uint64() //nolint:gosec // which words are asked is no secret
}
