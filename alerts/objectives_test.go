package alerts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/aiperf-exporter/aiperf-exporter/alerts"
)

var objectives = []alerts.Objective{
	{Target: "Llama 3: prod", SLO: "fast", Share: 0.95, Window: 30 * 24 * time.Hour},
	{Target: "Llama 3: prod", SLO: "available", Share: 0.999, Window: 7 * 24 * time.Hour},
	{Target: "vendor", SLO: "available", Share: 0.999, Window: 30 * 24 * time.Hour},
}

func TestPyrraGetsAnObjectForEachObjective(t *testing.T) {
	t.Parallel()
	type object struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Target, Window string
			Indicator      struct {
				Ratio struct{ Errors, Total struct{ Metric string } }
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(alerts.Pyrra(alerts.DefaultSite(), objectives)))
	var got []string
	for range objectives {
		var o object
		if err := decoder.Decode(&o); err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Kind+" "+o.Metadata.Name+" "+o.Spec.Target+" "+o.Spec.Window)
		exists := known()
		for _, metric := range []string{o.Spec.Indicator.Ratio.Errors.Metric, o.Spec.Indicator.Ratio.Total.Metric} {
			for _, name := range reads(t, metric) {
				if !exists[name] {
					t.Errorf("there is no series %s", name)
				}
			}
		}
	}
	want := []string{
		"ServiceLevelObjective llama-3-prod-fast 95 30d", "ServiceLevelObjective llama-3-prod-available 99.9 1w", "ServiceLevelObjective vendor-available 99.9 30d",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSlothGetsAServiceForEachTarget(t *testing.T) {
	t.Parallel()
	type service struct {
		Version, Service string
		SLOs             []struct {
			Name      string
			Objective float64
			SLI       struct {
				Events struct {
					Error string `yaml:"error_query"`
					Total string `yaml:"total_query"`
				}
			}
			Alerting struct {
				Name string
				Page struct{ Labels map[string]string } `yaml:"page_alert"`
			}
		}
	}
	site := alerts.DefaultSite()
	site.Severities = map[string]string{"page": "critical"}
	decoder := yaml.NewDecoder(strings.NewReader(alerts.Sloth(site, objectives)))
	var got []string
	for range 2 {
		var s service
		if err := decoder.Decode(&s); err != nil {
			t.Fatal(err)
		}
		for _, slo := range s.SLOs {
			got = append(got, s.Service+" "+slo.Name)
			if slo.Objective < 95 || slo.Alerting.Page.Labels["severity"] != "critical" {
				t.Errorf("%+v", slo)
			}
			for _, query := range []string{slo.SLI.Events.Error, slo.SLI.Events.Total} {
				reads(t, strings.ReplaceAll(query, "{{.window}}", "5m"))
				if !strings.Contains(query, `target="`+s.Service+`", slo="`+slo.Name+`"`) {
					t.Errorf("%s asks for something else", query)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"Llama 3: prod fast", "Llama 3: prod available", "vendor available"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
