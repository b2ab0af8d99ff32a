package metrics

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// board is what a target shows, as its features want it. An update makes another one, which takes over what both show.
type board struct {
	of      *Target
	info    *TargetInfo // never changed
	facts   *facts      // those that its labels are made for
	created *timestamppb.Timestamp

	at       slots
	values   []float64
	children []child
	gauges   int // among children that are shown
	codes    map[int]slot
	limits   map[limitSeries]slot
	hist     histograms
	weighted []weightedChild
}

// slot is the place of a counter or gauge in board.values. That of 0 is of no series: a word that is in no closed list counts nowhere.
type slot int

// child is a counter or gauge. Without a desc it is not shown: the target does not have the series.
type child struct {
	desc    *prometheus.Desc
	kind    Kind
	labels  []*dto.LabelPair
	created *timestamppb.Timestamp
	// configured: the value is that of the configuration.
	configured bool
	// named: it is a series of the process, which only carries the target's name.
	named bool
}

// slots are the places of the children that exist from the start.
type slots struct {
	arrivals, sent                     slot
	dropped                            map[DropReason]slot
	inflight                           map[string]slot
	requests, warmup                   map[Outcome]slot
	suspect                            slot
	errors                             map[ErrorClass]slot
	reused, connections                map[bool]slot
	requestBytes, responseBytes        slot
	keepAlives, parseErrors, fallbacks slot
	invalid                            map[InvalidReason]slot
	tokens, failedTokens               map[string]slot
	contentEvents, coalesced           slot
	inputSource, outputSource          map[TokenSource]slot
	usageMissing, oslMismatch          slot
	unstreamed, retryAfter             slot
	finish                             map[FinishReason]slot
	lastSuccess, lastCompletion, up    slot
	usageSupported, modelHash          slot
	items, audioSeconds                slot
	drift                              map[Drift]slot
	driftMatch, driftDistance          slot
	checks                             map[string]slot
	live                               liveSlots
	info                               slot
	stampSource                        map[string]slot
	ipFamily                           map[IPFamily]slot
	good, sloRequests, badRun          []slot               // by index of TargetInfo.SLOs
	violations                         []map[SLOMetric]slot // likewise
	sweep                              sweepSlots
}

// newBoard makes a board on which nothing has happened yet. Store.mu is held.
func newBoard(t *Target, info *TargetInfo, now int64) *board {
	s := t.store
	created := s.options.Clock.Wall(now)
	b := &board{
		of:      t,
		info:    info,
		facts:   s.facts,
		created: timestamppb.New(created),
		codes:   map[int]slot{},
		limits:  map[limitSeries]slot{},
	}
	const usual = 256
	b.values, b.children = make([]float64, 1, usual), make([]child, 1, usual) // nowhere
	b.hist = newHistograms(b)
	b.addCounters()
	b.addSLOs()
	b.addGauges(unixSeconds(created))
	b.addLive()
	b.addCost()
	b.addOwn()
	b.addSweep()
	return b
}

func (b *board) add(name string, kind Kind, labels ...string) slot {
	return b.addChild(name, kind, slices.Concat(b.of.base, labels)...)
}

// addChild makes a child with just these labels.
func (b *board) addChild(name string, kind Kind, labels ...string) slot {
	b.values = append(b.values, 0)
	at := slot(len(b.values) - 1)
	if !b.of.store.named[name].of(&b.info.Features) {
		b.children = append(b.children, child{kind: kind})
		return at
	}
	desc := b.of.store.descs[name]
	b.children = append(b.children, child{desc: desc, kind: kind, labels: prometheus.MakeLabelPairs(desc, labels), created: b.created})
	if kind == Gauge {
		b.gauges++
	}
	return at
}

// configure makes a gauge that shows a value of the configuration.
func (b *board) configure(value float64, name string, labels ...string) {
	b.configured(b.add(name, Gauge, labels...), value)
}

func (b *board) configured(at slot, value float64) {
	b.values[at] = value
	b.children[at].configured = true
}

// addEach makes a child for each value of a closed list.
func addEach[T ~string](b *board, name string, kind Kind, values []T, before ...string) map[T]slot {
	out := make(map[T]slot, len(values))
	for _, v := range values {
		out[v] = b.add(name, kind, append(slices.Clone(before), string(v))...)
	}
	return out
}

