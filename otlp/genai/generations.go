package genai

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
)

// The values of Options.Semconv beside the generations.
const (
	none              = "none"
	defaultGeneration = "1.41"
)

// generation is what the conventions of a time call things. What something means, and in what unit, they have not changed.
type generation struct {
	inference string // duration of an operation that generates
	other     string // of any other
	firstChunk,
	perChunk string
	input, output tokenNames

	cacheWrite attribute.Key // input tokens that went into a cache, on spans
	// aborted is the finish reason of an answer without one that should have had one; "" = it has none.
	aborted string
}

// tokenNames are where tokens are counted, with the attribute that tells them from others; without a key there is none.
type tokenNames struct {
	perRequest     string
	perRequestKind attribute.KeyValue
	total          string // "" = there is no counter
	totalKind      attribute.KeyValue
	description    string
}

// modality is that of counted tokens: which of them were text and which, say, an image, servers mostly do not tell.
func modality() attribute.KeyValue { return attribute.String("gen_ai.token.modality", "unknown") }

// generations by Options.Semconv: the last release of the general conventions that has them, and the first one of their own repository.
var generations = map[string]generation{
	defaultGeneration: {
		inference:  genaiconv.ClientOperationDuration{}.Name(),
		other:      genaiconv.ClientOperationDuration{}.Name(),
		firstChunk: genaiconv.ClientOperationTimeToFirstChunk{}.Name(),
		perChunk:   genaiconv.ClientOperationTimePerOutputChunk{}.Name(),
		input: tokenNames{
			perRequest: genaiconv.ClientTokenUsage{}.Name(), perRequestKind: semconv.GenAITokenTypeInput,
			description: genaiconv.ClientTokenUsage{}.Description(),
		},
		output: tokenNames{
			perRequest: genaiconv.ClientTokenUsage{}.Name(), perRequestKind: semconv.GenAITokenTypeOutput,
			description: genaiconv.ClientTokenUsage{}.Description(),
		},
		cacheWrite: semconv.GenAIUsageCacheCreationInputTokensKey,
	},
	"genai-0.1": {
		inference:  "gen_ai.client.inference.duration",
		other:      genaiconv.ClientOperationDuration{}.Name(),
		firstChunk: "gen_ai.client.inference.time_to_first_chunk",
		perChunk:   "gen_ai.client.inference.time_per_output_chunk",
		input: tokenNames{
			perRequest: "gen_ai.client.inference.operation.input_tokens",
			total:      "gen_ai.client.inference.usage.input_tokens", totalKind: modality(),
			description: "Input tokens, those from a cache included.",
		},
		output: tokenNames{
			perRequest: "gen_ai.client.inference.operation.output_tokens",
			total:      "gen_ai.client.inference.usage.output_tokens", totalKind: modality(),
			description: "Output tokens, reasoning included.",
		},
		cacheWrite: "gen_ai.usage.cache_write.input_tokens",
		aborted:    "error",
	},
}
