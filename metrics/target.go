package metrics

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
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
	// Live is asked at each scrape. It must be safe for concurrent use and not wait; nil = nothing happens by itself.
	Live func() Live
}

// slot is the place of a counter or gauge in Target.values.
type slot int

// child is a counter or gauge. Without a desc it is not shown: the target does not have the series.
type child struct {
	desc   *prometheus.Desc
	kind   Kind
	labels []*dto.LabelPair
}

// Target takes the events of one target and holds its series. All counters and gauges change under one lock and are read in one go, so
// that arrivals = sent + dropped + queued at every scrape. Safe for concurrent use.
type Target struct {
	store    *Store
	info     TargetInfo
	base     []string
	created  time.Time
	hist     histograms
	weighted []weightedChild
	at       slots

	mu       sync.Mutex
	sweep    sweep
	values   []float64
	children []child
	gauges   int // among children that are shown
	codes    map[int]slot
	limits   map[string]slot // by name of the series and resource
	state    TargetState

	servedModel  string
	servedModels map[string]bool
}

const (
	// maxServedModels bounds the names of models that a server can put into a label.
	maxServedModels = 8
	maxLabelBytes   = 128
)

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
	good, sloRequests                  []slot               // by index of TargetInfo.SLOs
	violations                         []map[SLOMetric]slot // likewise
	sweep                              sweepSlots
}

func newTarget(s *Store, info TargetInfo) *Target {
	now := s.options.Clock.Now()
	t := &Target{
		store:   s,
		info:    info,
		base:    []string{info.Name, info.Model, info.Workload},
		created: s.options.Clock.Wall(now),
		sweep:   newSweep(now, info.Accounting),
		codes:   map[int]slot{},
		limits:  map[string]slot{},

		servedModels: map[string]bool{},
		state:        StateRunning,
	}
	for _, name := range s.options.Config.ExtraLabels {
		t.base = append(t.base, info.Labels[name])
	}
	t.hist = newHistograms(s, &info.Features, t.base)
	t.addCounters()
	t.addSLOs()
	t.addGauges()
	t.addLive()
	t.addCost()
	t.addOwn()
	t.addSweep()
	return t
}

func (t *Target) add(name string, kind Kind, labels ...string) slot {
	return t.addChild(name, kind, slices.Concat(t.base, labels)...)
}

// addChild makes a child with just these labels.
func (t *Target) addChild(name string, kind Kind, labels ...string) slot {
	t.values = append(t.values, 0)
	at := slot(len(t.values) - 1)
	if !t.store.named[name].of(&t.info.Features) {
		t.children = append(t.children, child{kind: kind})
		return at
	}
	desc := t.store.descs[name]
	t.children = append(t.children, child{desc, kind, prometheus.MakeLabelPairs(desc, labels)})
	if kind == Gauge {
		t.gauges++
	}
	return at
}

// addEach makes a child for each value of a closed list.
func addEach[T ~string](t *Target, name string, kind Kind, values []T, before ...string) map[T]slot {
	out := make(map[T]slot, len(values))
	for _, v := range values {
		out[v] = t.add(name, kind, append(slices.Clone(before), string(v))...)
	}
	return out
}

func (t *Target) addCounters() {
	a := &t.at
	a.arrivals = t.add("aiperf_arrivals_total", Counter)
	a.sent = t.add("aiperf_arrivals_sent_total", Counter)
	a.dropped = addEach(t, "aiperf_arrivals_dropped_total", Counter, DropReasons)
	a.requests = addEach(t, "aiperf_requests_total", Counter, Outcomes)
	a.warmup = addEach(t, "aiperf_warmup_requests_total", Counter, Outcomes)
	a.suspect = t.add("aiperf_suspect_requests_total", Counter)
	a.errors = addEach(t, "aiperf_request_errors_total", Counter, ErrorClasses)
	for _, code := range HTTPCodes {
		n, err := strconv.Atoi(code)
		if err != nil {
			panic("metrics: status code " + code)
		}
		t.codes[n] = t.add("aiperf_http_responses_total", Counter, code)
	}
	a.reused = map[bool]slot{
		true:  t.add("aiperf_http_connections_total", Counter, "true"),
		false: t.add("aiperf_http_connections_total", Counter, "false"),
	}
	a.requestBytes = t.add("aiperf_http_request_bytes_total", Counter)
	a.responseBytes = t.add("aiperf_http_response_bytes_total", Counter)
	a.unstreamed = t.add("aiperf_unstreamed_answers_total", Counter)
	a.keepAlives = t.add("aiperf_sse_keepalives_total", Counter)
	a.parseErrors = t.add("aiperf_sse_parse_errors_total", Counter)
	a.fallbacks = t.add("aiperf_timestamp_fallbacks_total", Counter)
	a.invalid = addEach(t, "aiperf_invalid_records_total", Counter, InvalidReasons)
	a.tokens = addEach(t, "aiperf_tokens_total", Counter, TokenTypes)
	a.failedTokens = addEach(t, "aiperf_failed_request_tokens_total", Counter, TokenTypes)
	a.contentEvents = t.add("aiperf_content_events_total", Counter)
	a.coalesced = t.add("aiperf_sse_coalesced_events_total", Counter)
	a.inputSource = addEach(t, "aiperf_token_source_total", Counter, TokenSources, "input")
	a.outputSource = addEach(t, "aiperf_token_source_total", Counter, TokenSources, "output")
	a.usageMissing = t.add("aiperf_usage_missing_total", Counter)
	a.oslMismatch = t.add("aiperf_osl_mismatch_total", Counter)
	a.finish = addEach(t, "aiperf_finish_reasons_total", Counter, FinishReasons)
	a.drift = addEach(t, "aiperf_output_fingerprint_total", Counter, Drifts)
	a.checks = addEach(t, "aiperf_answer_check_failures_total", Counter, t.info.Checks)
	a.audioSeconds = t.add("aiperf_audio_seconds_total", Counter)
	switch t.info.Product {
	case ProductVectors:
		a.items = t.add("aiperf_embedding_vectors_total", Counter)
	case ProductDocuments:
		a.items = t.add("aiperf_ranked_documents_total", Counter)
	case ProductImages, ProductTokens, ProductTranscript, "":
		a.items = t.add("aiperf_images_total", Counter)
	}
}

