// Package endpoint is HOW IT IS SAID: one file per wire protocol that encodes a turn, decodes an event, and names the event that ends
// an answer. Nothing here reads a clock or a socket.
//
// To add a protocol: one file with a type that implements Codec, one line in the table of registry.go, golden streams in testdata.
package endpoint

import (
	"net/http"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Type names a wire protocol.
type Type string

// MaxTokensField says which field carries the wished output length.
type MaxTokensField string

// The choices of max_tokens_field.
const (
	FieldAuto                MaxTokensField = "auto" // the protocol's own: `max_completion_tokens` of chat
	FieldMaxTokens           MaxTokensField = "max_tokens"
	FieldMaxCompletionTokens MaxTokensField = "max_completion_tokens"
)

// Config is the part of `endpoint:` that concerns the wire protocol.
//
// The comments of its fields are the reference that users read, docs/configuration.md.
type Config struct {
	Type Type `koanf:"type" yaml:"type"` // wire protocol that the server speaks
	// Path in place of the protocol's own, such as `/v1/chat/completions`. It begins with a slash and is appended to `url`.
	Path string `koanf:"path" yaml:"path,omitempty"`
	// Parameters of the URL's query, such as `api-version` of Azure. Each replaces those of its name in `url`.
	URLParams map[string]string `koanf:"url_params" yaml:"url_params,omitempty"`
	// Field of the body that limits the length of the answer. `auto` is the protocol's own, for chat `max_completion_tokens`, which older
	// servers do not know.
	MaxTokensField MaxTokensField `koanf:"max_tokens_field" yaml:"max_tokens_field"`
	// Ask for the number of tokens so far in each chunk (vLLM, SGLang, TensorRT-LLM), so that tokens that share the first chunk do not
	// distort the inter-token latency.
	ContinuousUsage bool `koanf:"continuous_usage" yaml:"continuous_usage,omitempty"`
	// Ask for answers of exactly the wished length, with `ignore_eos` and `min_tokens` (vLLM, SGLang, TensorRT-LLM).
	IgnoreEOS bool `koanf:"ignore_eos" yaml:"ignore_eos,omitempty"`
	// Fields for the top level of every request body. They replace fields of ours, and those of the workload's `extra` replace them.
	Extra map[string]any `koanf:"extra" yaml:"extra,omitempty"`
	// Headers of every request. They replace ours, but not those that describe the body.
	Headers map[string]string `koanf:"headers" yaml:"headers,omitempty"`
	// Header that carries the credential, alone in its value, such as `api-key` for Azure; empty = as the protocol has it, mostly
	// `Authorization: Bearer`.
	KeyHeader string `koanf:"key_header" yaml:"key_header,omitempty"`
	// Header that names the session, the same for all its turns, in place of `X-Correlation-ID`.
	SessionHeader string `koanf:"session_header" yaml:"session_header,omitempty"`
	// Headers by which routers send all turns of a session to one replica, such as `X-Session-Affinity` or `X-SMG-Routing-Key`. None by
	// default: a canary must not stick to one replica unless it is told to. With `X-Dynamo-Session-ID`, sub-agents of a recording also name the
	// session that began them, in `X-Dynamo-Parent-Session-ID`.
	AffinityHeaders []string `koanf:"affinity_headers" yaml:"affinity_headers,omitempty"`
	// How the text of a `triton_generate` stream grows; TensorRT-LLM repeats it unless its model is decoupled. Empty is `auto`.
	Cumulative Cumulative `koanf:"cumulative" yaml:"cumulative,omitempty"`
	// Inputs of the model behind `kserve`; empty is `trtllm`. A parameter is whatever stands in `extra`, except `id`, `inputs`, `outputs` and
	// `parameters`.
	Tensors Tensors `koanf:"tensors" yaml:"tensors,omitempty"`
	// Body of a `template` request as a Go template, such as `{"q": {{toJson .text}}, "n": {{toJson .max_tokens}}}`, or the name of a built-in
	// one, `nv-embedqa`. Variables are `model`, `max_tokens`, `stream`, `system`, `role`, `text`, `texts`, `texts_by_name`, the same for `image`,
	// `audio` and `video`, `query`, `queries`, `passage`, `passages`, and `turns`, the messages so far with `role` and contents.
	Template string `koanf:"template" yaml:"template,omitempty"`
	// Where the answer of a `raw` or `template` request is, as a JMESPath such as `result.text`; empty: it is looked for where most protocols
	// have it.
	ResponseField string `koanf:"response_field" yaml:"response_field,omitempty"`
}

// Turn is what a Codec puts on the wire.
type Turn struct {
	Model           string
	Prompt          *prompt.Prompt
	MaxOutputTokens int // 0 = no limit is sent
	Stream          bool
	// IncludeUsage asks for usage at the end of a stream.
	IncludeUsage bool
	// Extra is merged into the body, after the endpoint's own, last wins. It may override stream, model and the output limit: see
	// Codec.Streams and Codec.OutputLimit for what is really asked.
	Extra map[string]any
	// PreviousID is the server's name of the answer to the turn before; "" = none, or the server does not keep answers.
	PreviousID string
}

// Chunk is what one event of an answer says. The zero Chunk is an event without meaning for us (role, empty delta).
type Chunk struct {
	// Text, Reasoning and Tool tell which kinds of generated tokens the event carries, in any choice. A refusal is Text.
	Text, Reasoning, Tool bool
	// Items is how many vectors, documents or images the event carries, where the protocol's product is one of these.
	Items int
	// Partial: the items are previews of those that are still to come.
	Partial bool
	// Terminal: the event ends the answer logically ([DONE], or a finish reason of any choice); true for every whole body.
	Terminal bool
	Done     bool // the event is the end marker itself ([DONE])
	Finish   metrics.FinishReason
	// Usage holds the counts of this event; Empty if there are none.
	Usage metrics.Usage
	// Err is set when the event tells a failure.
	Err *ServerError
	// Model is the served model's name and Fingerprint what the server calls its configuration (system_fingerprint), each at most 256
	// bytes. They are only filled by one event of a stream, one with a finish reason where the protocol has it there, and by a whole body, so
	// that an answer costs one allocation for each and not one per event.
	Model, Fingerprint string
}

// Content tells whether the event carries anything of what was asked for: a generated token, or an item.
func (c *Chunk) Content() bool { return c.Text || c.Reasoning || c.Tool || c.Items > 0 }

// ServerError is a failure in the server's own words.
type ServerError struct {
	Message string // at most 4 KiB
	Type    string
	Code    string
	Param   string // the request's field that is at fault
}

// Codec speaks one wire protocol. It is safe for concurrent use and keeps nothing between requests.
type Codec interface {
	// Traits are what does not depend on a turn.
	Traits() Traits
	// Path is what URL joins to the target's base URL for such a request.
	Path(model string, stream bool) string
	// Streams tells whether the encoded body asks for a stream, after the merge.
	Streams(turn *Turn) bool
	// OutputLimit is the greatest number of output tokens that the encoded body allows, after the merge; 0 = no limit, or the protocol
	// generates no tokens.
	OutputLimit(turn *Turn) int
	// Encode appends the request body for turn to dst and names its media type. An error means that the protocol cannot say the turn.
	Encode(dst []byte, turn *Turn) (body []byte, contentType string, err error)
	// Decoder makes the reader of one answer. If keep is not nil, what the answer says is put there too, which costs an allocation now
	// and then.
	Decoder(keep *answer.Transcript) Decoder
}

// Traits of a protocol.
type Traits struct {
	// Product is what an answer consists of.
	Product metrics.Product
	// Unmarked: a stream has no event that ends it, so that the end of the body is the end of the answer.
	Unmarked bool
	// KeyHeader carries the credential, alone; "" = Authorization: Bearer.
	KeyHeader string
	// Header are headers that the protocol wants unless the user has set them; may be nil.
	Header http.Header
}

// Decoder reads one answer.
type Decoder interface {
	// Event reads one event of a stream into chunk, which the caller has zeroed. name is the SSE event name, "" if none; data is only
	// valid during the call. An error (a *ProtocolError) means that data is not the protocol; chunk is untouched then.
	Event(name, data []byte, chunk *Chunk) error
	// Body reads a whole answer that was not streamed, under the same rules.
	Body(body []byte, chunk *Chunk) error
}
