// Package received runs the OpenTelemetry collector of test/otelcol and reads what it got, for tests that hold it against what a scrape
// shows.
package received

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Ready is what the collector writes once it listens.
var Ready = regexp.MustCompile(`(Everything is ready)`)

// Arguments let the collector, whose folder is given, listen on an address and append to the files of another folder. settings are more of its
// configuration, in the form key::key: value.
func Arguments(collector, address, folder string, settings ...string) []string {
	own := []string{
		"receivers::otlp::protocols::grpc::endpoint: " + address,
		"exporters::jsonlines/metrics::path: " + MetricsFile(folder),
		"exporters::jsonlines/traces::path: " + tracesFile(folder),
	}
	args := make([]string, 0, 1+len(own)+len(settings))
	args = append(args, "--config="+filepath.Join(collector, "config.yaml"))
	for _, s := range slices.Concat(own, settings) {
		args = append(args, "--config=yaml:"+s)
	}
	return args
}

// MetricsFile is where the collector writes metrics to.
func MetricsFile(folder string) string { return filepath.Join(folder, "metrics.jsonl") }

func tracesFile(folder string) string { return filepath.Join(folder, "traces.jsonl") }

// Metrics gives each request for metrics that a collector has written into its folder, in the order of their arrival.
func Metrics(folder string, take func(*metricspb.MetricsData)) error {
	return lines(MetricsFile(folder), func(line []byte) error {
		var request metricspb.MetricsData
		if err := decode(line, &request); err != nil {
			return err
		}
		take(&request)
		return nil
	})
}

// Spans gives all spans.
func Spans(folder string) (spans []*tracespb.Span, err error) {
	err = lines(tracesFile(folder), func(line []byte) error {
		var request tracespb.TracesData
		if wrong := decode(line, &request); wrong != nil {
			return wrong
		}
		for _, r := range request.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				spans = append(spans, s.GetSpans()...)
			}
		}
		return nil
	})
	return spans, err
}

// lines gives each line of a file that is whole. A file that is not there has none.
func lines(path string, take func([]byte) error) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read from
	reader := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(line)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

func decode(line []byte, request proto.Message) error {
	return protojson.Unmarshal(line, request)
}

// ID gives an id of a trace or a span as it is on the wire. The JSON of OTLP has ids in hexadecimal, which the reader of protobuf's JSON
// took for base64.
func ID(read []byte) ([]byte, error) {
	return hex.DecodeString(base64.StdEncoding.EncodeToString(read))
}
