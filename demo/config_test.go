package demo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	fault := func(f Fault) func(*Config) {
		return func(c *Config) { c.Profiles[0].Faults = []Fault{f} }
	}
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"the default is right", func(*Config) {}, nil},
		{"no model", func(c *Config) { c.Profiles = nil }, []string{"demo.Profiles"}},
		{"a model without name", func(c *Config) { c.Profiles[0].Name = "" }, []string{"demo.Profiles[0].Name"}},
		{"a name that is no text", func(c *Config) { c.Profiles[0].Name = "\xff" }, []string{"demo.Profiles[0].Name"}},
		{"two models of one name", func(c *Config) { c.Profiles[2].Name = SteadyModel }, []string{"demo.Profiles[2].Name"}},
		{"an engine without time", func(c *Config) { c.Profiles[1].Engine.StepTime = 0 }, []string{"demo.Profiles[1].Engine.StepTime"}},
		{"a model that says nothing", func(c *Config) { c.Profiles[0].AnswerTokens = 0 }, []string{"demo.Profiles[0].AnswerTokens"}},
		{"more reasoning than all", func(c *Config) { c.Profiles[0].ReasoningShare = 1.1 }, []string{"demo.Profiles[0].ReasoningShare"}},
		{
			"an unknown reasoning field", func(c *Config) { c.Profiles[0].ReasoningField = "thoughts" },
			[]string{"demo.Profiles[0].ReasoningField"},
		},
		{"an unknown fault", fault(Fault{Kind: "fire"}), []string{"demo.Profiles[0].Faults[0].Kind"}},
		{"a fault that never comes", fault(Fault{Kind: Empty}), []string{"demo.Profiles[0].Faults[0].Probability"}},
		{"slowness for some", fault(Fault{Kind: Slow, Factor: 2, Probability: 0.5}), []string{"demo.Profiles[0].Faults[0].Probability"}},
		{"slowness without measure", fault(Fault{Kind: Slow}), []string{"demo.Profiles[0].Faults[0].Factor"}},
		{"negative tokens", fault(Fault{Kind: Stall, Probability: 1, AfterTokens: -1}), []string{"demo.Profiles[0].Faults[0].AfterTokens"}},
		{
			"a retry in the past", fault(Fault{Kind: RateLimit, Probability: 1, RetryAfter: -1}),
			[]string{"demo.Profiles[0].Faults[0].RetryAfter"},
		},
		{
			"an episode longer than its period", fault(Fault{Kind: Empty, Probability: 1, Episode: Episode{Every: 1, Lasts: 2}}),
			[]string{"demo.Profiles[0].Faults[0].Episode"},
		},
		{
			"an episode without a period", fault(Fault{Kind: Empty, Probability: 1, Episode: Episode{Lasts: time.Second}}),
			[]string{"demo.Profiles[0].Faults[0].Episode"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := DefaultConfig()
			tc.change(&cfg)
			findings := cfg.Validate("demo")
			got := make([]string, 0, len(findings))
			for _, err := range findings {
				var finding *invalid.Error
				if !errors.As(err, &finding) {
					t.Fatalf("%v is not a finding about a key", err)
				}
				got = append(got, finding.Path)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("keys found wrong (-want +got):\n%s", diff)
			}
			if _, err := New(cfg); (err != nil) != (tc.want != nil) {
				t.Errorf("New = %v", err)
			}
		})
	}
}

func TestTheExampleFitsTheServer(t *testing.T) {
	t.Parallel()
	var example struct {
		SLOs, Workloads, Loads map[string]any
		Targets                []struct {
			Name, URL, Model, Workload, Load string
			SLO                              []string
		}
	}
	if err := yaml.Unmarshal(ExampleConfig(), &example); err != nil {
		t.Fatal(err)
	}
	profiles := DefaultProfiles()
	if len(example.Targets) != len(profiles) {
		t.Fatalf("%d targets for %d models", len(example.Targets), len(profiles))
	}
	for i, target := range example.Targets {
		if target.Model != profiles[i].Name || target.URL != "${"+URLVariable+"}" || !strings.Contains(target.Model, target.Name) {
			t.Errorf("target %d is %+v, the model %q", i, target, profiles[i].Name)
		}
		if example.Workloads[target.Workload] == nil || example.Loads[target.Load] == nil || example.SLOs[target.SLO[0]] == nil {
			t.Errorf("target %d refers to what is not there: %+v", i, target)
		}
	}
}
