package endpoint

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// overflowWords are the types and codes by which servers name a prompt that does not fit into the model's context.
var overflowWords = []string{
	"context_length_exceeded",   // OpenAI, Azure, Groq
	"exceed_context_size_error", // llama.cpp
}

// overflowPhrases are what servers without such a word say instead, in lower case. Each is narrow enough not to match a refusal of a
// mere parameter ("max_tokens is too large, this model supports at most …").
var overflowPhrases = []string{
	"maximum context length",                     // OpenAI, vLLM, SGLang, Mistral
	"model's context length",                     // vLLM ("is only"), SGLang ("is longer than the")
	"longer than the maximum model length",       // vLLM
	"exceeds the maximum allowed length",         // SGLang's scheduler
	"exceeds the context window",                 // OpenAI
	"input tokens exceed the configured limit",   // OpenAI
	"exceeds maximum allowed token size",         // NIM embeddings
	"reduce the length of the messages",          // OpenAI, Groq
	"exceeds the available context size",         // llama.cpp
	"`inputs` tokens + `max_new_tokens` must be", // TGI
	"`inputs` must have less than",               // TGI, TEI
	"should not exceed max_num_tokens",           // TensorRT-LLM
	"is greater than `max_seq_len`",              // TensorRT-LLM
	"`default_max_tokens` (",                     // TensorRT-LLM: what is left of the context is not positive
	"exceeds maximum input length",               // TensorRT-LLM's C++ executor
	"exceeds maximum sequence length",            // the same, older
	"prompt is too long",                         // Anthropic, SGLang
	"exceed context limit",                       // Anthropic
	"input is too long for requested model",      // Bedrock
	"exceeds the maximum number of tokens",       // Gemini
	"too many tokens: ",                          // Cohere
}

// ContextOverflow tells whether an answer with this status says that the prompt, or prompt and answer together, do not fit into the
// model's context: the target's workload is wrong, not its server. e may be nil.
func ContextOverflow(status int, e *ServerError) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
	default:
		return false
	}
	if e == nil {
		return false
	}
	if slices.Contains(overflowWords, e.Code) || slices.Contains(overflowWords, e.Type) {
		return true
	}
	said := strings.ToLower(e.Message)
	return slices.ContainsFunc(overflowPhrases, func(phrase string) bool { return strings.Contains(said, phrase) })
}

// echo introduces the part of a pydantic error in which vLLM and SGLang repeat the request. A field that only stands there is not
// refused.
const echo = "'input':"

// RefusesField tells whether an answer with this status refuses the request because of the field: it is a 400, or a 422 as of
// FastAPI, and names the field as a word of its own. e may be nil.
func RefusesField(status int, e *ServerError, field string) bool {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity || e == nil || ContextOverflow(status, e) {
		return false
	}
	said, _, _ := strings.Cut(e.Message, echo)
	return hasWord(e.Param, field) || hasWord(said, field)
}

// hasWord tells whether word stands in s with no letter, digit or underscore beside it.
func hasWord(s, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(s)
}
