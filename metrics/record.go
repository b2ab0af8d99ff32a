package metrics

import (
	"cmp"
	"math"
	"time"
)

// Count is a number of tokens that a server may or may not have told. Zero is a value; absence is not zero.
type Count struct {
	N     int64
	Known bool
}

// Tokens makes a known Count.
func Tokens(n int64) Count { return Count{N: n, Known: true} }

// Usage is what a server says about the tokens of a request. Output includes Reasoning; Input includes what came
// from or went into a cache.
type Usage struct {
	Input, Output, Reasoning, CachedInput, CacheWrite Count
}

// Empty tells that no count is known.
func (u Usage) Empty() bool { return u == Usage{} }

// TokenSource says where a token count of a record comes from.
type TokenSource string

// The token sources, best first.
const (
	SourceUsage      TokenSource = "usage"       // final usage of the answer
	SourceUsageChunk TokenSource = "usage_chunk" // cumulative usage in the chunks, without a final one
	SourceTokenizer  TokenSource = "tokenizer"   // the text, counted by the tokenizer that the configuration names
	SourceEvents     TokenSource = "events"      // number of content events: an estimate, output only
	SourceDataset    TokenSource = "dataset"     // nominal length of the prompt: an estimate, input only
	SourceNone       TokenSource = "none"
)

// Told tells that the server itself has counted.
func (s TokenSource) Told() bool { return s == SourceUsage || s == SourceUsageChunk }

// Exact tells that tokens were counted, by the server or in the text, and not something else in their place.
func (s TokenSource) Exact() bool { return s.Told() || s == SourceTokenizer }

// TokenSources is the closed list.
var TokenSources = []TokenSource{SourceUsage, SourceUsageChunk, SourceTokenizer, SourceEvents, SourceDataset, SourceNone}

// Timeline holds the instants of one request, in nanoseconds since the process epoch; 0 = did not happen. The order of the fields is
// the order of the events.
type Timeline struct {
	Sched int64 // when the load wanted the request, fixed before anything about the server is known
	Issue int64 // all limiters passed
	Start int64 // immediately before the HTTP round trip; zero of every latency

	ConnStart, ConnDone       int64 // asking for a connection, having one
	DNSStart, DNSDone         int64
	ConnectStart, ConnectDone int64 // TCP
	TLSStart, TLSDone         int64

	Sent      int64 // headers and body written
	FirstByte int64 // first byte of the answer
	Header    int64 // answer's header parsed

	FirstEvent  int64 // first event of any kind but a comment
	FirstOutput int64 // first content event with output that is not reasoning
	End         int64 // end of the answer, or the instant at which error, timeout or cancellation was observed
}

// Record is everything known about one finished request.
type Record struct {
	RequestID string
	Trace     Trace
	Session   string // "" = the request is a conversation of its own
	TurnIndex int    // place in the session, from 0
	// ParentSession is the session that began this one as a sub-agent; "" = none did.
	ParentSession string
	Warmup        bool // counted apart, touches no other series
	Product       Product
	Streaming     bool
	// Suspect: this program or its host was at fault while the request lived, see Suspicion. Flight.Finish decides it.
	Suspect bool

	Time Timeline
	// Content holds the instant of each content event, ascending; successive equal instants are real (one read). It is only valid
	// until the record has been handed over.
	Content []int64
	// Coalesced counts content events that shared a read with the content event before them.
	Coalesced int64

	// FirstTokens is the cumulative output count on the first content event, if that event carried usage (k of ITL).
	FirstTokens Count
	Usage       Usage
	// OutputSource and InputSource say where the counts of Usage come from, after fallbacks have been applied.
	OutputSource, InputSource TokenSource
	RequestedTokens           int64 // output tokens asked for; 0 = no limit sent

	Outcome   Outcome
	Class     ErrorClass // only if Outcome is Failure
	Abandoned bool       // Cancelled because the load wanted it, as users do who go away
	// Detail is the server's or the transport's own words about a failure, secrets removed, for logs and pages, never a label.
	Detail string
	Finish FinishReason
	Status int // HTTP status; 0 = no answer

	ConnReused   bool
	ConnObtained bool
	IPFamily     IPFamily // of the connection, "" = there was none
	// CertsExpire is when the first of the certificates ends that the server has shown; zero: none was shown for this request.
	CertsExpire   time.Time
	RequestBytes  int64
	ResponseBytes int64 // body bytes
	KeepAlives    int64 // SSE comments and pings
	ParseErrors   int64 // events that were neither JSON nor a marker
	UsageMissing  bool  // a success without usage
	ServedModel   string
	Fingerprint   string // what the server calls its configuration
	// Items is how many vectors, documents or images came; AudioSeconds how long the clip was that was sent.
	Items        int64
	AudioSeconds float64
	// Limits are what the server says about its rate limits.
	Limits []RateLimit
	// FailedChecks are the kinds of the checks that the answer did not pass.
	FailedChecks []string
	// Drift is what the comparison with the baseline gave; "" = it was no fixed question. DriftMatch is the share of the answer, from its
	// start, that is the baseline's, DriftDistance the mean difference of log-probabilities.
	Drift                     Drift
	DriftMatch, DriftDistance Value
	// Unstreamed: a stream was asked for, and the answer came whole.
	Unstreamed bool
	// RetryAfter is how long the server asked to be left alone, in seconds.
	RetryAfter     Value
	KernelStamps   bool  // arrival instants come from the kernel
	StampFallbacks int64 // reads without a usable kernel stamp although the connection gives them
	// Tape is what went over the wire; nil = nobody asked for it.
	Tape *Tape
}

// LengthError is how many output tokens more (or, if negative, fewer) came than were asked for, and whether that is more than 5 % or 50
// tokens, whichever is less. Only an exact count of an answer with a wished length can be wrong.
func (r *Record) LengthError() (tokens int64, wrong bool) {
	if r.RequestedTokens <= 0 || !r.Usage.Output.Known || !r.OutputSource.Exact() {
		return 0, false
	}
	tokens = r.Usage.Output.N - r.RequestedTokens
	return tokens, math.Abs(float64(tokens)) > min(float64(r.RequestedTokens)*.05, 50)
}

// Trace is the context of the request's span, as its header traceparent has it. The zero value = there was none.
type Trace struct {
	ID      [16]byte
	Span    [8]byte
	Sampled bool // the span is sent, so whoever follows the ids will find it
}

// begin is when the life of the request began: the instant at which it was wanted, its start where there is no schedule.
func (r *Record) begin() int64 { return cmp.Or(r.Time.Sched, r.Time.Start) }

// InvalidReason says what is impossible about a record.
type InvalidReason string

// The reasons for which a record is refused.
const (
	InvalidOrder InvalidReason = "order" // a later instant stands before an earlier one
	InvalidCount InvalidReason = "count" // a negative token count
)

// InvalidReasons is the closed list.
var InvalidReasons = []InvalidReason{InvalidOrder, InvalidCount}
