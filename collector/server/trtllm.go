package server

import (
	"encoding/json"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// iteration is what trtllm-serve tells at /metrics of one step of its engine, or of one of its ranks. What a release does not tell stays nil.
type iteration struct {
	Rank   int      `json:"attentionDpRank"`
	Active *float64 `json:"numActiveRequests"`
	Queued *float64 `json:"numQueuedRequests"`
	Cache  struct {
		Max      *float64 `json:"maxNumBlocks"`
		Used     *float64 `json:"usedNumBlocks"`
		Free     *float64 `json:"freeNumBlocks"`
		PerBlock *float64 `json:"tokensPerBlock"`
		HitRate  *float64 `json:"cacheHitRate"`
	} `json:"kvCacheStats"`
	Batch struct {
		Scheduled  *float64 `json:"numScheduledRequests"`
		Context    *float64 `json:"numContextRequests"`
		Generation *float64 `json:"numGenRequests"`
		Paused     *float64 `json:"numPausedRequests"`
	} `json:"inflightBatchingStats"`
}

// parseIterations makes, of the JSON that trtllm-serve answers, the page that it would have with Prometheus switched on: the last step of each
// rank, requests and blocks added up. An engine that has been idle since the last look has nothing to tell, which is an empty page: that it has
// no requests is likely, but it was not said.
func parseIterations(body []byte) (*exposition.Page, error) {
	var steps []iteration
	if err := json.Unmarshal(body, &steps); err != nil {
		return nil, fmt.Errorf("%w: %w", exposition.ErrIncompatible, err)
	}
	byRank := map[int]*iteration{}
	for i := range steps {
		byRank[steps[i].Rank] = &steps[i]
	}
	page := &exposition.Page{}
	sum := func(name string, of func(*iteration) *float64) (total float64, told bool) {
		for _, step := range byRank {
			if v := of(step); v != nil {
				total, told = total+*v, true
			}
		}
		if told && name != "" {
			addGauge(page, name, total)
		}
		return total, told
	}
	sum("trtllm_num_requests_running", func(s *iteration) *float64 { return s.Active })
	sum("trtllm_num_requests_waiting", func(s *iteration) *float64 { return s.Queued })
	sum("trtllm_num_scheduled_requests", func(s *iteration) *float64 { return s.Batch.Scheduled })
	sum("trtllm_num_context_requests", func(s *iteration) *float64 { return s.Batch.Context })
	sum("trtllm_num_generation_requests", func(s *iteration) *float64 { return s.Batch.Generation })
	sum("trtllm_num_paused_requests", func(s *iteration) *float64 { return s.Batch.Paused })
	sum("trtllm_kv_cache_free_blocks", func(s *iteration) *float64 { return s.Cache.Free })
	most, hasMost := sum("trtllm_kv_cache_max_blocks", func(s *iteration) *float64 { return s.Cache.Max })
	used, hasUsed := sum("trtllm_kv_cache_used_blocks", func(s *iteration) *float64 { return s.Cache.Used })
	if hasMost && hasUsed && most > 0 {
		addGauge(page, "trtllm_kv_cache_utilization", used/most)
	}
	if len(steps) > 0 {
		last := &steps[len(steps)-1].Cache
		if last.PerBlock != nil {
			addGauge(page, "trtllm_kv_cache_tokens_per_block", *last.PerBlock)
		}
		if last.HitRate != nil {
			addGauge(page, "trtllm_kv_cache_hit_rate", *last.HitRate)
		}
	}
	return page, nil
}

func addGauge(page *exposition.Page, name string, value float64) {
	page.Families = append(page.Families, exposition.Family{Name: name, Kind: exposition.Gauge, Series: []exposition.Series{{Value: value}}})
	page.Samples++
}
