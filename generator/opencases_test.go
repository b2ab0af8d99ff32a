package generator_test

import (
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator"
	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// openCase is a stream that made other tools measure wrongly, as told in public defect reports, and what is right.
type openCase struct {
	name      string
	configure func(*generator.TargetConfig)
	script    script
	want      figures
	// longestSilence is how far apart the server may write before the case is void; 0 = it does not matter.
	longestSilence time.Duration
}

// promptTokens is the nominal length of the prompts, which stands in for the count that a success does not tell.
const promptTokens = 128

// none is a duration or a count that does not exist.
const none = -1

// figures are what a correct measurement says, durations in ms.
type figures struct {
	Outcome metrics.Outcome
	Class   metrics.ErrorClass
	Finish  metrics.FinishReason

	TTFT, TTFO, Latency, ITL float64
	ICL                      []float64
	ISL, OSL, Reasoning      float64
	Coalesced, KeepAlives    int64
}

func chatThenUsage(cfg *generator.TargetConfig) { cfg.Endpoint.ContinuousUsage = true }

func asCompletions(cfg *generator.TargetConfig) {
	cfg.Endpoint.Type = endpoint.Completions
	cfg.Workload.OutputTokens.Mean = 256
}

// impatient waits no longer than 50 ms for the next byte.
func impatient(cfg *generator.TargetConfig) { cfg.Client.Timeouts.Idle = 50 * time.Millisecond }

// bare writes events as the strictest reader of the standard may: CR LF, and no space behind "data:".
func bare(event string) string {
	return strings.ReplaceAll(strings.ReplaceAll(event, "data: ", "data:"), "\n", "\r\n")
}

// longText is one event's text of 1.5 million bytes.
var longText = strings.Repeat("a", 1_500_000)

// openCases are the cases that one answer shows.
var openCases = []openCase{
	{
		name: "a role-only opening chunk is not a token (vllm-project/vllm#3768, kubernetes-sigs/inference-perf#401)",
		script: stream(at(5, role()), at(120, content("A")), at(140, content("B")), at(160, content("C")),
			at(161, finish("stop"), usage(10, 3), done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 120, TTFO: 120, Latency: 160, ITL: 20, ICL: []float64{20, 20}, ISL: 10, OSL: 3, Reasoning: none,
		},
	},
	reasoningCase("reasoning comes before any content (vllm-project/guidellm#737, vllm-project/guidellm#835)", "reasoning"),
	reasoningCase("under the key reasoning_content", "reasoning_content"),
	reasoningCase("under both keys", "reasoning", "reasoning_content"),
	{
		name:   "an error object inside a 200 stream (vllm-project/guidellm#743, kubernetes-sigs/inference-perf#713)",
		script: stream(at(30, event(`{"error":{"message":"engine timed out","type":"GatewayTimeout","code":504}}`)), at(31, done)),
		want: figures{
			Outcome: metrics.Failure, Class: metrics.ErrStream,
			TTFT: none, TTFO: none, Latency: none, ITL: none, ISL: none, OSL: none, Reasoning: none,
		},
	},
	{
		name:   "a clean end without any terminal event (vllm-project/vllm#54628, infiniflow/ragflow#19498)",
		script: stream(at(20, role()), at(50, content("one")), at(70, content(" two")), endOfBody(90)),
		want: figures{
			Outcome: metrics.Failure, Class: metrics.ErrTruncated,
			TTFT: 50, TTFO: 50, Latency: 70, ITL: none, ICL: []float64{20}, ISL: none, OSL: 2, Reasoning: none,
		},
	},
	{
		name:   "a finish reason without end marker is an end",
		script: stream(at(20, role()), at(50, content("one")), at(70, content(" two")), at(85, finish("length")), endOfBody(90)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishLength,
			TTFT: 50, TTFO: 50, Latency: 70, ITL: none, ICL: []float64{20}, ISL: promptTokens, OSL: 2, Reasoning: none,
		},
	},
	{
		name:   "an end marker without finish reason is an end",
		script: stream(at(20, role()), at(50, content("one")), at(70, content(" two")), at(85, done), endOfBody(90)),
		want: figures{
			Outcome: metrics.Success,
			TTFT:    50, TTFO: 50, Latency: 70, ITL: none, ICL: []float64{20}, ISL: promptTokens, OSL: 2, Reasoning: none,
		},
	},
	{
		name:      "several tokens in the first chunk (ai-dynamo/aiperf#1279)",
		configure: chatThenUsage,
		script: stream(at(100, contentUsed("abcde", 10, 5)), at(110, contentUsed("f", 10, 6)), at(120, contentUsed("g", 10, 7)),
			at(130, contentUsed("h", 10, 8)), at(140, contentUsed("i", 10, 9)),
			at(141, chunk(`{}`, `"stop"`, `,"usage":`+usageObject(10, 9)), done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 100, TTFO: 100, Latency: 140, ITL: 10, ICL: []float64{10, 10, 10, 10}, ISL: 10, OSL: 9, Reasoning: none,
		},
	},
	{
		name: "the same without usage in the chunks",
		script: stream(at(100, content("abcde")), at(110, content("f")), at(120, content("g")), at(130, content("h")), at(140, content("i")),
			at(141, finish("stop"), usage(10, 9), done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 100, TTFO: 100, Latency: 140, ITL: 5, ICL: []float64{10, 10, 10, 10}, ISL: 10, OSL: 9, Reasoning: none,
		},
	},
	{
		name:   "many events in one read (ai-dynamo/aiperf#368)",
		script: stream(at(40, role(), content("a"), content("b"), content("c"), content("d"), finish("stop"), usage(7, 4), done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 40, TTFO: 40, Latency: 40, ITL: 0, ICL: []float64{0, 0, 0}, ISL: 7, OSL: 4, Reasoning: none, Coalesced: 3,
		},
	},
	{
		name:      "data without a space, CR LF, comments between (vllm-project/vllm#27412, miruamel/xuan#194, tmc/langchaingo#631)",
		configure: impatient,
		script: stream(at(5, bare(role())), at(30, ": keep-alive\r\n\r\n"), at(60, ": keep-alive\r\n\r\n"), at(90, ":\r\n"),
			at(120, bare(content("A"))), at(140, "id: 7\r\nretry: 100\r\n"+bare(content("B"))), at(160, bare(content("C"))),
			at(161, bare(finish("stop")), bare(usage(10, 3)), bare(done))),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 120, TTFO: 120, Latency: 160, ITL: 20, ICL: []float64{20, 20}, ISL: 10, OSL: 3, Reasoning: none, KeepAlives: 3,
		},
		longestSilence: 45 * time.Millisecond,
	},
	{
		name:   "one very long line (infiniflow/ragflow#15381, writer/cerebro#307)",
		script: longLine(longText),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 20, TTFO: 20, Latency: 60, ITL: 40. / 1002, ICL: []float64{30, 10}, ISL: 5, OSL: 1003, Reasoning: none,
		},
	},
	{
		name:      "a line over the limit",
		configure: func(cfg *generator.TargetConfig) { cfg.Client.MaxEventBytes = 1 << 20 },
		script:    longLine(longText),
		want: figures{
			Outcome: metrics.Failure, Class: metrics.ErrResponseTooLarge,
			TTFT: 20, TTFO: 20, Latency: 20, ITL: none, ISL: none, OSL: 1, Reasoning: none,
		},
	},
	{
		name: "chunks without choices at both ends (awslabs/llmeter#34, AbanteAI/archive-old-cli-mentat#429)",
		script: stream(
			at(5, event(`{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`)),
			at(90, content("a")), at(110, chunk(`{"content":"b"}`, "null", `,"usage":null`)), at(111, finish("stop")), at(112, usage(8, 2)), at(113, done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 90, TTFO: 90, Latency: 110, ITL: 20, ICL: []float64{20}, ISL: 8, OSL: 2, Reasoning: none,
		},
	},
	{
		name:      "usage rides on a chunk with empty text (sgl-project/sglang#24254, sgl-project/sglang#10746)",
		configure: asCompletions,
		script: stream(
			at(30, event(`{"choices":[{"index":0,"text":"He","finish_reason":null}]}`)),
			at(50, event(`{"choices":[{"index":0,"text":"llo","finish_reason":null}]}`)),
			at(51, event(`{"choices":[{"index":0,"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)),
			at(52, done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 30, TTFO: 30, Latency: 50, ITL: 20, ICL: []float64{20}, ISL: 3, OSL: 2, Reasoning: none,
		},
	},
	{
		name:      "the same for chat",
		configure: func(cfg *generator.TargetConfig) { cfg.Workload.OutputTokens.Mean = 256 },
		script: stream(at(30, content("He")), at(50, content("llo")),
			at(51, chunk(`{"content":""}`, `"stop"`, `,"usage":`+usageObject(3, 2))), at(52, done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 30, TTFO: 30, Latency: 50, ITL: 20, ICL: []float64{20}, ISL: 3, OSL: 2, Reasoning: none,
		},
	},
}

// reasoningCase is an answer with the reasoning under the keys.
func reasoningCase(name string, keys ...string) openCase {
	return openCase{
		name: name,
		script: stream(at(5, role()), at(60, thought("Let", keys...)), at(80, thought(" me", keys...)), at(100, thought(" see", keys...)),
			at(200, content("42")), at(201, finish("stop"), event(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,`+
				`"total_tokens":13,"completion_tokens_details":{"reasoning_tokens":3}}}`), done)),
		want: figures{
			Outcome: metrics.Success, Finish: metrics.FinishStop,
			TTFT: 60, TTFO: 200, Latency: 200, ITL: 140. / 3, ICL: []float64{20, 20, 100}, ISL: 9, OSL: 4, Reasoning: 3,
		},
	}
}

// longLine is the case of one very long line: the event with text goes out in pieces of 16 KiB over 10 ms.
func longLine(text string) script {
	const piece = 16 << 10
	steps := []step{at(20, content("x"))}
	line := content(text)
	pieces := max(2, (len(line)+piece-1)/piece)
	size := (len(line) + pieces - 1) / pieces
	for i := range pieces {
		steps = append(steps, at(40+10*float64(i)/float64(pieces-1), line[i*size:min((i+1)*size, len(line))]))
	}
	return stream(append(steps, at(60, content("y"), finish("stop"), usage(5, 1003), done))...)
}
