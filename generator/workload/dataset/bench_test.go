package dataset_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// BenchmarkNext reads conversations in their order from a file that is read again and again, in bytes of the file.
func BenchmarkNext(b *testing.B) {
	for _, format := range []dataset.Format{
		dataset.SingleTurn, dataset.MultiTurn, dataset.MooncakeTrace, dataset.BailianTrace, dataset.BurstGPTTrace, dataset.RawPayload,
		dataset.InputsJSON, dataset.ShareGPT, dataset.SpeedBench,
	} {
		b.Run(string(format), func(b *testing.B) {
			path, size := enlarged(b, format)
			c := config(format, path)
			summary, errs := dataset.Check(c, 1)
			if len(errs) > 0 {
				b.Fatal(errs)
			}
			d := open(b, c)
			b.SetBytes(size / int64(summary.Conversations))
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				conversation, err := d.Next()
				if err != nil {
					b.Fatal(err)
				}
				rows += len(conversation.Rows)
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// enlarged makes a file of about a megabyte of the example of a format.
func enlarged(b *testing.B, format dataset.Format) (path string, size int64) {
	b.Helper()
	found, err := filepath.Glob("testdata/good/" + string(format) + ".*")
	if err != nil || len(found) != 1 {
		b.Fatal(err, found)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		b.Fatal(err)
	}
	n := 1<<20/len(data) + 1
	switch format {
	case dataset.InputsJSON:
		data = []byte(`{"data":[` + strings.TrimSuffix(strings.Repeat(`{"payloads":[{"messages":[{"role":"user","content":"What is dew?"}],"max_tokens":9}]},`, 4000), ",") + "]}")
	case dataset.ShareGPT:
		element := bytes.TrimSpace(data)
		element = append(element[1:len(element)-1], ',')
		data = append([]byte{'['}, bytes.TrimSuffix(bytes.Repeat(element, n), []byte{','})...)
		data = append(data, ']')
	case dataset.BurstGPTTrace:
		header, rows, _ := bytes.Cut(data, []byte("\n"))
		data = append(append(header, '\n'), bytes.Repeat(rows, n)...)
	case dataset.SingleTurn: // without the media
		data = bytes.Repeat([]byte(`{"text":"Name three rivers.","output_length":24,"extra":{"temperature":0},"timestamp":1500}`+"\n"), 10000)
	default:
		data = bytes.Repeat(data, n)
	}
	return written(b, "a", string(data)), int64(len(data))
}

// BenchmarkRecording reads rows in the order of their instants.
func BenchmarkRecording(b *testing.B) {
	path, _ := enlarged(b, dataset.BurstGPTTrace)
	r, err := open(b, config(dataset.BurstGPTTrace, path)).Recording()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil && err.Error() != "EOF" {
			b.Fatal(err)
		}
	}
}
