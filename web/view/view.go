// Package view is what the pages and the API show, and what they ask for it: plain values, the same for both, times in UTC and durations in
// seconds. Nothing here computes anything or knows where it comes from.
//
// The JSON names are those of the API v1 and only ever added to (docs/openapi.yml).
package view

import "time"

// Health is what an operator has to know first about a target.
type Health string

// The healths, worst first.
const (
	Failing  Health = "failing"  // requests fail
	Degraded Health = "degraded" // they succeed, but an objective is missed
	Unknown  Health = "unknown"  // nothing is known yet
	Idle     Health = "idle"     // nothing is sent: paused, in back-off, budget spent, draining
	Healthy  Health = "healthy"
)

// Healths is the closed list, worst first: the order in which the page lists targets.
var Healths = []Health{Failing, Degraded, Unknown, Idle, Healthy}

// Process is the daemon itself.
type Process struct {
	State      string     `json:"state"` // starting, ready, stopping
	Version    string     `json:"version"`
	Start      time.Time  `json:"start"`
	Targets    int        `json:"targets"`
	InFlight   int        `json:"in_flight"`
	Config     Config     `json:"config"`
	Instrument Instrument `json:"instrument"`
	// Bodies: prompts and answers are kept and shown (debug.keep_bodies).
	Bodies bool `json:"bodies"`
}

// Config is the configuration that is in effect, and how its last reload went.
type Config struct {
	Hash   string    `json:"hash"`
	Loaded time.Time `json:"loaded"` // when what is in effect was loaded
	// Reload is the last attempt; nil = there was none since the start.
	Reload *Reload `json:"reload,omitempty"`
	// RestartRequired lists what the files ask for that only a restart brings.
	RestartRequired []string `json:"restart_required,omitempty"`
	Warnings        []string `json:"warnings,omitempty"`
}

// Reload is one attempt to load the configuration anew.
type Reload struct {
	At      time.Time `json:"at"`
	Trigger string    `json:"trigger"` // signal, request, poll
	OK      bool      `json:"ok"`
	Error   string    `json:"error,omitempty"` // a finding per line
	Added   int       `json:"added"`
	Changed int       `json:"changed"`
	Removed int       `json:"removed"`
	Kept    int       `json:"kept"`
}

// Instrument tells how far the exporter's own measurements are to be trusted.
type Instrument struct {
	// Suspect lists what is wrong with this process or its host now; empty = nothing is.
	Suspect []string `json:"suspect"`
	// ErrorBar is the p99 error of the self-test's TTFT in seconds; nil = it is off or has not run yet. Samples is how many requests it rests on.
	ErrorBar *float64 `json:"error_bar_seconds,omitempty"`
	Samples  int      `json:"samples"`
}

// Target is one row of the fleet.
type Target struct {
	Name         string            `json:"name"`
	Model        string            `json:"model"`
	Workload     string            `json:"workload"`
	Endpoint     string            `json:"endpoint_type"`
	URL          string            `json:"url"` // without credentials
	Load         string            `json:"load"`
	LoadMode     string            `json:"load_mode"`
	LoadText     string            `json:"load_text"` // for people: "trickle, poisson 0.2/s"
	Labels       map[string]string `json:"labels"`
	Source       string            `json:"source"` // "file", or the name of the discovery set
	Generation   int               `json:"generation"`
	State        string            `json:"state"` // metrics.TargetState
	AskedRate    *float64          `json:"asked_rate_hz"`
	AchievedRate float64           `json:"achieved_rate_hz"` // requests that were sent, over the last minute
	InFlight     int               `json:"in_flight"`

	Health Health     `json:"health"`
	Since  *time.Time `json:"since,omitempty"` // of the health
	Reason string     `json:"reason"`          // of a health that is not healthy, one line

	LastRecord  *Record    `json:"last_record,omitempty"`
	LastSuccess *time.Time `json:"last_success,omitempty"`
	LastFailure *Record    `json:"last_failure,omitempty"`

	Window Window   `json:"window"`
	SLOs   []SLO    `json:"slos"`
	Budget []Budget `json:"budget"`
	// Points is the last hour, oldest first, one for each PointSeconds.
	Points []Point `json:"points"`
}

// PointSeconds is the length of what a Point sums up.
const PointSeconds = 30

// Window sums up the newest requests: those of the last five minutes, as far as they are kept.
type Window struct {
	Seconds  float64   `json:"seconds"` // that it covers
	Requests int       `json:"requests"`
	Failures int       `json:"failures"`
	TTFT     Quantiles `json:"ttft_seconds"`
	ITL      Quantiles `json:"itl_seconds"`
	Latency  Quantiles `json:"latency_seconds"`
	// Goodput is the share of requests that met every objective of the target; nil = it has none, or nothing was judged.
	Goodput *float64 `json:"goodput_ratio"`
	// Errors counts failures by class, Dropped arrivals by reason.
	Errors  map[string]int `json:"errors"`
	Dropped map[string]int `json:"dropped"`
}

// Quantiles are of the successes of a window; nil = there are too few samples.
type Quantiles struct {
	Samples int      `json:"samples"`
	P50     *float64 `json:"p50"`
	P95     *float64 `json:"p95"`
	P99     *float64 `json:"p99"`
}

// SLOState is what samples say of an objective.
type SLOState string

// The states of an objective.
const (
	Met      SLOState = "met"
	Missed   SLOState = "missed"
	Unproved SLOState = "unproved"
)

// SLOStates is the closed list.
var SLOStates = []SLOState{Met, Missed, Unproved}

