package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Format names a file format.
type Format string

// The formats.
const (
	SingleTurn           Format = "single_turn"
	MultiTurn            Format = "multi_turn"
	RandomPool           Format = "random_pool"
	MooncakeTrace        Format = "mooncake_trace"
	BailianTrace         Format = "bailian_trace"
	BurstGPTTrace        Format = "burst_gpt_trace"
	BasetenTrace         Format = "baseten_trace"
	SageMakerDataCapture Format = "sagemaker_data_capture"
	WekaTrace            Format = "weka_trace"
	TraceLab             Format = "tracelab"
	RawPayload           Format = "raw_payload"
	InputsJSON           Format = "inputs_json"
	ShareGPT             Format = "sharegpt"
	SpeedBench           Format = "speed_bench"
)

// Valid tells whether the format can be read.
func (f Format) Valid() bool {
	_, ok := formats[f]
	return ok
}

// format is how one format is read.
type format struct {
	// open opens the file or folder.
	open func(*settings) (reader, error)
	// folder: File may be a folder, of files with these endings (and with .gz after them, where lines are read).
	folder []string
	// times: rows can have the instants of a recording, so that it can be replayed.
	times bool
	// spread: the rows of a session may stand apart in the file, with those of other sessions between them.
	spread bool
	// scan gives the session of a record without decoding the rest of it, "" if it stands alone. Nil = it must be decoded, in the order of the
	// file. It is what makes a random order over many conversations quick to begin.
	scan func([]byte) string
	// pools: the files of a folder are pools, of which a request takes one row each.
	pools bool
	// blockSize is how many tokens a hash id stands for, 0 = the format has none.
	blockSize int
	// sampling is the order unless one is named; "" = sequential.
	sampling Sampling
	// warning is what whoever asks such a dataset must know; "" = nothing.
	warning string
}

// formats is the list of what can be read, one line each.
var formats = map[Format]format{
	SingleTurn:           {open: openSingleTurn, times: true, spread: true, scan: bySessionID},
	MultiTurn:            {open: openMultiTurn, times: true, spread: true, scan: bySessionID},
	RandomPool:           {open: openRandomPool, folder: []string{".jsonl"}, pools: true, scan: alone, sampling: Shuffle},
	MooncakeTrace:        {open: openMooncake, times: true, spread: true, scan: bySessionID, blockSize: 512},
	BailianTrace:         {open: openBailian, times: true, spread: true, blockSize: 16},
	BurstGPTTrace:        {open: openBurstGPT, times: true, scan: alone},
	BasetenTrace:         {open: openBaseten, times: true, spread: true},
	SageMakerDataCapture: {open: openSageMaker, folder: []string{".jsonl"}, times: true, warning: capturedWarning},
	WekaTrace:            {open: openWeka, folder: []string{".json"}, times: true},
	TraceLab:             {open: openTraceLab, times: true, blockSize: 64},
	RawPayload:           {open: openRawPayload, folder: []string{".jsonl"}, spread: true},
	InputsJSON:           {open: openInputsJSON},
	ShareGPT:             {open: openShareGPT, scan: alone},
	SpeedBench:           {open: openSpeedBench, scan: alone},
}

// Formats lists what can be read, in order.
func Formats() []Format { return slices.Sorted(maps.Keys(formats)) }

// formatList is the formats for messages.
func formatList() string {
	names := make([]string, 0, len(formats))
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// Timed tells whether rows of the format can have the instants of a recording, so that it can be replayed.
func (f Format) Timed() bool { return formats[f].times }

// capturedWarning is about formats that hold what users wrote.
const capturedWarning = "holds captured requests of real users: asking them again sends their data to the target, over and over"

// Warnings is what whoever uses this dataset must know, in words for the log.
func (c *Config) Warnings() []string {
	if warning := formats[c.Format].warning; warning != "" {
		return []string{fmt.Sprintf("dataset %s %s", c.File, warning)}
	}
	return nil
}
