//go:build kubernetes

package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

const page = "../../docs/kubernetes.md"

// unstarted are commands that need a pod that runs, which no pod does here.
var unstarted = []string{"helm test ", "kubectl --namespace monitoring port-forward "}

// expected is what a reader sees after the commands of a section: what a command prints.
var expected = map[string]struct{ command, prints string }{
	"Helm": {
		"kubectl --namespace monitoring get deployment,service,configmap --selector app.kubernetes.io/instance=canary --output name",
		"deployment.apps/canary-aiperf-exporter\nservice/canary-aiperf-exporter\nconfigmap/canary-aiperf-exporter\n",
	},
	"Kustomize": {
		"kubectl --namespace monitoring get configmap aiperf-exporter --output 'jsonpath={.data.aiperf-exporter\\.yml}' | grep -o vllm.llm.svc; " +
			"kubectl --namespace aiperf-exporter get servicemonitor,prometheusrule --output name",
		"vllm.llm.svc\nservicemonitor.monitoring.coreos.com/aiperf-exporter\nprometheusrule.monitoring.coreos.com/aiperf-exporter\n",
	},
	"Secrets": {"kubectl --namespace monitoring get secret llm-keys --output 'jsonpath={.data.vendor}'", "a2V5"},
	"TLS and passwords": {
		"kubectl --namespace monitoring get secret canary-web --output 'go-template={{range $k, $v := .data}}{{$k}} {{end}}'",
		"client.yml probe-password web-config.yml ",
	},
	"Changing the configuration": {
		"kubectl --namespace monitoring get configmap canary-aiperf-exporter --output 'jsonpath={.data.aiperf-exporter\\.yml}' | grep -c changed; " +
			"kubectl --namespace monitoring get deployment canary-aiperf-exporter --output yaml | grep -c restartedAt",
		"1\n1\n",
	},
	"Upgrade": {"helm list --namespace monitoring --output json | grep -o 'aiperf-exporter-[0-9.]*\\|deployed'", "deployed\naiperf-exporter-0.2.0\n"},
	"Uninstall": {
		"kubectl --namespace monitoring get deployment,service,configmap,secret,persistentvolumeclaim --selector app.kubernetes.io/instance=canary --output name",
		"",
	},
}

// given is what a reader has: a checkout, keys, a change of the configuration, a later release.
var given = map[string]string{
	"Secrets":                    "printf key >vendor.key",
	"TLS and passwords":          "printf secret >probe-password; echo '{}' >web-config.yml",
	"Changing the configuration": "sed -i 's/name: prod/name: changed/' aiperf-exporter.yml",
	"Upgrade":                    "helm package --version 0.2.0 deploy/helm/aiperf-exporter",
}

var fenced = regexp.MustCompile("(?ms)^```(console|yaml)\n(.*?)^```$")

// What the page says, a reader types: with the real helm and kubectl, at the real API server.
func TestThePageIsFollowedWithHelmAndKubectl(t *testing.T) {
	t.Parallel()
	prepare(t)
	reader := newReader(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	followed := map[string]bool{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		for _, block := range fenced.FindAllStringSubmatch(body, -1) {
			switch {
			case block[1] == "console":
				if !followed[name] && given[name] != "" {
					reader.types(t, given[name])
				}
				followed[name] = true
				reader.types(t, possible(block[2]))
			case name == "Helm":
				reader.types(t, "cat >aiperf-exporter.yml <<'END OF THE FILE'\n"+block[2]+"END OF THE FILE")
			}
		}
		if !followed[name] {
			continue
		}
		if want, known := expected[name]; !known {
			t.Errorf("## %s: has commands, and nobody says what they lead to", name)
		} else if got := reader.types(t, want.command); got != want.prints {
			t.Errorf("## %s: got\n%s\nwant\n%s", name, got, want.prints)
		}
	}
	for name := range expected {
		if !followed[name] {
			t.Errorf("## %s: has no commands any more", name)
		}
	}
}

// possible leaves out what needs a pod that runs, and takes the repository from this disk.
func possible(commands string) string {
	lines := strings.SplitAfter(commands, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc(unstarted, func(start string) bool { return strings.HasPrefix(line, start) })
	})
	return strings.ReplaceAll(strings.Join(lines, ""), "github.com/aiperf-exporter/aiperf-exporter//", "./")
}

// reader is somebody with a checkout, a cluster, and its programs.
type reader struct{ dir, path string }

func newReader(t *testing.T) reader {
	t.Helper()
	r := reader{dir: t.TempDir(), path: t.TempDir()}
	if err := os.CopyFS(filepath.Join(r.dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"aiperf-exporter": binary, "helm": installed + "/bin/helm", "kubectl": installed + "/bin/kubectl"} {
		target, err := filepath.Abs(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(r.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// types runs commands as if they were typed, and gives what they print. None may fail, and none may be warned of.
func (r reader) types(t *testing.T, commands string) string {
	t.Helper()
	shell := exec.CommandContext(process.Within(t, patience), "bash", "-euc", commands)
	shell.Dir = r.dir
	shell.Env = append(os.Environ(), "KUBECONFIG="+rig.cluster.kubeconfig(), "PATH="+r.path+":"+os.Getenv("PATH"), "HELM_CACHE_HOME="+t.TempDir(),
		"HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir(), "HOME="+r.dir)
	var complaints strings.Builder
	shell.Stderr = &complaints
	printed, err := shell.Output()
	t.Logf("%s\n%s%s", commands, printed, &complaints)
	if err != nil {
		t.Errorf("%v\n%s\n%s%s", err, commands, printed, &complaints)
	}
	if strings.Contains(strings.ToLower(complaints.String()), "warning") {
		t.Errorf("a warning:\n%s\n%s", commands, &complaints)
	}
	return string(printed)
}
