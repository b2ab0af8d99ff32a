//go:build containers

package containers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// upstream is what the images of others bring that the Compose file does not say.
type upstream struct {
	folder   string // in .cache
	programs []string
	uid      uint32
	works    string
}

var upstreams = map[string]upstream{
	"prometheus":   {"prometheus", []string{"prometheus", "promtool"}, 65534, "/prometheus"},
	"alertmanager": {"alertmanager", []string{"alertmanager", "amtool"}, 65534, "/alertmanager"},
}

// stack is what of the Compose file runs here: each service in a container of its own, all with one loopback interface, on which they find each other
// by name.
type stack struct {
	project *types.Project
	hosts   string // the file
	network string
	debian  *image
}

// run starts a service.
func (s *stack) run(t *testing.T, name string) *container {
	t.Helper()
	service := s.project.Services[name]
	w := rig.images["static"].of(service.Command...)
	if u, foreign := upstreams[name]; foreign {
		w.files, w.folder, w.env = s.debian.files, u.works, nil
		w.args = append([]string{"/bin/" + name}, service.Command...)
		w.uid, w.gid = u.uid, u.uid
		for _, program := range u.programs {
			from, err := filepath.Abs(filepath.Join(root, ".cache", u.folder, "bin", program))
			if err != nil {
				t.Fatal(err)
			}
			w.mounts = append(w.mounts, bind(from, "/bin/"+program, "ro"))
		}
	}
	if service.ReadOnly { // then only what the file says can be written
		w.mounts = slices.DeleteFunc(w.mounts, func(m specs.Mount) bool { return m.Destination == "/tmp" })
	}
	for _, v := range service.Volumes {
		w.mounts = append(w.mounts, volume(t, &v, w.uid))
	}
	for _, text := range service.Tmpfs {
		place, options, _ := strings.Cut(text, ":")
		w.mounts = append(w.mounts, tmpfs(place, strings.Split(options, ",")...))
	}
	w.mounts = append(w.mounts, bind(s.hosts, "/etc/hosts", "ro"))
	w.memory, w.network = int64(service.MemLimit), s.network
	return start(t, w)
}

// volume is a file or folder of the repository, or one for the length of the test that its service owns.
func volume(t *testing.T, v *types.ServiceVolumeConfig, owner uint32) specs.Mount {
	t.Helper()
	if v.Type == types.VolumeTypeBind {
		return bind(v.Source, v.Target, map[bool]string{true: "ro", false: "rw"}[v.ReadOnly])
	}
	folder := t.TempDir()
	if err := os.Chown(folder, int(owner), int(owner)); err != nil {
		t.Fatal(err)
	}
	return bind(folder, v.Target, "rw")
}

// healthy waits until a service is, by the check of the Compose file.
func (s *stack) healthy(t *testing.T, name string, c *container) {
	t.Helper()
	check := s.project.Services[name].HealthCheck.Test
	if check[0] != "CMD" {
		t.Fatalf("%s: its health is asked by %q", name, check)
	}
	eventually(t, func() error {
		if out, code := c.exec(check[1:]...); code != 0 {
			return fmt.Errorf("%s: exit code %d: %s", name, code, out)
		}
		return nil
	})
}

func TestTheComposeFileRuns(t *testing.T) {
	t.Parallel()
	debian, err := rig.store.open("docker.io/library/" + argument(t, "BASE"))
	if err != nil {
		t.Fatal(err)
	}
	w := wanted{files: debian.files, args: []string{"/bin/sleep", "infinity"}, folder: "/", uid: 65534, gid: 65534, memory: 64 << 20}
	names := []string{"exporter", "alertmanager", "prometheus"}
	hosts := filepath.Join(t.TempDir(), "hosts")
	text := "127.0.0.1 localhost\n"
	for i, name := range names {
		text += "127.0.0." + strconv.Itoa(2+i) + " " + name + "\n"
	}
	if err := os.WriteFile(hosts, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &stack{project: project(t), hosts: hosts, network: start(t, w).network(t), debian: debian}
	running := map[string]*container{}
	for _, name := range names {
		running[name] = s.run(t, name)
	}
	for _, name := range names {
		s.healthy(t, name, running[name])
	}
	for name, check := range map[string][]string{
		"prometheus":   {"/bin/promtool", "check", "config", "/etc/prometheus/prometheus.yml"},
		"alertmanager": {"/bin/amtool", "check-config", "/etc/alertmanager/alertmanager.yml"},
	} {
		if out, code := running[name].exec(check...); code != 0 {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
	}
	inside := visitor(s.network)
	s.scraped(t, inside)
	s.evaluated(t, inside)
	told(t, inside)
}

// argument is the value that an argument of the Dockerfile has by itself.
func argument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\nARG "+name+"=")
	if !found {
		t.Fatalf("no argument %s", name)
	}
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// scraped waits until every target of Prometheus is up, and there are native histograms.
func (s *stack) scraped(t *testing.T, client *http.Client) {
	t.Helper()
	eventually(t, func() error {
		var answer struct {
			Data struct {
				ActiveTargets []struct {
					Labels            map[string]string
					Health, LastError string
				}
			}
		}
		if err := askJSON(t, client, "http://127.0.0.1:9090/api/v1/targets", &answer); err != nil {
			return err
		}
		up := 0
		for _, target := range answer.Data.ActiveTargets {
			if target.Health != "up" {
				return fmt.Errorf("%s is %s: %s", target.Labels["job"], target.Health, target.LastError)
			}
			up++
		}
		if up != 3 {
			return fmt.Errorf("%d targets are up, want 3", up)
		}
		var result struct{ Data struct{ Result []any } }
		if err := askJSON(t, client, "http://127.0.0.1:9090/api/v1/query?query=histogram_count(aiperf_time_to_first_token_seconds)%3E0", &result); err != nil {
			return err
		}
		if len(result.Data.Result) == 0 {
			return fmt.Errorf("no native histogram")
		}
		return nil
	})
}

// evaluated waits until every group of rules was, without a fault.
func (s *stack) evaluated(t *testing.T, client *http.Client) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "alerts", "rules", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		var answer struct {
			Data struct {
				Groups []struct {
					File, Name string
					Rules      []struct{ Name, Health, LastError string }
				}
			}
		}
		if err := askJSON(t, client, "http://127.0.0.1:9090/api/v1/rules", &answer); err != nil {
			return err
		}
		of := map[string]bool{}
		for _, g := range answer.Data.Groups {
			of[g.File] = true
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health != "ok" && g.Name == "aiperf-absence" { // some others are evaluated only now and then
					return fmt.Errorf("%s is %s", r.Name, r.Health)
				}
			}
		}
		if len(of) != len(files) {
			return fmt.Errorf("rules of %d files, want %d", len(of), len(files))
		}
		return nil
	})
}

// told waits until the alert that is always on has reached Alertmanager, by the route that is for it.
func told(t *testing.T, client *http.Client) {
	t.Helper()
	eventually(t, func() error {
		var alerts []struct {
			Labels    map[string]string
			Receivers []struct{ Name string }
		}
		if err := askJSON(t, client, "http://127.0.0.1:9093/api/v2/alerts", &alerts); err != nil {
			return err
		}
		for _, a := range alerts {
			if a.Labels["alertname"] == "AIPerfWatchdog" {
				if len(a.Receivers) != 1 || a.Receivers[0].Name != "watchdog" {
					t.Errorf("it goes to %v", a.Receivers)
				}
				return nil
			}
		}
		return fmt.Errorf("the watchdog is not among %d alerts", len(alerts))
	})
}
