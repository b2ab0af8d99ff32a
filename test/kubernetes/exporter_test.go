//go:build kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// file writes content into a file of the test's own.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually waits until condition holds.
func eventually(t *testing.T, d time.Duration, condition func() error) {
	t.Helper()
	if err := process.Until(process.Within(t, d), condition); err != nil {
		t.Fatal(err)
	}
}

// listening is what the truth server writes first.
var listening = regexp.MustCompile(`(?m)^(127\.\d+\.\d+\.\d+:\d+)$`)

// replica is a model server: the process behind a pod.
type replica struct{ ip, port string }

// replicas are n of them, which have the same port and each an address.
func replicas(t *testing.T, n int) []replica {
	t.Helper()
	a, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(a, ":")
	out := make([]replica, n)
	for i := range out {
		out[i] = replica{fmt.Sprintf("127.0.0.%d", 2+i), port}
		p := process.ForTest(t, nil, rig.truthServer, "-listen="+out[i].address(), "-ttft=2ms", "-itl=1ms")
		if _, err := p.Find(process.Within(t, patience), listening); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (r replica) address() string { return r.ip + ":" + r.port }

// truth is what a server knows; see its own documentation.
type truth struct {
	Requests int   `json:"requests"`
	First    int64 `json:"first_arrival_ns"`
}

func (r replica) truth(t *testing.T) truth {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), "http://"+r.address()+"/truth", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var known truth
	if err := json.Unmarshal(body, &known); err != nil {
		t.Fatal(err)
	}
	return known
}

// base is what all configurations have: each target gets twenty requests per second.
const base = `
collectors: {server: {interval: 1s}, gpu: {source: "off"}}
workloads: {short: {input_tokens: 8, output_tokens: 4}}
loads: {steady: {mode: constant, rate: 20}}
metrics: {extra_labels: [site]}
defaults: {model: truth, endpoint: {type: chat}, workload: short, load: steady}
`

// exporter is a running daemon.
type exporter struct {
	*process.Process
	url string
}

// serve starts the daemon with a configuration, by way of another program if one is given, and waits until it is ready.
func serve(t *testing.T, config string, by ...string) exporter {
	t.Helper()
	a, err := process.FreeAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	command := append(slices.Clone(by), binary, "serve", "--config.file="+file(t, "aiperf-exporter.yml", base+config), "--web.listen-address="+a)
	e := exporter{process.ForTest(t, nil, command[0], command[1:]...), "http://" + a}
	if err := e.Ready(process.Within(t, patience), e.url+"/-/ready"); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e exporter) scrape(t *testing.T) scrape.Families {
	t.Helper()
	families, err := scrape.Get(process.Within(t, patience), e.url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// targets are the names of those that there are.
func targets(f scrape.Families) []string {
	return slices.Sorted(maps.Keys(f.By("aiperf_target_info", "target", nil)))
}

// await waits until the exporter has exactly these targets, and tells how long that took.
func (e exporter) await(t *testing.T, want ...string) time.Duration {
	t.Helper()
	start := time.Now()
	eventually(t, 2*patience, func() error {
		if diff := cmp.Diff(want, targets(e.scrape(t))); diff != "" {
			return fmt.Errorf("targets (-want +got):\n%s", diff)
		}
		return nil
	})
	return time.Since(start)
}

// sends waits until a target has been answered n requests more.
func (e exporter) sends(t *testing.T, target string, n float64) {
	t.Helper()
	answered := func() float64 {
		return e.scrape(t).Sum("aiperf_requests_total", scrape.Labels{"target": target, "outcome": "success"})
	}
	start := answered()
	eventually(t, patience, func() error {
		if now := answered(); now < start+n {
			return fmt.Errorf("%s was answered %v requests, %v before", target, now, start)
		}
		return nil
	})
}

// of counts the families that have a series of a target.
func of(f scrape.Families, target string) (n int) {
	for name := range f {
		if len(f.Series(name, scrape.Labels{"target": target})) > 0 {
			n++
		}
	}
	return n
}

// set is what the API tells of a set.
type set struct {
	Name    string   `json:"name"`
	Targets []string `json:"targets"`
	Error   string   `json:"last_error"`
}

func (e exporter) set(t *testing.T, name string) set {
	t.Helper()
	body, err := scrape.Bytes(process.Within(t, patience), e.url+"/api/v1/discovery", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data []set `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(answer.Data, func(s set) bool { return s.Name == name })
	if at < 0 {
		t.Fatalf("no set %s in %s", name, body)
	}
	return answer.Data[at]
}
