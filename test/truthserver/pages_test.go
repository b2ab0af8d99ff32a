package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestThePagesSayWhatWasSentAndDrawn(t *testing.T) {
	t.Parallel()
	url := start(t, script{tokens: 3, chunk: 1, batch: 1, failEvery: 2, gpus: 2, watts: 400})
	for i, want := range []int{http.StatusOK, http.StatusInternalServerError, http.StatusOK} {
		resp := post(t, url+"/v1/chat/completions", "r", `{"model":"m","stream":true,"messages":[]}`)
		_, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want {
			t.Errorf("request %d: status %d, %v, want %d", i+1, resp.StatusCode, err, want)
		}
	}
	page := string(read(t, url+"/metrics"))
	for _, line := range []string{
		`vllm:generation_tokens_total{engine="0",model_name="truth"} 6`, `vllm:prompt_tokens_total{engine="0",model_name="truth"} 2`,
		`vllm:request_success_total{engine="0",model_name="truth",finished_reason="length"} 2`,
		`vllm:time_to_first_token_seconds_count{engine="0",model_name="truth"} 2`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("no line %s in\n%s", line, page)
		}
	}
	if gpus := string(read(t, url+"/gpu/metrics")); strings.Count(gpus, "DCGM_FI_DEV_POWER_USAGE{") != 2 {
		t.Errorf("not two GPUs in\n%s", gpus)
	}
}

func TestEnergyIsPowerTimesTime(t *testing.T) {
	t.Parallel()
	s := script{gpus: 1, watts: 400}
	if page := string(s.gpuPage(10 * time.Second)); !strings.Contains(page, "} 98769432100.000\n") {
		t.Errorf("4 kJ in ten seconds are not in\n%s", page)
	}
}
