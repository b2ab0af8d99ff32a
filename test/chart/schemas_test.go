package chart

import (
	"regexp"
	"strings"
	"testing"
)

// foreign are kinds that are not Kubernetes' own.
var foreign = regexp.MustCompile(`^WARN \S+ Couldn't find schema for kind (ServiceMonitor|PodMonitor|PodMonitoring|Probe|PrometheusRule|VerticalPodAutoscaler) `)

// The schemas know which fields must be there, which the types do not. The oldest version is that of Chart.yaml.
func TestEveryObjectFitsTheSchemasOfTheOldestAndTheNewestKubernetes(t *testing.T) {
	t.Parallel()
	oldest := regexp.MustCompile(`^>=(\d+\.\d+)\.0-0$`).FindStringSubmatch(load(t).Metadata.KubeVersion)
	if oldest == nil {
		t.Fatalf("it is for Kubernetes %s", load(t).Metadata.KubeVersion)
	}
	forEachSet(t, func(t *testing.T, name, values string) {
		t.Helper()
		text := file(t, name+".yaml", Texts(render(t, values)))
		for _, version := range []string{oldest[1], "1.37"} {
			if name == "everything" && version == oldest[1] {
				continue // it has fields of a user that came later
			}
			out, ok := program(t, validate, "--strict", "--kubernetes-version="+version, text)
			for line := range strings.Lines(out) {
				if !strings.HasPrefix(line, "INFO ") && !foreign.MatchString(line) {
					t.Error(line)
				}
			}
			if !ok || !strings.Contains(out, "INFO ") {
				t.Errorf("for Kubernetes %s: %s", version, out)
			}
		}
	})
}
