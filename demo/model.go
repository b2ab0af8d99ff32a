package demo

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/demo/engine"
)

// model serves one profile: it drives the engine in real time. Between requests it has neither a goroutine nor a timer running, so
// there is nothing to close.
type model struct {
	profile *Profile
	quoted  []byte // the name as JSON
	seed    uint64
	start   time.Time // zero of episodes and of the background load
	ins     *instruments
	// injection is what somebody asked for.
	injection atomic.Pointer[injection]

	mu     sync.Mutex // guards all below, and the sequences that are in the engine
	engine *engine.Engine
	timer  *time.Timer // calls endStep at due
	due    time.Time   // end of the step in progress; zero = the engine is idle
	taken  uint64      // requests so far
}

// job is one request on its way through the engine.
type job struct {
	ask   *ask
	model *model
	seq   engine.Sequence
	rng   *rand.Rand // text and identifier
	fault *Fault     // what will go wrong, nil = nothing

	previous time.Time // last token
	// outputs gets a value for each token. It has room for the whole answer, so that a client that reads slowly never holds up the
	// engine.
	outputs chan struct{}
}

func newModel(p *Profile, seed uint64, start time.Time, f *families) *model {
	name := fnv.New64a()
	name.Write([]byte(p.Name))
	seed ^= name.Sum64()              // two models of one server are not twins
	quoted, _ := json.Marshal(p.Name) // a string cannot fail
	return &model{
		profile: p,
		quoted:  quoted,
		seed:    seed,
		start:   start,
		ins:     f.forModel(p.Name),
		engine:  engine.New(p.Engine, seed, start),
	}
}

// newJob takes a request and decides its fate, which depends only on the seed, the time and how many requests came before.
func (m *model) newJob(a *ask) *job {
	m.mu.Lock()
	m.taken++
	number := m.taken
	m.mu.Unlock()

	j := &job{
		ask:     a,
		model:   m,
		rng:     rand.New(rand.NewPCG(m.seed, number)),
		outputs: make(chan struct{}, a.limit),
	}
	j.seq = engine.Sequence{PromptTokens: a.promptTokens, Limit: a.limit, Emit: j.emit}
	j.fault = draw(m.profile.Faults, time.Since(m.start), j.rng)
	if f := m.injected(); f != nil && f.Kind != Slow && (f.Probability == 1 || j.rng.Float64() < f.Probability) {
		j.fault = f
	}
	return j
}

// submit puts a request into the engine.
func (m *model) submit(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.engine.Add(&j.seq, now)
	if m.due.IsZero() {
		m.beginStep(now, now)
	}
}

// abandon takes a request that is not done out of the engine and counts it under reason.
func (m *model) abandon(j *job, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.engine.Cancel(&j.seq) {
		return
	}
	m.ins.finished[reason].Inc()
	if m.engine.Idle() {
		m.timer.Stop()
		m.due = time.Time{}
	}
}

// beginStep lets the engine form a batch at now and ends its step as long after from as it takes.
func (m *model) beginStep(now, from time.Time) {
	factor := slowdown(m.profile.Faults, now.Sub(m.start))
	if f := m.injected(); f != nil && f.Kind == Slow {
		factor *= f.Factor
	}
	took, busy := m.engine.Begin(now, factor)
	if !busy {
		m.due = time.Time{}
		return
	}
	m.due = from.Add(took)
	if m.timer == nil {
		m.timer = time.AfterFunc(time.Until(m.due), m.endStep)
	} else {
		m.timer.Reset(time.Until(m.due))
	}
}

// endStep is called by the timer. The next step begins where this one should have ended, so that late timers do not add up; only when
// the process was held up for more than a whole step does the schedule start afresh, for a real engine would not catch up either.
func (m *model) endStep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.due.IsZero() || now.Before(m.due) {
		return // the step was given up while the timer fired
	}
	from := m.due
	m.engine.End(now)
	if now.Sub(from) > m.profile.Engine.StepTime {
		from = now
	}
	m.beginStep(now, from)
}

// emit is called by the engine for each token, hence with the lock held.
func (j *job) emit(now time.Time) {
	j.model.ins.emitted(j, j.previous, now)
	j.previous = now
	if j.seq.Done() {
		j.model.ins.completed(j)
	}
	j.outputs <- struct{}{}
}

// load is what the engine is busy with now.
func (m *model) load() engine.Load {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.engine.Load(time.Now())
}

func (m *model) preemptions() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.engine.Preemptions()
}
