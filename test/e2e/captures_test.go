//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// faulty are targets of a server that has one fault for each.
const faulty = `
workloads: {short: {input_tokens: 16, output_tokens: 8}}
loads: {quick: {mode: constant, rate: 2, max_in_flight: 10, backoff: {mode: "off"}}}
slos: {hard: {time_to_first_token: 20ms}}
defaults: {url: %q, model: peer, endpoint: {type: chat}, workload: short, load: quick, timeouts: {first_token: 20s, idle: 5s, total: 40s}}
debug: {capture: {enabled: %v, max_streams: 10000}}
targets:
  - {name: refused}
  - {name: cut}
  - {name: broken}
  - {name: silent}
  - {name: told}
  - {name: late, slo: [hard]}
`

// fault answers with the one of the target.
func fault(w http.ResponseWriter, r *http.Request, q *question) {
	a := reply{model: "peer", text: strings.Repeat("word ", 8), input: 16, output: 8}
	half := func() {
		a.open(w)
		a.chunk(w, "word word ", "null")
	}
	switch q.target {
	case "refused":
		refuse(w, http.StatusBadGateway)
	case "cut":
		half()
		panic(http.ErrAbortHandler)
	case "broken":
		half()
		fmt.Fprint(w, "data: {\"choices\": [\n\n")
	case "silent":
		half()
		<-r.Context().Done()
	case "told":
		half()
		fmt.Fprint(w, `data: {"error":{"message":"out of memory","type":"engine"}}`+"\n\n")
	default:
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
		}
		a.write(w)
	}
}

// captured is an entry of the list.
type captured struct {
	ID, Target, Class, Outcome, Reason string
}

// incidents lists what was captured, at least one of each target.
func (e exporter) incidents(t *testing.T, targets ...string) map[string]captured {
	t.Helper()
	out := map[string]captured{}
	eventually(t, patience, func() error {
		var answer struct {
			Data []struct {
				ID      string `json:"id"`
				Target  string `json:"target"`
				Class   string `json:"error_class"`
				Outcome string `json:"outcome"`
				Reason  string `json:"reason"`
			} `json:"data"`
		}
		got := fetched(t, http.MethodGet, e.url+"/api/v1/captures", nil)
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
			t.Fatalf("status %d: %v in %s", got.status, err, got.body)
		}
		for _, c := range answer.Data {
			out[c.Target] = captured(c)
		}
		for _, target := range targets {
			if out[target].ID == "" {
				return fmt.Errorf("nothing of %s among %s", target, got.body)
			}
		}
		return nil
	})
	return out
}

// remeasured is what one request was: its class, "" = it succeeded, and its tokens.
type remeasured struct {
	class  string
	output float64
}

// replayedAs has a capture replayed, and measures that as replay tells it.
func replayedAs(t *testing.T, capture string) remeasured {
	t.Helper()
	p := process.ForTest(t, nil, binary, "replay", capture)
	if _, err := p.Find(process.Within(t, patience), regexp.MustCompile(`(?m)^( {4}endpoint: .*)$`)); err != nil {
		t.Fatal(err)
	}
	config := p.Output() + "    timeouts: {first_token: 20s, idle: 5s, total: 40s}\n    slo: [hard]\nslos: {hard: {time_to_first_token: 20ms}}\n"
	out := t.TempDir()
	_, err := exec.CommandContext(process.Within(t, patience), binary, "run", "--config.file="+file(t, "replay.yml", config), "--records", "--out="+out).Output()
	lines, readErr := os.ReadFile(filepath.Join(out, "profile_export.jsonl"))
	if readErr != nil {
		t.Fatalf("%v, %v", err, readErr)
	}
	var row struct {
		Error *struct {
			Type string `json:"type"`
		} `json:"error"`
		Metrics struct {
			Output struct {
				Value float64 `json:"value"`
			} `json:"output_sequence_length"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(lines, &row); err != nil {
		t.Fatalf("%v in %s", err, lines)
	}
	m := remeasured{output: row.Metrics.Output.Value}
	if row.Error != nil {
		m.class = row.Error.Type
	}
	return m
}

func TestAnIncidentIsCapturedAndReplayed(t *testing.T) {
	t.Parallel()
	p := startPeer(t, fault)
	e := serve(t, fmt.Sprintf(faulty, p.url, true), "--web.enable-admin-api")
	classes := map[string]string{"refused": "http_5xx", "cut": "truncated", "broken": "parse", "silent": "timeout_idle", "told": "stream_error", "late": ""}
	var targets []string
	for target := range classes {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	list := e.incidents(t, targets...)
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			c := list[target]
			reason := map[bool]string{true: "failed", false: "slow"}[classes[target] != ""]
			if c.Class != classes[target] || c.Reason != reason {
				t.Errorf("listed as %+v, want %s of class %q", c, reason, classes[target])
			}
			got := fetched(t, http.MethodGet, e.url+"/api/v1/captures/"+c.ID, nil)
			if got.status != http.StatusOK || !strings.Contains(got.header.Get("Content-Disposition"), c.ID+".jsonl") {
				t.Fatalf("download of %s: status %d, %s", c.ID, got.status, got.body)
			}
			first, _, _ := strings.Cut(got.body, "\n")
			var kept struct {
				Class    string `json:"error_class"`
				Measured struct {
					Output float64 `json:"output_tokens"`
				} `json:"measured"`
			}
			if err := json.Unmarshal([]byte(first), &kept); err != nil {
				t.Fatal(err)
			}
			want := remeasured{kept.Class, kept.Measured.Output}
			if want.class != classes[target] {
				t.Errorf("the file tells of class %q, want %q", want.class, classes[target])
			}
			replayed := replayedAs(t, file(t, "capture.jsonl", got.body))
			if replayed.class != want.class || want.class == "" && (want.output != 8 || replayed.output != 8) {
				t.Errorf("replayed as %+v, was %+v", replayed, want)
			}
		})
	}
}

func TestCapturesAreForThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	p := startPeer(t, fault)
	for name, test := range map[string]struct {
		enabled bool
		flags   []string
		want    int
	}{
		"nobody may":              {true, nil, http.StatusNotFound},
		"nothing is captured":     {false, []string{"--web.enable-admin-api"}, http.StatusOK},
		"it is captured, and may": {true, []string{"--web.enable-admin-api"}, http.StatusOK},
	} {
		e := serve(t, fmt.Sprintf(faulty, p.url, test.enabled), test.flags...)
		p.waitFor(t, "refused", len(p.asked("refused"))+3)
		got := fetched(t, http.MethodGet, e.url+"/api/v1/captures", nil)
		if got.status != test.want {
			t.Errorf("%s: status %d %s, want %d", name, got.status, got.body, test.want)
		}
		if !test.enabled && !strings.Contains(got.body, `"data":[]`) {
			t.Errorf("%s: %s", name, got.body)
		}
		if test.want == http.StatusNotFound {
			if got := fetched(t, http.MethodGet, e.url+"/api/v1/captures/anything", nil); got.status != http.StatusNotFound {
				t.Errorf("%s: status %d %s", name, got.status, got.body)
			}
			if page := fetched(t, http.MethodGet, e.url+"/targets/refused", nil); strings.Contains(page.body, "/captures/") {
				t.Errorf("%s: the page offers one", name)
			}
		}
	}
}
