// Package scrape reads expositions as a scraper does, for tests.
package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Formats that a scraper may ask for.
const (
	Text        = "text/plain;version=0.0.4"
	OpenMetrics = "application/openmetrics-text;version=1.0.0"
	Protobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

// Families is an exposition by family name.
type Families map[string]*dto.MetricFamily

// Labels selects the series that carry all of them.
type Labels map[string]string

// Bytes gives the exposition at url in the format, as sent.
func Bytes(ctx context.Context, url, format string) ([]byte, error) {
	body, _, err := get(ctx, url, format)
	return body, err
}

// Get reads the exposition at url, native histograms included if the server offers them.
func Get(ctx context.Context, url string) (Families, error) {
	body, header, err := get(ctx, url, Protobuf+","+Text+";q=0.5")
	if err != nil {
		return nil, err
	}
	families := Families{}
	decoder := expfmt.NewDecoder(strings.NewReader(string(body)), expfmt.ResponseFormat(header))
	for {
		var family dto.MetricFamily
		err := decoder.Decode(&family)
		if errors.Is(err, io.EOF) {
			return families, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", url, err)
		}
		families[family.GetName()] = &family
	}
}

func get(ctx context.Context, url, accept string) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", accept)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return body, resp.Header, nil
}

// Sum adds the selected series of a counter or gauge, or the counts of a histogram. A family or selection that is absent is 0.
func (f Families) Sum(name string, labels Labels) float64 {
	sum := 0.0
	for _, m := range f.Series(name, labels) {
		switch {
		case m.Counter != nil:
			sum += m.GetCounter().GetValue()
		case m.Gauge != nil:
			sum += m.GetGauge().GetValue()
		case m.Untyped != nil:
			sum += m.GetUntyped().GetValue()
		case m.Histogram != nil:
			sum += float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// Series gives the selected series of a family.
func (f Families) Series(name string, labels Labels) []*dto.Metric {
	var selected []*dto.Metric
	for _, m := range f[name].GetMetric() {
		if labels.match(m) {
			selected = append(selected, m)
		}
	}
	return selected
}

// By adds the selected series of a counter or gauge by the value of one label; values of 0 are left out.
func (f Families) By(name, label string, labels Labels) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range f.Series(name, labels) {
		for _, pair := range m.GetLabel() {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if pair.GetName() == label && value != 0 {
				sums[pair.GetValue()] += value
			}
		}
	}
	return sums
}

func (l Labels) match(m *dto.Metric) bool {
	have := LabelsOf(m)
	for name, value := range l {
		if have[name] != value {
			return false
		}
	}
	return true
}

// LabelsOf gives all labels of a series.
func LabelsOf(m *dto.Metric) Labels {
	labels := make(Labels, len(m.GetLabel()))
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}
