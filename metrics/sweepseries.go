package metrics

// Classic boundaries of the time-weighted histograms. Those of the throughputs hold for all phases, so that a sum over le never mixes
// two sets. The value 0 has a bucket of its own.
var (
	boundsPhaseRate     = []float64{0, 1, 2, 5, 10, 25, 50, 75, 100, 150, 200, 250, 300, 500, 750, 1000, 1500, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1e6, 5e6, 1e7}
	boundsPhaseUserRate = []float64{0, 1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250, 300, 500, 750, 1000, 2000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1e6}
	boundsConcurrency   = []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

func sweepSeries() []Series {
	phase, state := Label{"phase", SweepPhases}, Label{"state", sweepStates}
	return []Series{
		{
			Name: "aiperf_sweep_settled_seconds_total", Kind: Counter, Scope: PerTarget, Unit: "seconds",
			Help: "Time up to the watermark, before which every phase of every request is known. All series of phases stop there at each scrape; their rates over the rate of this one are time-weighted means.",
		},
		{
			Name: "aiperf_phase_tokens_total", Kind: Counter, Scope: PerTarget, Unit: "tokens", Labels: []Label{phase},
			Help: "Tokens up to the watermark: input over the prefill, output after the first content event over the gaps between events; total is their sum. A phase that ends in a failure or a cancellation gives none.",
		},
		{
			Name: "aiperf_phase_active_seconds_total", Kind: Counter, Scope: PerTarget, Unit: "seconds", Labels: []Label{phase},
			Help: "Time up to the watermark with at least one request in the phase. prefill: start to first content event; decode: first to last content event; total: start to end, failed, cancelled and unstreamed requests included.",
		},
		{
			Name: "aiperf_phase_request_seconds_total", Kind: Counter, Scope: PerTarget, Unit: "seconds", Labels: []Label{phase},
			Help: "Sum over requests of their time in the phase, up to the watermark: its rate is the mean concurrency.",
		},
		{
			Name: "aiperf_phase_throughput_tokens_per_second", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "tokens per second", Labels: []Label{phase, state},
			Bounds: boundsPhaseRate, weighted: true,
			Help: "Throughput of all requests in the phase together, weighted by how long it lasted; weights are microseconds. idle: nothing was in the phase, so that both states together are all of the time.",
		},
		{
			Name: "aiperf_phase_throughput_tokens_per_second_per_user", Kind: Histogram, Scope: PerTarget, when: streams, Unit: "tokens per second", Labels: []Label{phase, state},
			Bounds: boundsPhaseUserRate, weighted: true,
			Help: "Throughput of the phase over the number of requests in it, weighted by how long it lasted; weights are microseconds.",
		},
		{
			Name: "aiperf_phase_concurrency_requests", Kind: Histogram, Scope: PerTarget, Unit: "requests", Labels: []Label{phase},
			Bounds: boundsConcurrency, weighted: true,
			Help: "Number of requests in the phase, weighted by how long it lasted; weights are microseconds.",
		},
		{
			Name: "aiperf_tokens_in_flight_token_seconds_total", Kind: Counter, Scope: PerTarget, Unit: "token seconds",
			Help: "Sum over tokens of running requests of their time in flight: input from the start, output as it arrives, all until the end of their request. Its rate is the mean number of tokens that the server has to hold.",
		},
		{
			Name: "aiperf_sweep_watermark_lag_seconds", Kind: Gauge, Scope: PerTarget, Unit: "seconds",
			Help: "Time from the watermark to now: how long the oldest prefill or gap between events has been open, 30 seconds at most.",
		},
		{
			Name: "aiperf_sweep_decode_tokens_total", Kind: Counter, Scope: PerTarget, when: streams, Unit: "tokens", Labels: []Label{{"accounting", attributions}},
			Help: "Output tokens after the first content event by how their number was known: usage_chunk (told by the events), estimated (usual tokens for each event), even_spread (count at the end over all gaps). Late tokens are left out.",
		},
		{
			Name: "aiperf_sweep_late_tokens_total", Kind: Counter, Scope: PerTarget, when: streams, Unit: "tokens",
			Help: "Tokens that are in aiperf_phase_tokens_total but in no histogram of throughput: their time had been settled when they became known.",
		},
		{
			Name: "aiperf_sweep_forced_intervals_total", Kind: Counter, Scope: PerTarget, Unit: "intervals",
			Help: "Prefills and gaps between events that were open for over 30 seconds, or while more changes waited than memory is for, and were settled in part as active without tokens.",
		},
	}
}

// sweepSlots are the places of the counters and gauges of the sweep.
type sweepSlots struct {
	settled, lag, tokenSeconds, late, forced slot
	tokens, active, requests                 map[string]slot
	by                                       map[string]slot
}

func (b *board) addSweep() {
	b.at.sweep = sweepSlots{
		settled:      b.add("aiperf_sweep_settled_seconds_total", Counter),
		lag:          b.add("aiperf_sweep_watermark_lag_seconds", Gauge),
		tokenSeconds: b.add("aiperf_tokens_in_flight_token_seconds_total", Counter),
		late:         b.add("aiperf_sweep_late_tokens_total", Counter),
		forced:       b.add("aiperf_sweep_forced_intervals_total", Counter),
		tokens:       addEach(b, "aiperf_phase_tokens_total", Counter, SweepPhases),
		active:       addEach(b, "aiperf_phase_active_seconds_total", Counter, SweepPhases),
		requests:     addEach(b, "aiperf_phase_request_seconds_total", Counter, SweepPhases),
		by:           addEach(b, "aiperf_sweep_decode_tokens_total", Counter, attributions),
	}
	for i, phase := range SweepPhases {
		curves := &b.of.sweep.phases[i]
		for j, state := range sweepStates {
			b.addWeighted("aiperf_phase_throughput_tokens_per_second", &curves.throughput[j], phase, state)
			b.addWeighted("aiperf_phase_throughput_tokens_per_second_per_user", &curves.speed[j], phase, state)
		}
		b.addWeighted("aiperf_phase_concurrency_requests", &curves.concurrency, phase)
	}
}

// sweepOrigin is how much the sweep had counted of what only targets with streams show when the target began to have streams.
type sweepOrigin struct {
	late int64
	by   [3]int64
}

func (s *sweep) origin() sweepOrigin {
	return sweepOrigin{late: s.late[phasePrefill] + s.late[phaseDecode], by: s.by}
}

// settle brings the sweep up to an instant, and its counters and gauges with it.
func (t *Target) settle(now int64) {
	s, at := &t.sweep, &t.at.sweep
	s.collect(now)
	t.values[at.settled] = Seconds(s.watermark - s.begun)
	t.values[at.lag] = Seconds(max(0, now-s.watermark))
	t.values[at.tokenSeconds] = s.tokenTime.seconds()
	t.values[at.late] = float64(s.late[phasePrefill]+s.late[phaseDecode]-t.streamed.late) / micro
	t.values[at.forced] = float64(s.forced)
	for i, how := range attributions {
		t.values[at.by[how]] = float64(s.by[i]-t.streamed.by[i]) / micro
	}
	prefill, decode := s.tokens(phasePrefill), s.tokens(phaseDecode)
	for i, phase := range SweepPhases {
		curves := &s.phases[i]
		t.values[at.tokens[phase]] = [...]float64{prefill, decode, prefill + decode}[i]
		t.values[at.active[phase]] = Seconds(curves.throughput[1].ns)
		t.values[at.requests[phase]] = curves.concurrency.sum.seconds()
	}
}
