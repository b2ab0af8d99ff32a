package metrics

// Value is a figure that may not exist for a request: seconds for latencies, tokens for counts, tokens per second for rates. A figure that
// cannot be told is undefined, never 0 and never NaN.
type Value struct {
	V       float64
	Defined bool
}

// Phases are the parts of an HTTP exchange, in seconds; a part that did not happen is undefined, so that means are of real ones.
type Phases struct {
	Blocked, DNS, Connect, TLS, Send, Wait, Receive Value
}

// Measures are the figures of one record. Where AIPerf 0.13.0 differs, the field says so.
type Measures struct {
	TTFT             Value // first content event − start; streams only
	TTFO             Value // first content event that is not reasoning − start; streams only
	FirstImage       Value // first image, a partial one included − start; streams of images only
	TTST             Value // gap between the first and the second content event
	ITL              Value // (latency − TTFT) / (output tokens − tokens in the first content event); not from estimated counts
	RequestLatency   Value // last content event − start; end of the body if not a stream
	EffectiveLatency Value // last content event − scheduled instant. AIPerf starts it when a slot is free, and so cannot see waiting
	DecodeDuration   Value // latency − TTFT
	FirstEvent       Value // first event of any kind − start
	StreamSetup      Value // header − start
	ScheduleDelay    Value // start − scheduled instant, for every record
	DispatchDelay    Value // start − admitted, for every record
	Total            Value // end − start, for every record

	InputTokens, OutputTokens, ReasoningTokens Value
	PerUserRate                                Value // 1 / ITL
	E2ERate                                    Value // output tokens / latency
	PrefillRate                                Value // input tokens / TTFT

	Phases Phases
}

// Measure computes the figures of a record. It reads nothing but the record; whether the figures of a failed request count is the
// caller's decision.
func Measure(r *Record) Measures {
	t := &r.Time
	m := Measures{
		FirstEvent:    between(t.Start, t.FirstEvent),
		StreamSetup:   between(t.Start, t.Header),
		ScheduleDelay: between(t.Sched, t.Start),
		DispatchDelay: between(t.Issue, t.Start),
		Total:         between(t.Start, t.End),
		Phases:        measurePhases(t),
	}
	m.InputTokens = count(r.Usage.Input)
	m.OutputTokens = count(r.Usage.Output)
	m.ReasoningTokens = count(r.Usage.Reasoning)
	n := len(r.Content)
	if n == 0 {
		return m
	}
	first, last := r.Content[0], r.Content[n-1]
	m.RequestLatency = between(t.Start, last)
	m.EffectiveLatency = between(t.Sched, last)
	if m.RequestLatency.V > 0 && m.OutputTokens.Defined {
		m.E2ERate = Value{m.OutputTokens.V / m.RequestLatency.V, true}
	}
	if !r.Streaming {
		m.FirstEvent, m.StreamSetup = Value{}, Value{}
		return m
	}
	if !r.Product.Generates() {
		m.FirstImage = between(t.Start, first)
		return m
	}
	m.TTFT = between(t.Start, first)
	m.TTFO = between(t.Start, t.FirstOutput)
	m.DecodeDuration = Value{Seconds(last - first), true}
	if n > 1 {
		m.TTST = Value{Seconds(r.Content[1] - first), true}
	}
	m.ITL = interTokenLatency(r, last-first)
	if m.ITL.V > 0 {
		m.PerUserRate = Value{1 / m.ITL.V, true}
	}
	if m.TTFT.V > 0 && m.InputTokens.Defined {
		m.PrefillRate = Value{m.InputTokens.V / m.TTFT.V, true}
	}
	return m
}

// interTokenLatency divides the decode time by the tokens that came after the first content event. An estimated count would turn it
// into the gap between chunks, so it is undefined then.
func interTokenLatency(r *Record, decode int64) Value {
	out := r.Usage.Output
	if !out.Known || out.N < 2 || !r.OutputSource.Exact() {
		return Value{}
	}
	k := int64(1)
	if r.FirstTokens.Known && r.FirstTokens.N > 0 && out.N-r.FirstTokens.N >= 1 {
		k = r.FirstTokens.N
	}
	return Value{float64(decode) / float64(out.N-k) / 1e9, true}
}

func measurePhases(t *Timeline) Phases {
	p := Phases{
		DNS:     between(t.DNSStart, t.DNSDone),
		Connect: between(t.ConnectStart, t.ConnectDone),
		TLS:     between(t.TLSStart, t.TLSDone),
		Send:    between(t.ConnDone, t.Sent),
		Wait:    between(t.Sent, t.FirstByte),
		Receive: between(t.Header, t.End),
	}
	if blocked := between(t.ConnStart, t.ConnDone); blocked.Defined {
		blocked.V = max(0, blocked.V-p.DNS.V-p.Connect.V-p.TLS.V)
		p.Blocked = blocked
	}
	return p
}

// between is the time from one instant to another, undefined if either did not happen or they stand in the wrong order.
func between(from, to int64) Value {
	if from == 0 || to == 0 || to < from {
		return Value{}
	}
	return Value{Seconds(to - from), true}
}

func count(c Count) Value { return Value{float64(c.N), c.Known} }

// Invalid says what is impossible about a record; "" = nothing. Such a record is a fault of ours and must not reach a histogram.
func Invalid(r *Record) InvalidReason {
	t := &r.Time
	before := int64(0)
	inOrder := func(at int64) bool {
		if at == 0 {
			return true
		}
		ok := at >= before
		before = at
		return ok
	}
	for _, at := range []int64{t.Sched, t.Issue, t.Start, t.Sent, t.Header} {
		if !inOrder(at) {
			return InvalidOrder
		}
	}
	for _, at := range r.Content {
		if !inOrder(at) {
			return InvalidOrder
		}
	}
	if !inOrder(t.End) {
		return InvalidOrder
	}
	for _, c := range []Count{r.Usage.Input, r.Usage.Output, r.Usage.Reasoning, r.Usage.CachedInput, r.Usage.CacheWrite} {
		if c.Known && c.N < 0 {
			return InvalidCount
		}
	}
	return ""
}
