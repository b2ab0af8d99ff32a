package chart

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// program runs one and gives what it wrote, and whether all was well.
func program(t *testing.T, name string, args ...string) (output string, ok bool) {
	t.Helper()
	output, code := exitCode(t, name, args...)
	return output, code == 0
}

func exitCode(t *testing.T, name string, args ...string) (output string, code int) {
	t.Helper()
	if _, err := os.Stat(name); err != nil {
		t.Fatalf("%v (run this by make chart)", err)
	}
	command := exec.CommandContext(t.Context(), name, args...)
	out, err := command.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheExporterTakesEveryConfiguration(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, name, values string) {
		t.Helper()
		found := configurations(t, render(t, values))
		if (len(found) == 0) != (name == "existing") {
			t.Fatalf("there are %d configurations", len(found))
		}
		for object, text := range found {
			out, ok := program(t, exporter, "check", "config", "--format=json", file(t, "aiperf-exporter.yml", text))
			var result struct {
				OK bool `json:"ok"`
			}
			if err := json.Unmarshal([]byte(out), &result); err != nil || !ok || !result.OK {
				t.Errorf("%s: %s\n%s", object, out, text)
			}
		}
	})
}

// With the arguments of the pods, and a shard's index as Kubernetes puts it there, the program gets as far as to miss its configuration.
func TestTheExporterTakesEveryArgument(t *testing.T) {
	t.Parallel()
	forEachSet(t, func(t *testing.T, _, values string) {
		t.Helper()
		nowhere := t.TempDir()
		for _, p := range pods(t, render(t, values)) {
			if p.owner == "Pod" {
				continue
			}
			args := slices.Clone(p.spec.Containers[0].Args)
			for i := range args {
				args[i] = strings.NewReplacer("$(POD_INDEX)", "3", "/etc/aiperf-exporter", nowhere).Replace(args[i])
				if strings.Contains(args[i], "$(") {
					t.Errorf("%s: nothing is put into %s", p.owner, args[i])
				}
			}
			out, ok := program(t, exporter, args...)
			if ok || !strings.Contains(out, nowhere+"/aiperf-exporter.yml: cannot be read: no such file") {
				t.Errorf("%s: %q: %s", p.owner, args, out)
			}
		}
	})
}

// Probes and `helm test` ask where nobody is here: that is exit code 1, and a mistake on the command line would be 2.
func TestTheExporterTakesEveryQuestionAfterItsHealth(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, values := range everySet(t) {
		for _, p := range pods(t, render(t, values)) {
			var commands [][]string
			if c := p.spec.Containers[0]; p.owner == "Pod" {
				commands = [][]string{c.Args}
			} else {
				for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
					if probe.Exec != nil {
						commands = append(commands, probe.Exec.Command[1:])
					}
				}
			}
			for _, args := range commands {
				for i := range args {
					args[i] = strings.NewReplacer("//aiperf-exporter:9749", "//127.0.0.1:1", "//localhost:9749", "//127.0.0.1:1").Replace(args[i])
				}
				if out, code := exitCode(t, exporter, args...); code != 1 {
					t.Errorf("%s: %q: %d: %s", p.owner, args, code, out)
				}
				asked++
			}
		}
	}
	if asked < 5 {
		t.Errorf("there are %d questions", asked)
	}
}

func TestTheExporterTakesTheWebConfiguration(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	key := []string{"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a", "-keyout", folder + "/tls.key", "-out", folder + "/tls.crt"}
	if out, err := exec.CommandContext(t.Context(), "openssl", key...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	objects := render(t, "webConfig: {tlsSecret: canary-tls}")
	web := find(t, objects, "ConfigMap", "aiperf-exporter-web")
	data := typed(t, &web).(*core.ConfigMap).Data
	text := strings.ReplaceAll(data["web-config.yml"], "/etc/aiperf-exporter/tls", folder)
	if out, ok := program(t, exporter, "check", "web-config", file(t, "web-config.yml", text)); !ok {
		t.Errorf("%s\n%s", out, text)
	}
}

func TestPromtoolTakesTheRulesOfThePrometheusRule(t *testing.T) {
	t.Parallel()
	for _, values := range []string{"{prometheusRule: {enabled: true}, nameOverride: canary}", everySet(t)["monitoring"]} {
		rule := all[*monitoring.PrometheusRule](t, render(t, values))[0]
		text, err := yaml.Marshal(rule.Spec)
		if err != nil {
			t.Fatal(err)
		}
		out, ok := program(t, promtool, "check", "rules", "--lint=duplicate-rules", "--lint-fatal", file(t, "rules.yml", string(text)))
		if !ok || strings.Contains(string(text), `job="aiperf-exporter"`) {
			t.Errorf("%s\n%s", out, text)
		}
	}
}

func everySet(t *testing.T) map[string]string {
	t.Helper()
	sets, err := Values(root)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}
