package demo

import (
	"math/rand/v2"
	"time"
)

// FaultKind names a way to misbehave.
type FaultKind string

// The faults.
const (
	Slow        FaultKind = "slow"         // all steps of the engine take Factor times as long
	RateLimit   FaultKind = "rate_limit"   // 429 with Retry-After
	ServerError FaultKind = "server_error" // 500 with an error object
	CutStream   FaultKind = "cut_stream"   // the connection is closed in the middle of the answer
	StreamError FaultKind = "stream_error" // an error object in the middle of a 200 stream; a 500 where nothing is streamed
	Stall       FaultKind = "stall"        // the answer goes silent until the client gives up
	HTML        FaultKind = "html"         // a page with status 200, as gateways send it
	Empty       FaultKind = "empty"        // a whole, well-formed answer without any token
)

// Fault is one way to misbehave, and when.
type Fault struct {
	Kind FaultKind
	// Probability is the share of requests hit while the fault is active. Slow has none: it hits the engine, hence all of them.
	Probability float64
	// Episode limits the fault to recurring times; the zero Episode is always.
	Episode Episode
	// Factor is how many times longer a step takes; Slow only.
	Factor float64
	// AfterTokens is how many tokens of a stream are sent before it goes wrong; CutStream, StreamError and Stall only. An answer that
	// is not longer goes wrong after its last token, before its end.
	AfterTokens int
	// RetryAfter is told to the client in whole seconds; RateLimit only.
	RetryAfter time.Duration
}

// Episode is a recurring time: the first begins Offset after the server's start, each Lasts that long, the next begins Every later.
type Episode struct {
	Every, Lasts, Offset time.Duration
}

// active tells whether the instant since after the server's start lies in an episode.
func (e Episode) active(since time.Duration) bool {
	if e == (Episode{}) {
		return true
	}
	return since >= e.Offset && (since-e.Offset)%e.Every < e.Lasts
}

// slowdown is the product of the factors of all active Slow faults.
func slowdown(faults []Fault, since time.Duration) float64 {
	factor := 1.0
	for i := range faults {
		if f := &faults[i]; f.Kind == Slow && f.Episode.active(since) {
			factor *= f.Factor
		}
	}
	return factor
}

// draw decides which fault hits a request, nil for none. Each active fault has its chance, in their order.
func draw(faults []Fault, since time.Duration, rng *rand.Rand) *Fault {
	for i := range faults {
		f := &faults[i]
		if f.Kind == Slow {
			continue
		}
		// Drawn even when the fault is not active, so that a request's other random values do not depend on the time.
		hit := rng.Float64() < f.Probability
		if hit && f.Episode.active(since) {
			return f
		}
	}
	return nil
}
