package capture

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// Config says what is kept. Sizes are in bytes.
type Config struct {
	Enabled bool
	// SlowerThan is from when on a successful request is slow, from its start to its end; 0 = only by the target's objectives.
	SlowerThan     time.Duration
	MaxStreams     int
	MaxBytes       int64 // of all streams
	MaxStreamBytes int64 // of each body
}

// The limits of what may be configured: a capture must fit into a file that Read takes.
const (
	maxStreams     = 10_000
	maxStreamBytes = 16 << 20
)

// DefaultConfig is what an absent block means.
func DefaultConfig() Config {
	return Config{MaxStreams: 50, MaxBytes: 16 << 20, MaxStreamBytes: 1 << 20}
}

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	var errs []error
	if c.SlowerThan < 0 {
		errs = append(errs, invalid.Key(path+".slower_than", "must be >= 0, got %v", c.SlowerThan))
	}
	if c.MaxStreams < 1 || c.MaxStreams > maxStreams {
		errs = append(errs, invalid.Key(path+".max_streams", "must be between 1 and %d, got %d", maxStreams, c.MaxStreams))
	}
	if c.MaxStreamBytes < 1<<10 || c.MaxStreamBytes > maxStreamBytes {
		errs = append(errs, invalid.Key(path+".max_stream_size", "must be between 1KiB and 16MiB"))
	}
	if c.MaxBytes < 2*c.MaxStreamBytes {
		errs = append(errs, invalid.Key(path+".max_size", "must be at least twice max_stream_size, which bounds the request and the answer"))
	}
	return errs
}
