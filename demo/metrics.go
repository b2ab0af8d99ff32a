package demo

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The finish reasons of vllm:request_success_total, which counts failures too.
const (
	finishedAbort = "abort"
	finishedError = "error"
)

// Bucket bounds as vLLM has them, in seconds.
var (
	firstTokenBuckets = []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
	interTokenBuckets = []float64{
		0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
	}
	requestBuckets = []float64{
		0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
	}
)

// families are the series of all models that count events, named as vLLM names them.
type families struct {
	promptTokens, generationTokens, finished, cacheQueries, cacheHits *prometheus.CounterVec

	firstToken, interToken, perToken, latency, queue, prefill, decode *prometheus.HistogramVec
}

// newFamilies registers them.
func newFamilies(registry *prometheus.Registry) *families {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(labels, "model_name", "engine"))
		registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
			[]string{"model_name", "engine"})
		registry.MustRegister(v)
		return v
	}
	return &families{
		promptTokens:     counter("vllm:prompt_tokens_total", "Prompt tokens of requests that have their first token."),
		generationTokens: counter("vllm:generation_tokens_total", "Tokens generated, in the instant in which they are given out."),
		finished: counter("vllm:request_success_total", "Requests that the engine is done with, by reason; abort and error are no successes.",
			"finished_reason"),
		cacheQueries: counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache."),
		cacheHits:    counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache."),
		firstToken:   histogram("vllm:time_to_first_token_seconds", "Time from the request's arrival to its first token.", firstTokenBuckets),
		interToken: histogram("vllm:inter_token_latency_seconds", "Time between the engine's successive outputs for a request.",
			interTokenBuckets),
		perToken: histogram("vllm:request_time_per_output_token_seconds",
			"Time from first to last token, divided by the tokens after the first; finished requests of two and more tokens.", interTokenBuckets),
		latency: histogram("vllm:e2e_request_latency_seconds", "Time from a request's arrival to its last token; finished requests only.",
			requestBuckets),
		queue: histogram("vllm:request_queue_time_seconds", "Time from a request's arrival to its first step; finished requests only.",
			requestBuckets),
		prefill: histogram("vllm:request_prefill_time_seconds", "Time from a request's first step to its first token; finished requests only.",
			requestBuckets),
		decode: histogram("vllm:request_decode_time_seconds", "Time from a request's first to its last token; finished requests only.",
			requestBuckets),
	}
}

// instruments are the series of one model.
type instruments struct {
	promptTokens, generationTokens, cacheQueries prometheus.Counter

	finished map[string]prometheus.Counter // by reason; looked up once per request

	firstToken, interToken, perToken, latency, queue, prefill, decode prometheus.Observer
}

// forModel makes all series of a model, at zero.
func (f *families) forModel(model string) *instruments {
	ins := &instruments{
		promptTokens:     f.promptTokens.WithLabelValues(model, "0"),
		generationTokens: f.generationTokens.WithLabelValues(model, "0"),
		cacheQueries:     f.cacheQueries.WithLabelValues(model, "0"),
		finished:         make(map[string]prometheus.Counter),
		firstToken:       f.firstToken.WithLabelValues(model, "0"),
		interToken:       f.interToken.WithLabelValues(model, "0"),
		perToken:         f.perToken.WithLabelValues(model, "0"),
		latency:          f.latency.WithLabelValues(model, "0"),
		queue:            f.queue.WithLabelValues(model, "0"),
		prefill:          f.prefill.WithLabelValues(model, "0"),
		decode:           f.decode.WithLabelValues(model, "0"),
	}
	f.cacheHits.WithLabelValues(model, "0") // stays at zero: the exporter's prompts begin with a number that is new each time
	for _, reason := range []string{finishStop, finishLength, finishedAbort, finishedError} {
		ins.finished[reason] = f.finished.WithLabelValues(reason, model, "0")
	}
	return ins
}

// emitted observes one token of a request; previous is the one before it, zero for none.
func (ins *instruments) emitted(j *job, previous, now time.Time) {
	ins.generationTokens.Inc()
	if previous.IsZero() {
		ins.cacheQueries.Add(float64(j.seq.PromptTokens))
		ins.promptTokens.Add(float64(j.seq.PromptTokens))
		ins.firstToken.Observe(now.Sub(j.seq.Arrived).Seconds())
		return
	}
	ins.interToken.Observe(now.Sub(previous).Seconds())
}

// completed observes a request that has all its tokens.
func (ins *instruments) completed(j *job) {
	seq := &j.seq
	decode := seq.LastToken.Sub(seq.FirstToken)
	ins.finished[j.ask.finish].Inc()
	ins.latency.Observe(seq.LastToken.Sub(seq.Arrived).Seconds())
	ins.queue.Observe(seq.Scheduled.Sub(seq.Arrived).Seconds())
	ins.prefill.Observe(seq.FirstToken.Sub(seq.Scheduled).Seconds())
	ins.decode.Observe(decode.Seconds())
	if seq.Limit > 1 {
		ins.perToken.Observe(decode.Seconds() / float64(seq.Limit-1))
	}
}

// registerState adds the series of a model that are read from its engine when scraped.
func registerState(registry *prometheus.Registry, m *model) {
	labels := prometheus.Labels{"model_name": m.profile.Name, "engine": "0"}
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	counter := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	gauge("vllm:num_requests_running", "Requests in the batch, those of the background included.",
		func() float64 { return float64(m.load().Running) })
	gauge("vllm:num_requests_waiting", "Requests in the queue.",
		func() float64 { return float64(m.load().Waiting) })
	gauge("vllm:kv_cache_usage_perc", "Part of the key-value cache in use, 0 to 1.",
		func() float64 { return m.load().CacheUsage })
	counter("vllm:num_preemptions_total", "Sequences put back into the queue because the key-value cache was full.",
		func() float64 { return float64(m.preemptions()) })
}
