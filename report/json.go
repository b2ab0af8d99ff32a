package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// schemaVersion is that of AIPerf's file.
const schemaVersion = "1.4"

// generatorName stands where AIPerf has its version, so that no reader takes our files for AIPerf's own.
const generatorName = "aiperf-exporter"

// timeLayout is AIPerf's with a zone.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	for i, m := range o {
		buf.WriteByte("{,"[min(i, 1)])
		for j, part := range []any{m.key, m.value} {
			if j == 1 {
				buf.WriteByte(':')
			}
			raw, err := marshal(part)
			if err != nil {
				return nil, fmt.Errorf("encode %s: %w", m.key, err)
			}
			buf.Write(raw)
		}
	}
	if len(o) == 0 {
		buf.WriteByte('{')
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// marshal leaves <, > and & as they are: these files are no web pages.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// WriteJSON writes one report as AIPerf writes its profile_export_aiperf.json. AIPerf has one target in a run, so several reports become an
// array of such objects; where a file of AIPerf's is expected, write one file for each (see WriteFiles).
func WriteJSON(w io.Writer, reports ...*Report) error {
	var v any = reports
	if len(reports) == 1 {
		v = reports[0]
	}
	raw, err := marshal(v)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, raw, "", "  "); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	buf.WriteByte('\n')
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler with AIPerf's keys in AIPerf's order.
func (r *Report) MarshalJSON() ([]byte, error) {
	o := object{
		{"schema_version", schemaVersion},
		{"generator", object{{"name", generatorName}, {"version", r.Meta.Version}}},
		{"benchmark_id", r.Meta.ID},
	}
	o = appendMetrics(o, r.Metrics, func(m *Metric) bool { return m.leading })
	if r.Meta.GPUs != nil && !r.Start.IsZero() {
		o = append(o, member{"telemetry_data", r.telemetry()})
	}
	o = append(
		o,
		member{"input_config", r.inputConfig()},
		member{"run_info", object{
			{"benchmark_id", r.Meta.ID},
			{"random_seed", r.Meta.Seed},
			{"trial", 0},
			{"cli_command", r.Meta.Command},
		}},
		member{"was_cancelled", r.Meta.Interrupted},
		member{"is_complete", !r.Meta.Interrupted},
	)
	if r.Meta.Interrupted {
		o = append(o, member{"incomplete_reason", "interrupted"})
	}
	o = append(o, member{"error_summary", r.errorSummary()})
	if !r.Start.IsZero() {
		o = append(o, member{"start_time", r.Start.Format(timeLayout)}, member{"end_time", r.End.Format(timeLayout)})
	}
	o = appendMetrics(o, r.Metrics, func(m *Metric) bool { return !m.leading })
	o = append(o, member{"exporter", r.own()})
	return o.MarshalJSON()
}

// appendMetrics adds the figures that keep selects.
func appendMetrics(o object, list []Metric, keep func(*Metric) bool) object {
	for i := range list {
		if m := &list[i]; keep(m) {
			o = append(o, member{m.Tag, m})
		}
	}
	return o
}

// MarshalJSON implements json.Marshaler.
func (m *Metric) MarshalJSON() ([]byte, error) {
	if m.Scalar {
		return object{{"unit", m.Unit}, {"avg", m.Stats.Avg}}.MarshalJSON()
	}
	return marshal(struct {
		Unit string `json:"unit"`
		Stats
	}{m.Unit, m.Stats})
}

// inputConfig holds what readers of AIPerf's files look for: model, endpoint, load and SLOs, in AIPerf's places and units.
func (r *Report) inputConfig() object {
	load := &r.Meta.Load
	phase := object{{"name", "profiling"}, {"kind", "profiling"}, {"type", load.Mode}}
	if load.Requests > 0 {
		phase = append(phase, member{"requests", load.Requests})
	}
	if load.Duration > 0 {
		phase = append(phase, member{"duration", load.Duration.Seconds()})
	}
	if limit := cmp.Or(load.Concurrency, load.MaxInFlight); limit > 0 {
		phase = append(phase, member{"concurrency", limit})
	}
	if load.Rate > 0 {
		phase = append(phase, member{"rate", load.Rate})
	}
	config := object{
		{"models", object{{"items", []object{{{"name", r.Meta.Model}}}}}},
		{"endpoint", object{
			{"urls", []string{r.Meta.URL}},
			{"type", r.Meta.Endpoint},
			{"streaming", r.Meta.Streaming},
		}},
		{"datasets", []object{r.Meta.Workload.object()}},
		{"phases", []object{phase}},
	}
	if limits := strictest(r.SLOs); len(limits) > 0 {
		config = append(config, member{"slos", limits})
	}
	return config
}

func (w *Workload) object() object {
	if w.Format != "" {
		return object{{"name", w.Name}, {"type", "file"}, {"path", w.File}, {"format", w.Format}}
	}
	return object{{"name", w.Name}, {"type", "synthetic"}, {"prompts", w.prompts()}}
}

func (w *Workload) prompts() object {
	prompts := object{}
	for _, side := range []struct {
		key string
		Length
	}{{"isl", w.InputTokens}, {"osl", w.OutputTokens}} {
		if side.Mean == 0 {
			continue
		}
		length := object{{"mean", side.Mean}}
		if side.Stddev > 0 {
			length = append(length, member{"stddev", side.Stddev})
		}
		prompts = append(prompts, member{side.key, length})
	}
	return prompts
}

// strictest are the limits that a request keeps if it keeps all of slos, in AIPerf's units; the good_… figures are judged by them.
func strictest(slos []SLOResult) map[metrics.SLOMetric]float64 {
	limits := map[metrics.SLOMetric]float64{}
	for i := range slos {
		for _, t := range slos[i].SLO.Thresholds {
			limit := t.Limit
			if !t.Metric.Rate() {
				limit /= float64(time.Millisecond)
			}
			if old, ok := limits[t.Metric]; ok && t.Metric.Rate() == (old > limit) {
				limit = old
			}
			limits[t.Metric] = limit
		}
	}
	return limits
}

func (r *Report) errorSummary() []object {
	list := make([]object, 0, len(r.Errors))
	for i := range r.Errors {
		e := &r.Errors[i]
		list = append(list, object{{"error_details", e.details()}, {"count", e.Count}})
	}
	return list
}

// details are an error in AIPerf's form. Its type is our class, which is one of a closed list; AIPerf's is the name of an exception.
func (e *ErrorCount) details() object {
	o := object{}
	if e.Status != 0 {
		o = append(o, member{"code", e.Status})
	}
	return append(o, member{"type", e.Class}, member{"message", e.Detail})
}

// own is what AIPerf has no place for.
func (r *Report) own() object {
	slos := make([]object, 0, len(r.SLOs))
	for i := range r.SLOs {
		slos = append(slos, r.SLOs[i].object(strictest(r.SLOs[i:i+1])))
	}
	o := object{
		{"target", r.Meta.Target},
		{"requests", object{
			{string(metrics.Success), r.Successes},
			{string(metrics.Failure), r.Failures},
			{string(metrics.Cancelled), r.Cancelled},
			{"warmup", r.WarmUp},
		}},
		{"dropped", r.Dropped},
		{"slos", slos},
		{"token_sources", r.tokenSources},
		{"finish_reasons", r.finish},
		{"metrics", appendMetrics(object{}, r.Extra, func(*Metric) bool { return true })},
	}
	if r.Meta.GPUs != nil {
		o = append(o, member{"energy", r.Meta.GPUs.energyObject()})
	}
	if r.server != nil {
		o = append(o, member{"server", r.server.object(r.Server)})
	}
	return append(o, member{"notes", append([]string{}, r.Notes...)})
}

func (s *SLOResult) object(limits map[metrics.SLOMetric]float64) object {
	violations := make(object, 0, len(s.Violations))
	for _, v := range s.Violations {
		violations = append(violations, member{string(v.Threshold.Metric), v.Count})
	}
	return object{
		{"name", s.SLO.Name},
		{"objective", s.SLO.Objective},
		{"limits", limits},
		{"met", s.Met()},
		{"ratio", s.Ratio()},
		{"good", s.Good},
		{"total", s.Total},
		{"failed", s.Failures},
		{"dropped", s.Drops},
		{"goodput", s.Goodput},
		{"violations", violations},
	}
}
