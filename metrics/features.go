package metrics

import "slices"

// Features are what decides which series a target has: what cannot happen to it has no series, not one that is zero for ever.
type Features struct {
	Product   Product
	Streaming bool
	// ClosedLoop: the server decides the rate, so that none is asked for.
	ClosedLoop bool
	// Sessions: requests belong to conversations of several turns.
	Sessions bool
	// Dataset: what is asked comes from a file. Replay: at the times of the file, too.
	Dataset, Replay bool
	Budget          []BudgetLimit
	// Checks are the kinds of checks that answers have to pass.
	Checks []string
	// Fingerprint: answers to fixed questions are compared with a baseline.
	Fingerprint bool
	SLOs        []SLO
	// Cost is what its machines cost, Prices what a vendor asks for its tokens.
	Cost   CostConfig
	Prices Prices
}

// BudgetLimit is one limit on what may be spent in a calendar period.
type BudgetLimit struct {
	Kind, Period string
	Limit        float64 // requests, tokens or US dollars
}

// Live is what a target says of itself at the instant of a scrape.
type Live struct {
	RateHz        float64 // asked for now, unless Paused
	Paused        bool
	BackoffActive bool
	// BudgetUsed has the order of Features.Budget.
	BudgetUsed      []float64
	BudgetExhausted bool
	Sessions        int // conversations between two of their turns, or in one
	EndedSessions   map[SessionEnd]int64
	Passes          int64 // of the recording that are over
	SkippedRows     int64 // of the dataset
}

// SessionEnd is how a conversation ended.
type SessionEnd string

// The ends.
const (
	SessionCompleted SessionEnd = "completed"
	SessionFailed    SessionEnd = "failed"    // a turn failed, which ends the conversation
	SessionTruncated SessionEnd = "truncated" // the next turn would not fit into the context, or too many conversations were open
)

// SessionEnds is the closed list.
var SessionEnds = []SessionEnd{SessionCompleted, SessionFailed, SessionTruncated}

// RateLimit is what a server says about one of its limits.
type RateLimit struct {
	Resource         string // requests, tokens, input_tokens, output_tokens
	Limit, Remaining Value
	Reset            Value // seconds until it is whole again
}

// Drift is what comparing an answer with the baseline of its question gave.
type Drift string

// The results.
const (
	DriftSame    Drift = "same"
	DriftChanged Drift = "changed"
	DriftUnknown Drift = "unknown" // there is no baseline yet, or the answers of the target are not stable enough for one
)

// Drifts is the closed list.
var Drifts = []Drift{DriftSame, DriftChanged, DriftUnknown}

// The conditions on which series exist.

func generates(f *Features) bool { return f.Product.Generates() }

func streams(f *Features) bool { return f.Product.Generates() && f.Streaming }

func produces(products ...Product) func(*Features) bool {
	return func(f *Features) bool { return slices.Contains(products, f.Product) }
}

func partialImages(f *Features) bool { return f.Product == ProductImages && f.Streaming }

func openLoop(f *Features) bool  { return !f.ClosedLoop }
func budgeted(f *Features) bool  { return len(f.Budget) > 0 }
func converses(f *Features) bool { return f.Sessions }
func recorded(f *Features) bool  { return f.Dataset }

func replays(f *Features) bool      { return f.Replay }
func checked(f *Features) bool      { return len(f.Checks) > 0 }
func fingerprints(f *Features) bool { return f.Fingerprint }

func costsByHour(f *Features) bool   { return f.Cost.PerHour > 0 }
func costsByEnergy(f *Features) bool { return f.Cost.PerKWh > 0 }
func priced(f *Features) bool        { return f.Prices != Prices{} }