func (b *board) addCounters() {
	a := &b.at
	a.arrivals = b.add("aiperf_arrivals_total", Counter)
	a.sent = b.add("aiperf_arrivals_sent_total", Counter)
	a.dropped = addEach(b, "aiperf_arrivals_dropped_total", Counter, DropReasons)
	a.requests = addEach(b, "aiperf_requests_total", Counter, Outcomes)
	a.warmup = addEach(b, "aiperf_warmup_requests_total", Counter, Outcomes)
	a.suspect = b.add("aiperf_suspect_requests_total", Counter)
	a.errors = addEach(b, "aiperf_request_errors_total", Counter, ErrorClasses)
	for _, code := range HTTPCodes {
		n, err := strconv.Atoi(code)
		if err != nil {
			panic("metrics: status code " + code)
		}
		b.codes[n] = b.add("aiperf_http_responses_total", Counter, code)
	}
	a.reused = map[bool]slot{
		true:  b.add("aiperf_http_connections_total", Counter, "true"),
		false: b.add("aiperf_http_connections_total", Counter, "false"),
	}
	a.requestBytes = b.add("aiperf_http_request_bytes_total", Counter)
	a.responseBytes = b.add("aiperf_http_response_bytes_total", Counter)
	a.unstreamed = b.add("aiperf_unstreamed_answers_total", Counter)
	a.keepAlives = b.add("aiperf_sse_keepalives_total", Counter)
	a.parseErrors = b.add("aiperf_sse_parse_errors_total", Counter)
	a.fallbacks = b.add("aiperf_timestamp_fallbacks_total", Counter)
	a.invalid = addEach(b, "aiperf_invalid_records_total", Counter, InvalidReasons)
	a.tokens = addEach(b, "aiperf_tokens_total", Counter, TokenTypes)
	a.failedTokens = addEach(b, "aiperf_failed_request_tokens_total", Counter, TokenTypes)
	a.contentEvents = b.add("aiperf_content_events_total", Counter)
	a.coalesced = b.add("aiperf_sse_coalesced_events_total", Counter)
	a.inputSource = addEach(b, "aiperf_token_source_total", Counter, TokenSources, "input")
	a.outputSource = addEach(b, "aiperf_token_source_total", Counter, TokenSources, "output")
	a.usageMissing = b.add("aiperf_usage_missing_total", Counter)
	a.oslMismatch = b.add("aiperf_osl_mismatch_total", Counter)
	a.finish = addEach(b, "aiperf_finish_reasons_total", Counter, FinishReasons)
	a.drift = addEach(b, "aiperf_output_fingerprint_total", Counter, Drifts)
	a.checks = addEach(b, "aiperf_answer_check_failures_total", Counter, b.info.Checks)
	a.audioSeconds = b.add("aiperf_audio_seconds_total", Counter)
	switch b.info.Product {
	case ProductVectors:
		a.items = b.add("aiperf_embedding_vectors_total", Counter)
	case ProductDocuments:
		a.items = b.add("aiperf_ranked_documents_total", Counter)
	case ProductImages, ProductTokens, ProductTranscript, "":
		a.items = b.add("aiperf_images_total", Counter)
	}
}

func (b *board) addSLOs() {
	a := &b.at
	for _, slo := range b.info.SLOs {
		a.good = append(a.good, b.add("aiperf_good_requests_total", Counter, slo.Name))
		a.sloRequests = append(a.sloRequests, b.add("aiperf_slo_requests_total", Counter, slo.Name))
		a.badRun = append(a.badRun, b.add("aiperf_slo_consecutive_bad_requests", Gauge, slo.Name))
		violations := map[SLOMetric]slot{}
		for _, limit := range slo.Thresholds {
			metric := string(limit.Metric)
			violations[limit.Metric] = b.add("aiperf_slo_metric_violations_total", Counter, slo.Name, metric)
			b.configure(limit.display(), "aiperf_slo_threshold", slo.Name, metric)
		}
		a.violations = append(a.violations, violations)
		b.configure(slo.Objective, "aiperf_slo_objective_ratio", slo.Name)
		b.configure(slo.Window.Seconds(), "aiperf_slo_window_seconds", slo.Name)
	}
}

func (b *board) addGauges(created float64) {
	a := &b.at
	a.inflight = addEach(b, "aiperf_inflight_requests", Gauge, InflightPhases)
	a.lastSuccess = b.add("aiperf_last_success_timestamp_seconds", Gauge)
	a.lastCompletion = b.add("aiperf_last_completion_timestamp_seconds", Gauge)
	start := b.add("aiperf_target_start_timestamp_seconds", Gauge)
	for _, at := range []slot{a.lastSuccess, a.lastCompletion, start} {
		b.values[at] = created
	}
	a.up = b.add("aiperf_target_up", Gauge)
	a.usageSupported = b.add("aiperf_target_usage_supported", Gauge)
	b.configured(a.usageSupported, boolValue(!b.info.UsageRefused))
	a.retryAfter = b.add("aiperf_retry_after_seconds", Gauge)
	a.modelHash = b.add("aiperf_target_served_model_hash", Gauge)
	a.driftMatch = b.add("aiperf_output_fingerprint_match_ratio", Gauge)
	b.values[a.driftMatch] = 1
	a.driftDistance = b.add("aiperf_output_fingerprint_distance_nats", Gauge)
	a.stampSource = addEach(b, "aiperf_timestamp_source_info", Gauge, StampSources)
	a.ipFamily = addEach(b, "aiperf_target_ip_family", Gauge, IPFamilies)
	a.info = b.addInfo()
}

func (b *board) addInfo() slot {
	b.values = append(b.values, 1)
	b.children = append(b.children, child{desc: b.facts.info, kind: Gauge, labels: b.facts.labels(b.info, b.of.base, ""), configured: true})
	b.gauges++
	return slot(len(b.values) - 1)
}

// addOwn makes the series of the process that are told for each target.
func (b *board) addOwn() {
	t := b.of
	own := func(name string, kind Kind) slot {
		at := b.addChild(name, kind, b.info.Name)
		b.children[at].named = true
		return at
	}
	b.configured(own("aiperf_exporter_target_generation", Gauge), float64(t.generation))
	b.configured(own("aiperf_exporter_series", Gauge), float64(t.store.options.Config.SeriesOf(&b.info.Features, t.store.options.SLOs)))
	b.at.connections = map[bool]slot{
		true:  own("aiperf_exporter_connections_reused_total", Counter),
		false: own("aiperf_exporter_connections_opened_total", Counter),
	}
}