// SLO is how a target does by one objective.
type SLO struct {
	Name      string  `json:"name"`
	Objective float64 `json:"objective_ratio"`
	// Samples is how many requests of the last hour were judged, Good how many of them were good.
	Samples int `json:"samples"`
	Good    int `json:"good"`
	// State is unproved where the samples are too few to tell at 95 % confidence.
	State SLOState `json:"state"`
	// Limits are for people: "ttft <= 500ms".
	Limits []string `json:"limits"`
}

// Budget is what of a limit is used.
type Budget struct {
	Kind   string  `json:"kind"`   // requests, tokens, usd …
	Period string  `json:"period"` // hour, day
	Used   float64 `json:"used"`
	Limit  float64 `json:"limit"`
}

// Point is the sum of PointSeconds; a quantile is nil where there was no success.
type Point struct {
	At       time.Time `json:"at"` // its end
	Requests int       `json:"requests"`
	Failures int       `json:"failures"`
	Dropped  int       `json:"dropped"`
	Judged   int       `json:"judged"`
	Good     int       `json:"good"`
	TTFT50   *float64  `json:"ttft_p50_seconds"`
	TTFT95   *float64  `json:"ttft_p95_seconds"`
	Latency  *float64  `json:"latency_p50_seconds"`
	Rate     *float64  `json:"output_tokens_per_second"` // of the requests that ended, per second of their life
}

// Record is one finished request.
type Record struct {
	ID       string    `json:"request_id"`
	TraceID  string    `json:"trace_id,omitempty"`
	Target   string    `json:"target"`
	At       time.Time `json:"at"` // when it was wanted
	Outcome  string    `json:"outcome"`
	Class    string    `json:"error_class,omitempty"`
	Detail   string    `json:"detail,omitempty"` // secrets removed
	Status   int       `json:"http_status,omitempty"`
	Finish   string    `json:"finish_reason,omitempty"`
	Suspect  bool      `json:"suspect,omitempty"`
	Warmup   bool      `json:"warmup,omitempty"`
	Reused   bool      `json:"connection_reused"`
	Missed   []string  `json:"slos_missed,omitempty"`
	Session  string    `json:"session,omitempty"`
	Turn     int       `json:"turn,omitempty"`
	Captured bool      `json:"captured,omitempty"` // its stream can be downloaded

	InputTokens  *int64   `json:"input_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	TTFT         *float64 `json:"ttft_seconds"`
	ITL          *float64 `json:"itl_seconds"`
	Latency      *float64 `json:"latency_seconds"`

	// Phases are the parts of its life, in order; together they are Total long.
	Phases []Phase `json:"phases"`
	Total  float64 `json:"total_seconds"`
	// Ticks are the instants of content events, in seconds from the start of the first phase; at most MaxTicks, evenly thinned out.
	Ticks []float64 `json:"ticks"`

	// Prompt and Answer are only kept with debug.keep_bodies, clipped.
	Prompt string `json:"prompt,omitempty"`
	Answer string `json:"answer,omitempty"`
}

// MaxTicks bounds the ticks of a record.
const MaxTicks = 256

// PhaseName is what a part of a request's life is called.
type PhaseName string

// The phases.
const (
	PhaseQueue   PhaseName = "queue"   // wanted until admitted
	PhasePrepare PhaseName = "prepare" // its payload is built
	PhaseDNS     PhaseName = "dns"
	PhaseConnect PhaseName = "connect"
	PhaseTLS     PhaseName = "tls"
	PhaseSend    PhaseName = "send"
	PhaseWait    PhaseName = "wait"   // sent until the first token: the server's queue and prefill
	PhaseDecode  PhaseName = "decode" // until the last token
	PhaseRest    PhaseName = "rest"   // until the end
)

// PhaseNames is the closed list, in the order in which phases follow each other.
var PhaseNames = []PhaseName{PhaseQueue, PhasePrepare, PhaseDNS, PhaseConnect, PhaseTLS, PhaseSend, PhaseWait, PhaseDecode, PhaseRest}

// Phase is a part of a request's life.
type Phase struct {
	Name  PhaseName `json:"name"`
	Start float64   `json:"start_seconds"`
	End   float64   `json:"end_seconds"`
}

// CollectorOK is the state of a collector that works.
const CollectorOK = "ok"

// Collector is something that reads somebody else's metrics.
type Collector struct {
	Kind     string     `json:"kind"`   // server, gpu, otlp
	Source   string     `json:"source"` // target and instance, or the name of the source
	Target   string     `json:"target,omitempty"`
	State    string     `json:"state"` // CollectorOK, or what is wrong
	Detail   string     `json:"detail,omitempty"`
	Last     *time.Time `json:"last_success,omitempty"`
	Duration *float64   `json:"duration_seconds"`
	Samples  int        `json:"samples"`
}

// DiscoverySet is one entry under target_discovery.
type DiscoverySet struct {
	Name         string     `json:"name"`
	Targets      []string   `json:"targets"`
	Dropped      []Dropped  `json:"dropped"`       // some of them
	DroppedCount int        `json:"dropped_count"` // of all
	Groups       int        `json:"groups"`
	Last         *time.Time `json:"last_refresh,omitempty"`
	Error        string     `json:"last_error,omitempty"`
}

// Dropped is what was discovered and is not used.
type Dropped struct {
	Address string            `json:"address"`
	Labels  map[string]string `json:"labels"` // as discovered, credentials hidden
	Reason  string            `json:"reason"`
	Detail  string            `json:"detail,omitempty"`
}

// Capture is a stream that was kept whole.
type Capture struct {
	ID      string    `json:"id"` // request id
	Target  string    `json:"target"`
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Class   string    `json:"error_class,omitempty"`
	Reason  string    `json:"reason"` // failed, slow
	Bytes   int       `json:"bytes"`
}
