//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
)

// canaries differ in nothing but what a prefix cache may answer. They ask one after the other, so that their requests have an order.
const canaries = `
workloads:
  bust: {input_tokens: 100, output_tokens: 2, prefix: {shared_tokens: 100}, cache: bust}
  shared: {input_tokens: 100, output_tokens: 2, prefix: {shared_tokens: 100}, cache: shared_prefix}
  repeat: {input_tokens: 100, output_tokens: 2, prefix: {shared_tokens: 100}, cache: repeat}
loads:
  serial: {mode: closed, min_interval: 5ms}
targets:
  - {name: bust, url: %[1]q, model: peer, endpoint: {type: chat}, workload: bust, load: serial, seed: 11}
  - {name: shared, url: %[1]q, model: peer, endpoint: {type: chat}, workload: shared, load: serial, seed: 11}
  - {name: repeat, url: %[1]q, model: peer, endpoint: {type: chat}, workload: repeat, load: serial, seed: 11}
`

// What a cache may answer is the same in two processes with one seed, and what it must not is another thing in each request of both.
func TestCacheModesArePairedCanaries(t *testing.T) {
	t.Parallel()
	const requests = 30
	p := startPeer(t, plain)
	config := file(t, "aiperf-exporter.yml", fmt.Sprintf(canaries, p.url))
	for range 2 {
		e := process.ForTest(t, nil, binary, "run", "--config.file="+config, fmt.Sprintf("--requests=%d", requests))
		if code, err := e.Wait(process.Within(t, patience)); code != 0 || err != nil {
			t.Fatal(code, err)
		}
	}
	// settled are the requests of both processes after those from which they learned how long a word is.
	settled := func(target string) []question {
		const learned = requests / 2
		all := p.asked(target)
		if len(all) != 2*requests {
			t.Fatalf("%s: %d requests, want %d", target, len(all), 2*requests)
		}
		return append(all[learned:requests:requests], all[requests+learned:]...)
	}

	repeated := settled("repeat")
	for _, q := range repeated {
		if !bytes.Equal(q.body, repeated[0].body) {
			t.Errorf("repeat: two bodies differ:\n%s\n%s", repeated[0].body, q.body)
			break
		}
	}

	shared := settled("shared")
	begins := map[string]bool{}
	for _, q := range shared {
		if system := q.chat.Messages[0]; system.Role != "system" || system.Content != shared[0].chat.Messages[0].Content {
			t.Errorf("shared_prefix: a request begins with another system prompt:\n%v\n%v", system, shared[0].chat.Messages[0])
			break
		}
		begins[q.last()[:nonceSize]] = true
	}
	if len(begins) != len(shared) {
		t.Errorf("shared_prefix: %d requests say %d different things behind the prefix", len(shared), len(begins))
	}

	clear(begins)
	for _, q := range p.asked("bust") { // from the first one on
		begins[q.chat.Messages[0].Content[:nonceSize]] = true
	}
	if len(begins) != 2*requests {
		t.Errorf("bust: %d requests begin in %d different ways", 2*requests, len(begins))
	}

	// The pairs are of one length, by the server's count.
	for _, of := range [][]question{settled("bust"), shared, repeated} {
		for _, q := range of {
			if tokens := len(q.body) / 4; tokens < 190 || tokens > 210 {
				t.Errorf("%s: a prompt of %d tokens, want about 200", q.target, tokens)
				break
			}
		}
	}
}
