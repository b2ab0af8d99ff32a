package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
)

func TestAModuleGetsWhatItNames(t *testing.T) {
	t.Parallel()
	c, problems := loadTexts(t, nil, `
global: {budget: {usd_per_day: 1, usd_per_million_input: 2}}
secrets: {vendor: {value: hunter22hunter22}}
loads: {default: {mode: closed, concurrency: 3}}
workloads: {short: {output_tokens: 1}}
slos: {fast: {time_to_first_token: 1s}}
modules:
  chat:
    model: m
    endpoint: {type: chat, secret: vendor}
    workload: short
    slo: fast
    timeouts: {total: 20s, first_token: 10s, idle: 5s}
    allowed_targets: [a.example]
`+fiveLines)
	if problems != "" {
		t.Fatal(problems)
	}
	m, ok := c.Module("chat")
	if !ok {
		t.Fatal("there is no module")
	}
	a := &m.Target
	if a.Name != "" || a.URL != "" || a.Model != "m" || a.WorkloadName != "short" || len(a.SLOs) != 1 || a.Client.Timeouts.Total != 20*time.Second {
		t.Errorf("got %+v", a)
	}
	if diff := cmp.Diff(load.DefaultConfig(), a.Load); diff != "" || !a.Budget.IsZero() {
		t.Errorf("a module has a load or a budget: %v %s", a.Budget, diff)
	}
	if _, value, err := a.Client.Credential(); err != nil || value != "Bearer hunter22hunter22" || !m.Authenticated || len(m.Allowed) != 1 {
		t.Errorf("got %v, %v, %v", err, m.Authenticated, m.Allowed)
	}
	if _, there := c.Module("other"); there {
		t.Error("there is a module that nobody has written")
	}
	if diff := cmp.Diff([]string{"chat"}, c.ModuleNames()); diff != "" {
		t.Error(diff)
	}
}

func TestAModuleWithAnythingSecretSpeaksToNobodyElse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"nothing":                       {"modules: {a: {model: m, endpoint: {type: chat}}}", false},
		"headers that tell nothing":     {"modules: {a: {model: m, endpoint: {type: chat, headers: {X-Team: ml}}}}", false},
		"an api_key":                    {"modules: {a: {model: m, endpoint: {type: chat, api_key: x}}}", true},
		"an api_key_file":               {"modules: {a: {model: m, endpoint: {type: chat, api_key_file: x}}}", true},
		"a header by its name":          {"modules: {a: {model: m, endpoint: {type: chat, headers: {api-key: x}}}}", true},
		"a parameter by its name":       {"modules: {a: {model: m, endpoint: {type: chat, url_params: {api_key: x}}}}", true},
		"basic auth of the client":      {"http_clients: {default: {basic_auth: {username: a}}}\nmodules: {a: {model: m, endpoint: {type: chat}}}", true},
		"a certificate of the client":   {"http_clients: {c: {tls_config: {cert_file: c, key_file: k}}}\nmodules: {a: {model: m, client: c, endpoint: {type: chat}}}", true},
		"a secret header of a client":   {"http_clients: {c: {http_headers: {X-A: {secrets: [x]}}}}\nmodules: {a: {model: m, client: c, endpoint: {type: chat}}}", true},
		"a header file of a client":     {"http_clients: {c: {http_headers: {X-A: {files: [x]}}}}\nmodules: {a: {model: m, client: c, endpoint: {type: chat}}}", true},
		"plain headers of a client":     {"http_clients: {c: {http_headers: {X-A: {values: [x]}}}}\nmodules: {a: {model: m, client: c, endpoint: {type: chat}}}", false},
		"a cookie in a client's header": {"http_clients: {c: {http_headers: {Cookie: {values: [x]}}}}\nmodules: {a: {model: m, client: c, endpoint: {type: chat}}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, problems := loadTexts(t, nil, test.text+"\n"+fiveLines)
			if problems != "" {
				t.Fatal(problems)
			}
			m, _ := c.Module("a")
			if m.Authenticated != test.want {
				t.Errorf("got %v", m.Authenticated)
			}
			var warned bool
			for _, w := range c.Warnings {
				warned = warned || strings.Contains(w.Message, "no allowed_targets")
			}
			if warned != test.want {
				t.Errorf("warned %v: %v", warned, c.Warnings)
			}
		})
	}
}