func (t *Target) addSLOs() {
	a := &t.at
	for _, slo := range t.info.SLOs {
		a.good = append(a.good, t.add("aiperf_good_requests_total", Counter, slo.Name))
		a.sloRequests = append(a.sloRequests, t.add("aiperf_slo_requests_total", Counter, slo.Name))
		violations := map[SLOMetric]slot{}
		for _, limit := range slo.Thresholds {
			metric := string(limit.Metric)
			violations[limit.Metric] = t.add("aiperf_slo_metric_violations_total", Counter, slo.Name, metric)
			t.values[t.add("aiperf_slo_threshold", Gauge, slo.Name, metric)] = limit.display()
		}
		a.violations = append(a.violations, violations)
		t.values[t.add("aiperf_slo_objective_ratio", Gauge, slo.Name)] = slo.Objective
		t.values[t.add("aiperf_slo_window_seconds", Gauge, slo.Name)] = slo.Window.Seconds()
	}
}

func (t *Target) addGauges() {
	a := &t.at
	a.inflight = addEach(t, "aiperf_inflight_requests", Gauge, InflightPhases)
	a.lastSuccess = t.add("aiperf_last_success_timestamp_seconds", Gauge)
	a.lastCompletion = t.add("aiperf_last_completion_timestamp_seconds", Gauge)
	start := t.add("aiperf_target_start_timestamp_seconds", Gauge)
	for _, at := range []slot{a.lastSuccess, a.lastCompletion, start} {
		t.values[at] = unixSeconds(t.created)
	}
	a.up = t.add("aiperf_target_up", Gauge)
	a.usageSupported = t.add("aiperf_target_usage_supported", Gauge)
	t.values[a.usageSupported] = 1
	a.retryAfter = t.add("aiperf_retry_after_seconds", Gauge)
	a.modelHash = t.add("aiperf_target_served_model_hash", Gauge)
	a.driftMatch = t.add("aiperf_output_fingerprint_match_ratio", Gauge)
	t.values[a.driftMatch] = 1
	a.driftDistance = t.add("aiperf_output_fingerprint_distance_nats", Gauge)
	a.stampSource = addEach(t, "aiperf_timestamp_source_info", Gauge, StampSources)
	a.info = t.add(targetInfo, Gauge, t.infoLabels("")...)
	t.values[a.info] = 1
}

// addOwn makes the series of the process that are told for each target.
func (t *Target) addOwn() {
	name, s := t.info.Name, t.store
	t.values[t.addChild("aiperf_exporter_target_generation", Gauge, name)] = float64(s.generations[name])
	t.values[t.addChild("aiperf_exporter_series", Gauge, name)] = float64(s.options.Config.SeriesOf(&t.info.Features, s.options.SLOs))
	t.at.connections = map[bool]slot{
		true:  t.addChild("aiperf_exporter_connections_reused_total", Counter, name),
		false: t.addChild("aiperf_exporter_connections_opened_total", Counter, name),
	}
}

func (t *Target) infoLabels(servedModel string) []string {
	i := &t.info
	labels := []string{i.URL, i.EndpointType, strconv.FormatBool(i.Streaming), i.Load, i.LoadMode, i.HTTPVersion, i.ConnectionReuse, servedModel}
	for _, name := range t.store.options.InfoLabels {
		if !slices.Contains(t.store.options.Config.ExtraLabels, name) {
			labels = append(labels, i.Labels[name])
		}
	}
	return labels
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
	t.children = slices.Clone(t.children) // a collection may be reading the old ones
	info := &t.children[t.at.info]
	info.labels = prometheus.MakeLabelPairs(info.desc, slices.Concat(t.base, t.infoLabels(model)))
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

// UsageRefused notes that the server does not take the field that asks for usage in streams.
func (t *Target) UsageRefused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.values[t.at.usageSupported] = 0
}
