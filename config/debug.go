package config

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/capture"
	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Debug is the block `debug:`: what is kept of single requests, for people who look for the cause of a fault.
type Debug struct {
	// finished requests that are kept of each target, at most 10 000; beside them its last 20 failures
	History int `koanf:"history" yaml:"history"`
	// prompts and answers are kept with them, shown on the status page and given out by the API
	KeepBodies bool `koanf:"keep_bodies" yaml:"keep_bodies"`
	// streams of requests that failed or were slow, byte for byte and with their timing, to be downloaded and replayed. They hold prompts and
	// answers; secrets are removed
	Capture Capture `koanf:"capture" yaml:"capture"`
}

// Capture is `debug.capture`.
type Capture struct {
	// keep streams of requests that failed, or succeeded but missed an objective of their target
	Enabled bool `koanf:"enabled" yaml:"enabled"`
	// keep those of successful requests, too, that took longer than this from start to end; 0s = only by objectives
	SlowerThan time.Duration `koanf:"slower_than" yaml:"slower_than"`
	// most streams that are kept, at most 10 000. The target that has most of them makes room first, with the oldest of its most frequent kind of failure
	MaxStreams int `koanf:"max_streams" yaml:"max_streams"`
	// memory that all of them may take
	MaxSize Size `koanf:"max_size" yaml:"max_size"`
	// how much is kept of a request's body, and of an answer with 16 bytes for each of its pieces: 1KiB to 16MiB. Every request in flight may
	// hold as much until it ends
	MaxStreamSize Size `koanf:"max_stream_size" yaml:"max_stream_size"`
}

// maxHistory bounds what a target can keep.
const maxHistory = 10_000

// DefaultDebug is what an absent block means.
func DefaultDebug() Debug {
	d := capture.DefaultConfig()
	return Debug{
		History: 100,
		Capture: Capture{
			Enabled: d.Enabled, SlowerThan: d.SlowerThan, MaxStreams: d.MaxStreams, MaxSize: Size(d.MaxBytes), MaxStreamSize: Size(d.MaxStreamBytes),
		},
	}
}

// Ring is the part of the room that keeps them.
func (c *Capture) Ring() capture.Config {
	return capture.Config{
		Enabled: c.Enabled, SlowerThan: c.SlowerThan, MaxStreams: c.MaxStreams, MaxBytes: int64(c.MaxSize), MaxStreamBytes: int64(c.MaxStreamSize),
	}
}

func (d *Debug) validate(path string) []error {
	var errs []error
	if d.History < 0 || d.History > maxHistory {
		errs = append(errs, invalid.Key(path+".history", "must be between 0 and %d, got %d", maxHistory, d.History))
	}
	ring := d.Capture.Ring()
	return append(errs, ring.Validate(path+".capture")...)
}
