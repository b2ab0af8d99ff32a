package demo

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

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
