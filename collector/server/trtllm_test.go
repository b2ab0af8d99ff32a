package server

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

func TestStatisticsOfTensorRTLLMBecomeThePageThatItWouldHave(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want map[string]float64
	}{
		"the last step counts": {
			`[{"iter": 1, "numActiveRequests": 9, "numQueuedRequests": 9},
			 {"iter": 2, "numActiveRequests": 4, "numQueuedRequests": 2, "gpuMemUsage": 76665782272,
			  "kvCacheStats": {"maxNumBlocks": 2000, "usedNumBlocks": 500, "freeNumBlocks": 1500, "tokensPerBlock": 32, "cacheHitRate": 0.25},
			  "inflightBatchingStats": {"numScheduledRequests": 4, "numContextRequests": 1, "numGenRequests": 3, "numPausedRequests": 0}}]`,
			map[string]float64{
				"trtllm_num_requests_running": 4, "trtllm_num_requests_waiting": 2, "trtllm_num_scheduled_requests": 4, "trtllm_num_context_requests": 1,
				"trtllm_num_generation_requests": 3, "trtllm_num_paused_requests": 0, "trtllm_kv_cache_free_blocks": 1500, "trtllm_kv_cache_max_blocks": 2000,
				"trtllm_kv_cache_used_blocks": 500, "trtllm_kv_cache_utilization": 0.25, "trtllm_kv_cache_tokens_per_block": 32, "trtllm_kv_cache_hit_rate": 0.25,
			},
		},
		"ranks add up": {
			`[{"attentionDpRank": 0, "numActiveRequests": 1, "kvCacheStats": {"maxNumBlocks": 100, "usedNumBlocks": 10}},
			 {"attentionDpRank": 1, "numActiveRequests": 2, "kvCacheStats": {"maxNumBlocks": 100, "usedNumBlocks": 40}},
			 {"attentionDpRank": 0, "numActiveRequests": 5, "kvCacheStats": {"maxNumBlocks": 100, "usedNumBlocks": 30}}]`,
			map[string]float64{"trtllm_num_requests_running": 7, "trtllm_kv_cache_max_blocks": 200, "trtllm_kv_cache_used_blocks": 70, "trtllm_kv_cache_utilization": 0.35},
		},
		"what is not told is absent": {`[{"iter": 1}]`, map[string]float64{}},
		"an idle engine":             {`[]`, map[string]float64{}},
		"a cache without blocks":     {`[{"kvCacheStats": {"maxNumBlocks": 0, "usedNumBlocks": 0}}]`, map[string]float64{"trtllm_kv_cache_max_blocks": 0, "trtllm_kv_cache_used_blocks": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := parseIterations([]byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, f := range page.Families {
				got[f.Name] = f.Series[0].Value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
			if page.Samples != len(tc.want) {
				t.Errorf("samples %d, want %d", page.Samples, len(tc.want))
			}
		})
	}
	for _, body := range []string{`{"detail":"Not Found"}`, `[{"iter": "x", "numActiveRequests": "many"}]`, `[`, ``, `["a"]`} {
		if _, err := parseIterations([]byte(body)); !errors.Is(err, exposition.ErrIncompatible) {
			t.Errorf("%s: %v, want %v", body, err, exposition.ErrIncompatible)
		}
	}
}

func FuzzIterations(f *testing.F) {
	f.Add([]byte(`[{"attentionDpRank": 1, "numActiveRequests": 1e300, "kvCacheStats": {"maxNumBlocks": 1e308, "usedNumBlocks": 1e308}}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		page, err := parseIterations(body)
		if (page == nil) != (err != nil) {
			t.Errorf("page %v, error %v, want one of the two", page, err)
		}
	})
}
