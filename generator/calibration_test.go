package generator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
)

// The server's own count of a prompt decides how long the next ones are.
func TestPromptsGetTheWishedLengthByTheCountOfTheServer(t *testing.T) {
	t.Parallel()
	const wished, bytesPerToken = 200, 2
	var mu sync.Mutex
	var counts []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) != 1 {
			t.Errorf("body %s: %v", body, err)
			return
		}
		tokens := len(request.Messages[0].Content) / bytesPerToken
		mu.Lock()
		counts = append(counts, tokens)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n", tokens)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, server.URL, func(c *generator.TargetConfig) { c.Workload.InputTokens.Mean = wished })
	target := r.target(t)
	for range 10 {
		target.Once(t.Context())
	}
	mu.Lock()
	defer mu.Unlock()
	if last := counts[len(counts)-1]; counts[0] < wished*3/2 || last < wished*9/10 || last > wished*11/10 {
		t.Errorf("prompts of %v tokens, want the first far from %d, as its server is unknown, and the last near it", counts, wished)
	}
}
