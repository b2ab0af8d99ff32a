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

// sickness is how a server goes wrong silently.
type sickness struct {
	name   string
	check  string // that finds it; "" = only the fingerprint does
	answer func(question string) reply
}

var sick = []sickness{
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

// patient is a server that is healthy until it is infected with one of the sick.
type patient struct {
	*peer
	sick atomic.Pointer[func(question string) reply]
}

func startPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{}
	p.peer = startPeer(t, func(w http.ResponseWriter, _ *http.Request, q *question) {
		a := reply{model: "peer", text: healthy[q.last()]}
		if answer := p.sick.Load(); answer != nil {
			a = (*answer)(q.last())
		}
		a.input, a.output = 20, q.chat.MaxTokens
		a.write(w)
	})
	return p
}

// compared waits until so many answers are the same as the baseline's, and gives the series.
func compared(t *testing.T, e exporter, same float64) scrape.Families {
	t.Helper()
	eventually(t, patience, func() error {
		if n := e.scrape(t).Sum("aiperf_output_fingerprint_total", scrape.Labels{"result": "same"}); n < same {
			return fmt.Errorf("%v answers are known to be the same", n)
		}
		return nil
	})
	return e.scrape(t)
}

func TestSilentChangesOfTheServerShowAtOnce(t *testing.T) {
	t.Parallel()
	learned := filepath.Join(t.TempDir(), "baseline.json")
	e := serve(t, fmt.Sprintf(watched, startPatient(t).url, learned))
	f := compared(t, e, 10)
	if n := f.Sum("aiperf_output_fingerprint_total", scrape.Labels{"result": "changed"}) + f.Sum("aiperf_request_errors_total", nil); n != 0 {
		t.Errorf("%v answers of a healthy server have changed or are errors", n)
	}
	if code, _ := stop(t, e); code != 0 {
		t.Fatalf("exit code %d, want 0", code)
	}
	baseline, err := os.ReadFile(learned)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(baseline), "Paris") {
		t.Error("the baseline has text in it")
	}
	for i := range sick {
		s := &sick[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := startPatient(t)
			e := serve(t, fmt.Sprintf(watched, p.url, file(t, "baseline.json", string(baseline))))
			before := compared(t, e, 3)
			if n := before.Sum("aiperf_output_fingerprint_total", scrape.Labels{"result": "unknown"}); n != 0 {
				t.Errorf("%v answers are not compared with the baseline of the process before", n)
			}
			p.sick.Store(&s.answer)
			// One answer may be on the way, then one to each of the three questions.
			p.waitFor(t, "watched", len(p.asked("watched"))+5)
			diagnose(t, s, before, e.scrape(t))
		})
	}
}

// diagnose checks what the series say of a sick server that was healthy before.
func diagnose(t *testing.T, s *sickness, before, f scrape.Families) {
	t.Helper()
	changed := f.Sum("aiperf_output_fingerprint_total", scrape.Labels{"result": "changed"}) > 0
	const hash = "aiperf_target_served_model_hash"
	renamed := s.answer("").model != "peer"
	if other := f.Sum(hash, nil) != before.Sum(hash, nil); other != renamed || changed == renamed {
		t.Errorf("answers changed: %v, the model's name changed: %v", changed, other)
	}
	failures := f.By("aiperf_answer_check_failures_total", "check", nil)
	if s.check != "" && failures[s.check] == 0 || s.check == "" && len(failures) > 0 {
		t.Errorf("failed checks %v, want %q", failures, s.check)
	}
	if errs := f.Sum("aiperf_request_errors_total", scrape.Labels{"error_class": "content_check"}); (errs > 0) != (s.check != "") {
		t.Errorf("%v errors of class content_check", errs)
	}
}
