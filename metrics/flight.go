package metrics

import "slices"

// Dropped notes n arrivals that ended at once without being sent.
func (t *Target) Dropped(reason DropReason, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrive(float64(n))
	t.drop(reason, float64(n))
}

func (t *Target) arrive(n float64) {
	t.values[t.at.arrivals] += n
	if t.state == StateStarting {
		t.state = StateRunning
	}
}

func (t *Target) drop(reason DropReason, n float64) {
	t.values[t.at.dropped[reason]] += n
	if reason.OwnFault() {
		t.store.Suspect(SuspectDrops, t.store.options.Clock.Now())
	}
	if !reason.CausedByServer() {
		return
	}
	for i := range t.info.SLOs {
		if t.info.SLOs[i].CountDrops {
			t.values[t.at.sloRequests[i]] += n
			t.values[t.at.badRun[i]] += n
		}
	}
}

// Queued notes an arrival that waits for a free slot; Dequeued must follow.
func (t *Target) Queued() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrive(1)
	t.values[t.at.inflight["queued"]]++
}

// DequeuedDropped notes that a queued arrival will not be sent.
func (t *Target) DequeuedDropped(reason DropReason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[t.at.inflight["queued"]]--
	t.drop(reason, 1)
}

// Sent notes an arrival that is sent at once.
func (t *Target) Sent() *Flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrive(1)
	return t.takeOff()
}

// DequeuedSent notes a queued arrival that is now sent.
func (t *Target) DequeuedSent() *Flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[t.at.inflight["queued"]]--
	return t.takeOff()
}

func (t *Target) takeOff() *Flight {
	t.values[t.at.sent]++
	t.values[t.at.inflight["prefill"]]++
	return &Flight{target: t, info: t.info, phase: "prefill"}
}

// Flight is a request that has been sent and has not ended. Finish must be called exactly once.
type Flight struct {
	target *Target
	info   *TargetInfo // what the target was when the request was sent: it may be something else when the request ends
	phase  string
	whole  bool // no stream was asked for, though the target's requests ask for streams
	open   openRequest
}

// Whole notes that the request asks for no stream, though the target's requests do. Call it before Start.
func (f *Flight) Whole() { f.whole = true }

// Start notes that the request leaves this process at the instant at, with a prompt that has inputTokens as far as is known by now. It is
// not called for a request that never leaves, nor for one of the warm-up, which has no part in the throughput.
func (f *Flight) Start(at, inputTokens int64) {
	t := f.target
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep.start(&f.open, at, inputTokens, f.info.Streaming && !f.whole)
}

// Content notes a content event of a stream that arrived at the instant at. output is the number of tokens so far, if the event tells it.
func (f *Flight) Content(at int64, output Count) {
	t := f.target
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep.content(&f.open, at, output)
	if f.phase == "decode" {
		return
	}
	t.values[t.at.inflight[f.phase]]--
	f.phase = "decode"
	t.values[t.at.inflight[f.phase]]++
}

// Finish counts and observes the record, and returns its measures and the verdicts of the SLOs that the target had when the request was
// sent, in their order. An impossible record is turned into a failure of class client_internal first. The record is not kept.
func (f *Flight) Finish(r *Record) (Measures, []Verdict) {
	t := f.target
	invalid := Invalid(r)
	if invalid != "" {
		r.Outcome, r.Class, r.Detail = Failure, ErrClientInternal, "impossible record: "+string(invalid)
	}
	m := Measure(r)
	var verdicts []Verdict
	if r.Outcome != Cancelled {
		verdicts = make([]Verdict, len(f.info.SLOs))
		for i := range f.info.SLOs {
			verdicts[i] = f.info.SLOs[i].Evaluate(r, &m)
		}
	}
	gaps := t.store.countGaps(r)
	defer t.store.forgetGaps(gaps)
	t.mu.Lock()
	t.sweep.finish(&f.open, r)
	t.values[t.at.inflight[f.phase]]--
	if r.Warmup {
		t.values[t.at.warmup[r.Outcome]]++
		t.mu.Unlock()
		return m, verdicts
	}
	if invalid != "" {
		t.values[t.at.invalid[invalid]]++
	}
	if r.Suspect = t.store.process.suspicion.Touches(r.begin()); r.Suspect {
		t.values[t.at.suspect]++
	}
	t.countOutcome(r)
	t.countTransport(r)
	t.countTokens(r)
	t.countVerdicts(f.info.SLOs, verdicts)
	t.countLimits(r.Limits)
	t.countAnswer(r)
	t.served(r.ServedModel)
	if invalid == "" {
		t.hist.observe(r, &m, gaps)
	}
	t.mu.Unlock()

	if invalid == "" {
		t.store.process.observe(r)
	}
	return m, verdicts
}

