package metrics

// Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	Success   Outcome = "success"
	Failure   Outcome = "error"
	Cancelled Outcome = "cancelled" // by us: shutdown, reload, an experiment; never part of an error or SLO ratio
)

// Outcomes is the closed list.
var Outcomes = []Outcome{Success, Failure, Cancelled}

// ErrorClass says why a request failed. It is the only thing about a failure that becomes a label.
type ErrorClass string

// The error classes.
const (
	ErrDNS               ErrorClass = "dns"
	ErrConnect           ErrorClass = "connect" // refused, unreachable, reset before or while the request was written
	ErrTLS               ErrorClass = "tls"
	ErrTimeoutConnect    ErrorClass = "timeout_connect"
	ErrTimeoutFirstToken ErrorClass = "timeout_first_token"
	ErrTimeoutIdle       ErrorClass = "timeout_idle"
	ErrTimeoutTotal      ErrorClass = "timeout_total"
	ErrHTTP3xx           ErrorClass = "http_3xx"
	ErrHTTP4xx           ErrorClass = "http_4xx"
	ErrHTTP429           ErrorClass = "http_429"
	ErrHTTP5xx           ErrorClass = "http_5xx"
	ErrStream            ErrorClass = "stream_error" // an error told inside a 2xx answer
	ErrTruncated         ErrorClass = "truncated"    // the answer ended before its terminal marker
	ErrParse             ErrorClass = "parse"        // not the protocol: HTML, broken JSON, wrong media type
	ErrEmpty             ErrorClass = "empty"        // a complete 2xx answer without any generated token
	ErrContextOverflow   ErrorClass = "context_overflow"
	ErrContentCheck      ErrorClass = "content_check"
	ErrResponseTooLarge  ErrorClass = "response_too_large"
	ErrClientInternal    ErrorClass = "client_internal" // the fault is here: impossible timeline, payload that cannot be built, credential that cannot be read
)

// ErrorClasses is the closed list.
var ErrorClasses = []ErrorClass{
	ErrDNS, ErrConnect, ErrTLS, ErrTimeoutConnect, ErrTimeoutFirstToken, ErrTimeoutIdle, ErrTimeoutTotal, ErrHTTP3xx,
	ErrHTTP4xx, ErrHTTP429, ErrHTTP5xx, ErrStream, ErrTruncated, ErrParse, ErrEmpty, ErrContextOverflow, ErrContentCheck,
	ErrResponseTooLarge, ErrClientInternal,
}

// DropReason says why an arrival was never sent.
type DropReason string

// The drop reasons. A paused target has no arrivals, hence no drops.
const (
	DropInFlight      DropReason = "in_flight"
	DropQueueFull     DropReason = "queue_full"
	DropQueueTimeout  DropReason = "queue_timeout"
	DropOverlap       DropReason = "overlap"
	DropBudget        DropReason = "budget"
	DropBackoff       DropReason = "backoff"
	DropGlobalLimit   DropReason = "global_limit"
	DropSchedulerLate DropReason = "scheduler_late"
)

// DropReasons is the closed list.
var DropReasons = []DropReason{
	DropInFlight, DropQueueFull, DropQueueTimeout, DropOverlap, DropBudget, DropBackoff, DropGlobalLimit, DropSchedulerLate,
}

// CausedByServer tells whether a drop counts against an SLO: a server that hangs fills the in-flight limit and would
// otherwise starve its own evidence.
func (r DropReason) CausedByServer() bool {
	switch r {
	case DropInFlight, DropQueueFull, DropQueueTimeout, DropOverlap:
		return true
	case DropBudget, DropBackoff, DropGlobalLimit, DropSchedulerLate:
	}
	return false
}

// OwnFault tells whether a drop is a fault of this process or of its host: it makes what is measured at that time suspect.
func (r DropReason) OwnFault() bool { return r == DropSchedulerLate || r == DropGlobalLimit }

// FinishReason is why the server stopped generating.
type FinishReason string

// The finish reasons that are told apart; everything else is "other".
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
	FinishOther         FinishReason = "other"
)

// FinishReasons is the closed list.
var FinishReasons = []FinishReason{FinishStop, FinishLength, FinishToolCalls, FinishContentFilter, FinishOther}

// ParseFinishReason maps a server's word onto the closed list; the empty word stays empty (the server gave none).
func ParseFinishReason(word string) FinishReason {
	switch word {
	case "":
		return ""
	case "stop", "end_turn", "stop_sequence", "eos", "eos_token":
		return FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return FinishLength
	case "tool_calls", "tool_use", "function_call":
		return FinishToolCalls
	case "content_filter", "refusal":
		return FinishContentFilter
	}
	return FinishOther
}

// Product is what an endpoint gives.
type Product string

// The products. Only tokens are generated one after the other; the zero value means tokens too.
const (
	ProductTokens     Product = "tokens"
	ProductVectors    Product = "vectors"    // embeddings
	ProductDocuments  Product = "documents"  // rankings
	ProductImages     Product = "images"     // generated, edited or found
	ProductTranscript Product = "transcript" // text of an audio clip
)

// Generates tells whether tokens are generated, so that there is a first one and a time between them.
func (p Product) Generates() bool { return p == "" || p == ProductTokens }
