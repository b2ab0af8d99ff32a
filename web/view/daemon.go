package view

import (
	"context"
	"errors"
	"io"
)

// Daemon is what pages and API show. Safe for concurrent use; nothing here waits for the network.
type Daemon interface {
	Process() Process
	// Targets has the worst health first, and names in order within a health. Target gives false if there is none of that name.
	Targets() []Target
	Target(name string) (Target, bool)
	// Records are the kept ones of a target, newest first: the last ones, and behind them failures that are older.
	Records(target string) []Record
	Discovery() []DiscoverySet
	Collectors() []Collector
	// Config is the effective configuration as YAML, secrets removed, and its hash.
	Config() (yaml []byte, hash string)
	// Flags are those of the command line by name, with their values in effect.
	Flags() map[string]string
}

// Controls change what the daemon does. Each may be nil: nobody may do that here.
type Controls struct {
	// Reload loads the configuration anew and returns when it is in effect, or with what is wrong with it. ErrReloading: a reload is running.
	Reload func(context.Context) error
	// Quit begins the shutdown.
	Quit func()
	// Pause stops or resumes the arrivals of a target, "" = of all; the error says that there is none of that name.
	Pause func(target string, paused bool) error
}

// ErrReloading is what Controls.Reload gives while another reload is running.
var ErrReloading = errors.New("a reload is running")

// Captures are the streams that were kept whole, newest first. They hold prompts and answers.
type Captures interface {
	List() []Capture
	// Write gives one as a file for `replay`; false: there is none of that id.
	Write(w io.Writer, id string) (found bool, err error)
}