func (t *Target) countOutcome(r *Record) {
	t.values[t.at.requests[r.Outcome]]++
	if r.Outcome == Cancelled {
		return
	}
	end := unixSeconds(t.store.options.Clock.Wall(r.Time.End))
	t.values[t.at.lastCompletion] = end
	if r.Outcome == Failure {
		t.values[t.at.errors[r.Class]]++
		t.values[t.at.up] = 0
		return
	}
	t.values[t.at.up] = 1
	t.values[t.at.lastSuccess] = end
	if r.Finish != "" {
		t.values[t.at.finish[r.Finish]]++
	}
}

func (t *Target) countTokens(r *Record) {
	into := t.at.tokens
	if r.Outcome != Success {
		into = t.at.failedTokens
	}
	u := &r.Usage
	for _, c := range []struct {
		kind string
		n    int64
	}{{"input", u.Input.N}, {"output", u.Output.N}, {"reasoning", u.Reasoning.N}, {"cached_input", u.CachedInput.N}, {"cache_write", u.CacheWrite.N}} {
		t.values[into[c.kind]] += float64(c.n)
	}
	if r.Outcome != Success {
		return
	}
	if r.Streaming {
		t.values[t.at.contentEvents] += float64(len(r.Content))
		t.values[t.at.coalesced] += float64(r.Coalesced)
	}
	t.values[t.at.inputSource[r.InputSource]]++
	t.values[t.at.outputSource[r.OutputSource]]++
	if r.UsageMissing {
		t.values[t.at.usageMissing]++
	}
	if _, wrong := r.LengthError(); wrong {
		t.values[t.at.oslMismatch]++
	}
}

// countAnswer counts what an answer was, beside its tokens.
func (t *Target) countAnswer(r *Record) {
	for _, check := range r.FailedChecks {
		if at, ok := t.at.checks[check]; ok {
			t.values[at]++
		}
	}
	if r.Drift != "" {
		t.values[t.at.drift[r.Drift]]++
		if r.DriftMatch.Defined {
			t.values[t.at.driftMatch] = r.DriftMatch.V
		}
		if r.DriftDistance.Defined {
			t.values[t.at.driftDistance] = r.DriftDistance.V
		}
	}
	if r.Outcome != Success {
		return
	}
	if r.Product == t.info.Product { // else it was asked for when the target was something else
		t.values[t.at.items] += float64(r.Items)
	}
	t.values[t.at.audioSeconds] += r.AudioSeconds
	if r.ServedModel != "" || r.Fingerprint != "" {
		t.values[t.at.modelHash] = modelHash(r.ServedModel, r.Fingerprint)
	}
}

// countVerdicts counts what SLOs say of a request. They are those of its beginning: one that the target has no more, or a limit, is not
// counted any more.
func (t *Target) countVerdicts(slos []SLO, verdicts []Verdict) {
	for i, v := range verdicts {
		name := slos[i].Name
		at := slices.IndexFunc(t.info.SLOs, func(slo SLO) bool { return slo.Name == name })
		if at < 0 {
			continue
		}
		t.values[t.at.sloRequests[at]]++
		if v.Good {
			t.values[t.at.good[at]]++
			t.values[t.at.badRun[at]] = 0
		} else {
			t.values[t.at.badRun[at]]++
		}
		for _, metric := range v.Violated {
			if limit, ok := t.at.violations[at][metric]; ok {
				t.values[limit]++
			}
		}
	}
}
