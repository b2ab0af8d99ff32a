// Package report turns the finished requests of a one-shot run into something to read or to compare: a table for people, and files in
// the shape of AIPerf 0.13.0 (JSON, CSV, and one JSON line per request), so that a script written for one tool reads the other.
//
// Tags, headings, units (milliseconds) and the set of statistics are AIPerf's, here and nowhere else in this program. What only we know
// stands under the one key "exporter". Where a figure of the same name is defined better here, it is ours: effective latency starts at the
// scheduled instant, a broken stream is an error, HTTP waiting ends with the first byte of the header, not of the body.
//
// What GPUs took and servers counted meanwhile is handed in (Meta.GPUs, Meta.Servers) for the window of the throughputs; what is not known there
// is left out.
//
// To add a figure: one line in the table of catalog.go, of power.go if it needs energy. The package must never measure: it reads records and their
// measures.
package report

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Meta is what a report says about a run beside its requests.
type Meta struct {
	ID      string // 12 hexadecimal digits, see NewID
	Version string // of this program
	Command string // as typed

	Target    string
	URL       string // public: without user information and query
	Model     string
	Endpoint  string // wire protocol: chat, completions, …
	Streaming bool
	Workload  Workload
	Load      Load
	Seed      uint64

	// Epoch is the wall-clock time of instant 0 of the records.
	Epoch time.Time
	// Interrupted: the run ended before it had done what was asked of it.
	Interrupted bool

	// GPUs are those that served the target; nil = nobody looked.
	GPUs *GPUs
	// Servers are what the servers said meanwhile; nil = nobody asked.
	Servers *ServerWindow
}

// Workload is what was asked of the server.
type Workload struct {
	Name                      string
	InputTokens, OutputTokens Length
	Format, File              string // of a dataset; "" = prompts are made up
}

// Length is a distribution of token counts; a mean of 0 = no limit.
type Length struct{ Mean, Stddev float64 }

// Load is when it was asked.
type Load struct {
	Mode        string        // arrival process
	Rate        float64       // requests per second
	Concurrency int           // of a closed load: users, each of whom asks again when it is answered
	MaxInFlight int           // 0 = no limit
	Requests    int64         // stop after so many; 0 = no limit
	Duration    time.Duration // stop after so long; 0 = no limit
}

// NewID makes an identifier for a run.
func NewID() string {
	var id [6]byte
	// crypto/rand.Read never fails: it ends the process instead.
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// Report is the result of a run against one target. It does not change any more.
type Report struct {
	Meta Meta
	// Start and End bound the window that throughputs are divided by: from the first scheduled instant until the last request has
	// ended, however it ended. Both are zero if there was no request.
	Start, End time.Time

	Successes, Failures, Cancelled int64 // without warm-up
	Abandoned                      int64 // of Cancelled, those that the load wanted to be
	WarmUp                         int64
	Items                          map[metrics.Product]int64 // vectors, documents or images of the successes
	AudioSeconds                   float64                   // of the clips that were transcribed
	Dropped                        map[metrics.DropReason]int64

	Errors []ErrorCount // most frequent first
	SLOs   []SLOResult  // in the order given to NewCollector
	Notes  []string     // what a reader should know before believing a figure

	// Metrics are AIPerf's, Extra our own, Server what the servers say. They hold only figures that have a value.
	Metrics, Extra, Server []Metric

	tokenSources map[string]map[metrics.TokenSource]int64
	finish       map[metrics.FinishReason]int64
	samples      []*sample
	server       *serverCounts // nil = nothing is known
}

// Metric is one figure of a report.
type Metric struct {
	Tag, Header, Unit string
	// Scalar: a figure of the run, not of its requests. Only Stats.Avg has a meaning.
	Scalar bool
	Stats  Stats

	leading bool // stands before the run's own description in the JSON file, as in AIPerf's
}

// ErrorCount is how often requests failed for one reason. There are at most as many as error classes times HTTP statuses.
type ErrorCount struct {
	Class  metrics.ErrorClass
	Status int    // HTTP status; 0 = no answer
	Detail string // of the first such failure
	Count  int64
}

// SLOResult says whether an objective was kept.
type SLOResult struct {
	SLO metrics.SLO
	// Good of Total requests kept every limit. Total are successes, Failures and, if the SLO counts them, the Drops that the server's
	// slowness caused.
	Good, Total, Failures, Drops int64
	Goodput                      float64 // good requests per second
	// Violations count the successes that broke a limit, in the order of the SLO's thresholds; limits that nobody broke are left out.
	Violations []Violation
}

// Violation is how often a limit was broken.
type Violation struct {
	Threshold metrics.Threshold
	Count     int64
}

// Ratio is the share of good requests, 0 if there were none at all.
func (s *SLOResult) Ratio() float64 {
	if s.Total == 0 {
		return 0
	}
	return float64(s.Good) / float64(s.Total)
}

// Met tells whether the share of good requests reaches the objective. Nothing measured is nothing proven: without requests it is not met.
func (s *SLOResult) Met() bool { return s.Total > 0 && s.Ratio() >= s.SLO.Objective }

// Failed tells whether any request failed or had to be cancelled, none did what the load wanted, fewer were sent than asked for, or the run was
// interrupted: nothing of that may pass for a good result.
func (r *Report) Failed() bool {
	return r.Failures > 0 || r.Cancelled > r.Abandoned || r.Successes+r.Abandoned == 0 || r.short() || r.Meta.Interrupted
}

// short tells whether fewer requests were sent than asked for, although there was no end of time.
func (r *Report) short() bool {
	asked := &r.Meta.Load
	return asked.Duration == 0 && r.Successes+r.Failures+r.Cancelled+r.WarmUp < asked.Requests
}

// SLOMissed tells whether any objective was not kept.
func (r *Report) SLOMissed() bool {
	for i := range r.SLOs {
		if !r.SLOs[i].Met() {
			return true
		}
	}
	return false
}

// Metric finds a figure by AIPerf's tag or by ours.
func (r *Report) Metric(tag string) (Metric, bool) {
	for _, list := range [][]Metric{r.Metrics, r.Extra, r.Server} {
		for _, m := range list {
			if m.Tag == tag {
				return m, true
			}
		}
	}
	return Metric{}, false
}

// wall is the wall-clock time of an instant, without a monotonic part that would win over it in comparisons.
func (r *Report) wall(at int64) time.Time { return r.Meta.Epoch.Add(time.Duration(at)).Round(0).UTC() }

// window is the length of the measurement in seconds.
func (r *Report) window() float64 { return r.End.Sub(r.Start).Seconds() }
