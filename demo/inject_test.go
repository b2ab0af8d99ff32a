package demo

import (
	"fmt"
	"net/http"
	"testing"
)

func TestFaultsThatSomebodyAsksForHitOneModelUntilTheyEnd(t *testing.T) {
	t.Parallel()
	c := serve(t, quick("hurt"), quick("well"))
	ask := func(model string) int {
		return c.post(t.Context(), t, "chat/completions", fmt.Sprintf(`{"model":%q,"max_tokens":2,"messages":[{"role":"user","content":"x"}]}`, model)).StatusCode
	}
	inject := func(query string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/faults?"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, step := range []struct {
		query            string
		injected         int
		hurt, wellStatus int
	}{
		{"model=hurt&kind=server_error&for=1h", 204, 500, 200},
		{"model=hurt&kind=rate_limit&for=1h", 204, 429, 200},
		{"model=nobody&kind=server_error", 400, 429, 200},
		{"model=well&kind=nonsense", 400, 429, 200},
		{"model=well&kind=server_error&for=-1s", 400, 429, 200},
		{"model=well&kind=server_error&share=0", 400, 429, 200},
		{"model=well&kind=server_error&share=NaN", 400, 429, 200},
		{"model=well&kind=slow&share=0.5", 400, 429, 200},
		{"model=well&kind=server_error&share=1e-12", 204, 429, 200}, // hits nobody here
		{"model=hurt&kind=server_error&share=1", 204, 500, 200},
		{"model=hurt&kind=server_error&for=1ns", 204, 200, 200},
		{"model=hurt&kind=slow", 204, 200, 200},
		{"model=hurt&kind=none", 204, 200, 200},
	} {
		if got := inject(step.query); got != step.injected {
			t.Errorf("%s: status %d, want %d", step.query, got, step.injected)
		}
		if hurt, well := ask("hurt"), ask("well"); hurt != step.hurt || well != step.wellStatus {
			t.Errorf("after %s: status %d and %d, want %d and %d", step.query, hurt, well, step.hurt, step.wellStatus)
		}
	}
}
