//go:build containers

package containers

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// healthy asks a container for its health as its engine does.
func (c *container) healthy(i *image) error {
	if out, code := c.exec(i.Config.Healthcheck.Test[1:]...); code != 0 {
		return fmt.Errorf("health check: exit code %d: %s", code, out)
	}
	return nil
}

// shows waits until a page of metrics has a line.
func shows(t *testing.T, client *http.Client, url, pattern string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + pattern)
	eventually(t, func() error {
		page, err := ask(t, client, url)
		if err == nil && !line.MatchString(page) {
			err = fmt.Errorf("no %s on %s", pattern, url)
		}
		return err
	})
}

const answered = `aiperf_requests_total\{[^}]*outcome="success"[^}]*target="%s"[^}]*\} [1-9]`

func TestTheDaemonRunsWithoutRights(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, i *image) {
		c := start(t, i.of("demo"))
		inside := visitor(c.network(t))
		eventually(t, func() error { return c.healthy(i) })
		if out, code := c.exec("/usr/bin/aiperf-exporter", "check", "health", "--ready"); code != 0 {
			t.Errorf("not ready: exit code %d: %s", code, out)
		}
		shows(t, inside, "http://127.0.0.1:9749/metrics", fmt.Sprintf(answered, "steady"))

		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid(t)))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"Uid:\t65532\t65532\t65532\t65532\n", "Gid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n",
			"NoNewPrivs:\t1\n", "Seccomp:\t2\n",
		} {
			if !strings.Contains(string(state), want) {
				t.Errorf("no %q in\n%s", want, state)
			}
		}
		if code := c.terminate(t); code != 0 {
			t.Errorf("it ends with exit code %d", code)
		}
	})
}

func TestAContainerWithoutADaemonIsNotHealthy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, i *image) {
		w := i.of()
		w.args = i.Config.Healthcheck.Test[1:]
		c := start(t, w)
		if code := c.wait(t); code != 1 || !strings.Contains(c.out.String(), "refused") {
			t.Errorf("exit code %d: %s", code, c.out.String())
		}
	})
}

// configured mounts a configuration where an image looks for it.
func configured(t *testing.T, w wanted, config string) wanted {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "aiperf-exporter.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	for at := folder; at != "/tmp" && at != "/"; at = filepath.Dir(at) { // the user of the image has to get there
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.mounts = append(w.mounts, bind(folder, "/etc/aiperf-exporter", "ro"))
	return w
}

// A configuration, budgets that survive, and a server of somebody else's.
func TestAConfigurationIsServed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, i *image) {
		server := start(t, i.of("demo"))
		network := server.network(t)
		var url string
		eventually(t, func() error {
			m := regexp.MustCompile(`server +(http://127\.0\.0\.1:\d+)/metrics`).FindStringSubmatch(server.out.String())
			if m == nil {
				return errors.New("the demo has not said where its server is")
			}
			url = m[1]
			return nil
		})
		w := configured(t, i.of("--web.listen-address=:9750", "--budget.state-file=/var/lib/aiperf-exporter/budget.json"), fmt.Sprintf(`
workloads: {short: {input_tokens: 16, output_tokens: 8}}
loads: {quick: {mode: constant, rate: 5, schedule: [{name: backup, from: "23:30", to: "23:31", tz: Europe/Berlin, multiplier: 0.5}]}}
targets: [{name: mine, url: %q, model: demo-steady-8b, endpoint: {type: chat}, workload: short, load: quick, budget: {requests_per_day: 100000}}]
`, url))
		w.network = network
		w.mounts = append(w.mounts, tmpfs("/var/lib/aiperf-exporter", "mode=750", "uid=65532", "gid=65532"))
		c := start(t, w)
		shows(t, visitor(network), "http://127.0.0.1:9750/metrics", fmt.Sprintf(answered, "mine"))
		if out, code := c.exec("/usr/bin/aiperf-exporter", "check", "health", "--url=http://127.0.0.1:9750"); code != 0 {
			t.Errorf("health: exit code %d: %s", code, out)
		}
		if code := c.terminate(t); code != 0 {
			t.Errorf("it ends with exit code %d", code)
		}
	})
}

const graphics = `
collectors: {server: {enabled: false}, gpu: {source: nvml, nvml: {interval: 1s}}}
`

// The runtime of NVIDIA lays the library of the driver beside the other libraries of the container.
func TestGPUsAreReadByTheLibraryThatTheRuntimeBrings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if out, err := exec.Command(filepath.Join(root, "test", "nvmlstub", "build.sh"), folder).CombinedOutput(); err != nil {
		t.Fatalf("compile the driver: %v\n%s", err, out)
	}
	for at := folder; at != "/tmp" && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	machine, err := exec.Command("gcc", "-print-multiarch").Output()
	if err != nil {
		t.Fatal(err)
	}
	i := rig.images["nvml"]
	w := configured(t, i.of(), graphics)
	const library = "libnvidia-ml.so.1"
	w.mounts = append(w.mounts, bind(filepath.Join(folder, library), "/usr/lib/"+strings.TrimSpace(string(machine))+"/"+library, "ro"))
	c := start(t, w)
	inside := visitor(c.network(t))
	shows(t, inside, "http://127.0.0.1:9749/metrics", `aiperf_gpu_collector_state\{[^}]*source="nvml"[^}]*state="ok"[^}]*\} 1`)
	shows(t, inside, "http://127.0.0.1:9749/metrics", `aiperf_gpu_power_watts\{`)
}

func TestWithoutADriverTheDaemonRunsAndSaysWhy(t *testing.T) {
	t.Parallel()
	for target, state := range map[string]string{"nvml": "library_not_found", "static": "unsupported_build"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			i := rig.images[target]
			c := start(t, configured(t, i.of(), graphics))
			eventually(t, func() error { return c.healthy(i) })
			shows(t, visitor(c.network(t)), "http://127.0.0.1:9749/metrics", fmt.Sprintf(`aiperf_gpu_collector_state\{[^}]*source="nvml"[^}]*state=%q[^}]*\} 1`, state))
		})
	}
}
