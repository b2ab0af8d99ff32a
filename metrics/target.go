package metrics

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// TargetInfo is what the series of a target need to know about it.
type TargetInfo struct {
	Features

	Name, Model, Workload string
	URL                   string // without user and query
	EndpointType          string
	Load, LoadMode        string
	HTTPVersion           string
	ConnectionReuse       string
	Accounting            Accounting        // of output tokens, where the events do not tell
	Labels                map[string]string // from the configuration
	// UsageRefused: usage is not asked for in streams, because the server does not take the field.
	UsageRefused bool
	// Live is asked at each scrape. It must be safe for concurrent use and not wait; nil = nothing happens by itself. What it
	// counts is of the whole life of the target: that of an update goes on where the one before was.
	Live func() Live
}

// Target takes the events of one target and holds its series. All counters and gauges change under one lock and are read in one go, so
// that arrivals = sent + dropped + queued at every scrape. Safe for concurrent use.
type Target struct {
	store      *Store
	base       []string // values of the labels that all its series have
	generation int      // Store.mu guards it

	asking sync.Mutex // held while the target is asked what it says of itself, so that answers come in their order

	mu sync.Mutex // guards those below; Target.asking comes before it
	board
	updates  int // how often the board was replaced
	told     liveCounts
	sweep    sweep
	streamed sweepOrigin
	state    TargetState

	servedModel  string
	servedModels map[string]bool
}

const (
	// maxServedModels bounds the names of models that a server can put into a label.
	maxServedModels = 8
	maxLabelBytes   = 128
)

// newTarget begins a target. Store.mu is held.
func newTarget(s *Store, info *TargetInfo, generation int) *Target {
	now := s.options.Clock.Now()
	t := &Target{
		store:        s,
		base:         s.baseLabels(info),
		generation:   generation,
		sweep:        newSweep(now, info.Accounting),
		state:        StateStarting,
		told:         liveCounts{ended: map[SessionEnd]int64{}},
		servedModels: map[string]bool{},
	}
	t.board = *newBoard(t, info, now)
	return t
}

// Continues tells whether the target can be updated to info: the labels that all its series have are the same.
func (t *Target) Continues(info TargetInfo) bool {
	return slices.Equal(t.store.baseLabels(&info), t.base)
}

// Update changes what is known about the target, in place. Series that it has before and after go on as they are; those that it has no more
// end, and new ones begin at zero. Requests that run end right, whatever has changed. The labels that all its series have cannot change:
// that would be another target, and Update panics.
func (t *Target) Update(info TargetInfo) {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.baseLabels(&info), t.base) {
		panic(fmt.Sprintf("metrics: the update of target %q has other labels", t.base[0]))
	}
	t.generation++
	next := newBoard(t, &info, s.options.Clock.Now())
	for t.settleSome() {
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !streams(&t.info.Features) && streams(&info.Features) {
		t.settle(s.options.Clock.Now())
		t.streamed = t.sweep.origin()
	}
	next.inherit(&t.board)
	t.board = *next
	t.updates++
	t.sweep.accounting = info.Accounting
	if t.servedModel != "" {
		t.label()
	}
}

// relabel gives aiperf_target_info the labels of other settings.
func (t *Target) relabel(f *facts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.facts = f
	t.label()
}

// label renews the labels of aiperf_target_info.
func (t *Target) label() {
	t.children = slices.Clone(t.children) // a collection may be reading the old ones
	info := &t.children[t.at.info]
	info.desc, info.labels = t.facts.info, t.facts.labels(t.info, t.base, t.servedModel)
}

// served shows the model that the server says it used. Whatever a server may say, there are not more than maxServedModels of them.
func (t *Target) served(model string) {
	model = labelValue(model)
	if model == "" || model == t.servedModel {
		return
	}
	if !t.servedModels[model] && len(t.servedModels) == maxServedModels {
		model = "other"
	} else {
		t.servedModels[model] = true
	}
	t.servedModel = model
	t.label()
}

// modelHash is the first 52 bits of a hash of what a server says it is: a float64 holds them exactly, and changes() sees each change.
func modelHash(model, fingerprint string) float64 {
	sum := sha256.Sum256([]byte(model + "\x00" + fingerprint))
	return float64(binary.BigEndian.Uint64(sum[:]) >> 12)
}

// labelValue makes a server's word fit for a label.
func labelValue(word string) string {
	word = strings.ToValidUTF8(word, "\uFFFD")
	if len(word) > maxLabelBytes {
		word = strings.ToValidUTF8(word[:maxLabelBytes], "")
	}
	return word
}

// SetState says what the target is doing.
func (t *Target) SetState(state TargetState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = state
}

// UsageRefused notes that the server does not take the field that asks for usage in streams. It holds until the next Update.
func (t *Target) UsageRefused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[t.at.usageSupported] = 0
}
