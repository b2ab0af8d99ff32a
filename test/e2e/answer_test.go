//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// watched are fixed questions whose answers are checked and compared: URL, baseline.
const watched = `
workloads:
  fixed:
    prompts: ["What is the capital of France?", "Count from one to five.", "Name a colour."]
    output_tokens: 32
    cache: repeat
    extra: {temperature: 0}
loads:
  serial: {mode: closed, min_interval: 20ms}
targets:
  - name: watched
    url: %q
    model: peer
    endpoint: {type: chat}
    workload: fixed
    load: serial
    expect: [{no_garbage: true, no_repetition: true}, {regex: "Paris|three|blue"}]
    fingerprint: {enabled: true, baseline_file: %q, min_prefix: 1}
`

// healthy answers by the question.
var healthy = map[string]string{
	"What is the capital of France?": "The capital of France is Paris, on the river Seine, since the tenth century.",
	"Count from one to five.":        "one, two, three, four, five, and that is all there is to it.",
	"Name a colour.":                 "The sky has a colour that most people like: blue, as it is on a clear day.",
}

// sick are servers that went wrong silently, with the checks that find them; "" = only the fingerprint does.
var sick = []struct {
	name, check string
	answer      func(question string) reply
}{
	{"weights that only say !", "no_garbage", func(string) reply { return reply{model: "peer", text: strings.Repeat("!", 80)} }},
	{"a loop", "no_repetition", func(string) reply { return reply{model: "peer", text: strings.Repeat("Paris three blue ", 30)} }},
	{"another model of the same name", "regex", func(string) reply {
		return reply{model: "peer", text: "Berlin is a town with four lakes and a red house."}
	}},
	{"a lower precision", "", func(q string) reply {
		return reply{model: "peer", text: strings.Replace(healthy[q], " is ", " was ", 1)}
	}},
	{"a model that says its name", "", func(q string) reply { return reply{model: "peer-v2", text: healthy[q]} }},
}

func TestSilentChangesOfTheServerShowAtOnce(t *testing.T) {
	t.Parallel()
	var state atomic.Int64 // which of the sick, -1 = healthy
	state.Store(-1)
	p := startPeer(t, func(w http.ResponseWriter, _ *http.Request, q *question) {
		a := reply{model: "peer", text: healthy[q.last()]}
		if i := state.Load(); i >= 0 {
			a = sick[i].answer(q.last())
		}
		a.input, a.output = 20, q.chat.MaxTokens
		a.write(w)
	})
	baseline := filepath.Join(t.TempDir(), "baseline.json")
	config := fmt.Sprintf(watched, p.url, baseline)
	e := serve(t, config)
	eventually(t, patience, func() error {
		if n := e.scrape(t).Sum("aiperf_output_fingerprint_total", scrape.Labels{"result": "same"}); n < 10 {
			return fmt.Errorf("%v answers are known to be the same", n)
		}
		return nil
	})
	f := e.scrape(t)
	if n := f.Sum("aiperf_output_fingerprint_total", scrape.Labels{"result": "changed"}) + f.Sum("aiperf_request_errors_total", nil); n != 0 {
		t.Errorf("%v answers of a healthy server have changed or are errors", n)
	}
	if code, _ := stop(t, e); code != 0 {
		t.Fatalf("exit code %d, want 0", code)
	}
	if content, err := os.ReadFile(baseline); err != nil || strings.Contains(string(content), "Paris") {
		t.Fatalf("the baseline is not there or has text in it: %v", err)
	}
	for i := range sick {
		t.Run(sick[i].name, func(t *testing.T) {
			found(t, p, config, int64(i), &state)
		})
	}
}

// found checks that a daemon that starts from the baseline finds out about a change with the first answers to each question.
func found(t *testing.T, p *peer, config string, which int64, state *atomic.Int64) {
	t.Helper()
	state.Store(-1)
	e := serve(t, config)
	fingerprints := func(f scrape.Families) map[string]float64 {
		return f.By("aiperf_output_fingerprint_total", "result", nil)
	}
	eventually(t, patience, func() error {
		if n := fingerprints(e.scrape(t))["same"]; n < 3 {
			return fmt.Errorf("%v answers are the same", n)
		}
		return nil
	})
	before := e.scrape(t)
	if n := fingerprints(before)["unknown"]; n != 0 {
		t.Errorf("%v answers are not compared with the baseline of the process before", n)
	}
	state.Store(which)
	// One answer may be on the way, then one to each of the three questions.
	sofar := len(p.asked("watched"))
	p.waitFor(t, "watched", sofar+5)
	f := e.scrape(t)
	changed, hash := fingerprints(f)["changed"], f.Sum("aiperf_target_served_model_hash", nil) != before.Sum("aiperf_target_served_model_hash", nil)
	renamed := sick[which].answer("").model != "peer"
	if hash != renamed || (changed > 0) == renamed {
		t.Errorf("%v answers changed and the name of the model changed: %v", changed, hash)
	}
	failures := f.By("aiperf_answer_check_failures_total", "check", nil)
	if check := sick[which].check; check != "" && failures[check] == 0 || check == "" && len(failures) > 0 {
		t.Errorf("failed checks %v, want %q", failures, check)
	}
	if errs := f.Sum("aiperf_request_errors_total", scrape.Labels{"error_class": "content_check"}); (errs > 0) != (sick[which].check != "") {
		t.Errorf("%v errors of class content_check", errs)
	}
	if code, err := shutdown(t, e); code != 0 || err != nil {
		t.Error(code, err)
	}
}

// shutdown ends the daemon, which gives the baseline free.
func shutdown(t *testing.T, e exporter) (int, error) {
	t.Helper()
	if err := e.Terminate(); err != nil {
		return 0, err
	}
	return e.Wait(process.Within(t, patience))
}
