package gpu

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// Words of Config.Source that are no source, and stand alone.
const (
	auto = "auto"
	off  = "off"
)

// The intervals that are taken. A page of GPU metrics is small, but each look costs the exporter and its driver something.
const (
	minInterval = time.Second
	maxInterval = time.Hour
)

var metricPrefix = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// Validate finds what is wrong, by key below path.
func (c *Config) Validate(path string) []error {
	errs := c.validateSources(path + ".source")
	errs = append(errs, validateInterval(path+".nvml.interval", c.NVML.Interval)...)
	if p := c.NVML.LibraryPath; p != "" && !filepath.IsAbs(p) {
		errs = append(errs, invalid.Key(path+".nvml.library_path", "must be an absolute path, got %q", p))
	}
	for _, name := range SourceNames {
		e := c.Exporter(name)
		if e == nil {
			continue
		}
		key := path + "." + string(name)
		if slices.Contains(c.Source, string(name)) && len(e.URLs) == 0 {
			errs = append(errs, invalid.Key(key+".urls", "is needed because source lists %s", name))
		}
		errs = append(errs, e.validate(key)...)
	}
	return errs
}

// Exporter is the block of a source that is asked over HTTP, nil for the others.
func (c *Config) Exporter(name SourceName) *ExporterConfig {
	switch name {
	case DCGM:
		return &c.DCGM
	case AMD:
		return &c.AMD
	case Triton:
		return &c.Triton
	case NVML:
	}
	return nil
}

// interval is the time between two looks at a source.
func (c *Config) interval(name SourceName) time.Duration {
	if e := c.Exporter(name); e != nil {
		return e.Interval
	}
	return c.NVML.Interval
}

// sources are those that are asked. named: by the file, not because nothing else was.
func (c *Config) sources() (names []SourceName, named bool) {
	switch {
	case slices.Contains(c.Source, off):
		return nil, true
	case !slices.Contains(c.Source, auto):
		for _, name := range c.Source {
			names = append(names, SourceName(name))
		}
		return names, true
	}
	for _, name := range SourceNames {
		if e := c.Exporter(name); e != nil && len(e.URLs) > 0 {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names, true
	}
	return []SourceName{NVML}, false
}

// Reads tells whether a source is asked.
func (c *Config) Reads(name SourceName) bool {
	names, _ := c.sources()
	return slices.Contains(names, name)
}

func (c *Config) validateSources(path string) []error {
	known := append([]string{auto, off}, words(SourceNames)...)
	var errs []error
	for i, name := range c.Source {
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, invalid.Key(path, "must be one of %s, got %q", strings.Join(known, ", "), name))
		case slices.Contains(c.Source[:i], name):
			errs = append(errs, invalid.Key(path, "%s is there twice", name))
		case (name == auto || name == off) && len(c.Source) > 1:
			errs = append(errs, invalid.Key(path, "%s must stand alone", name))
		}
	}
	if len(c.Source) == 0 {
		errs = append(errs, invalid.Key(path, "must not be empty; off reads no GPU"))
	}
	return errs
}

func validateInterval(path string, d time.Duration) []error {
	if d < minInterval || d > maxInterval {
		return []error{invalid.Key(path, "must be between %v and %v, got %v", minInterval, maxInterval, d)}
	}
	return nil
}

func (e *ExporterConfig) validate(path string) []error {
	errs := validateInterval(path+".interval", e.Interval)
	if e.Prefix != "" && !metricPrefix.MatchString(e.Prefix) {
		errs = append(errs, invalid.Key(path+".prefix", "must be the beginning of a metric's name, got %q", e.Prefix))
	}
	for i, u := range e.URLs {
		key := fmt.Sprintf("%s.urls[%d]", path, i)
		if _, err := address(u); err != nil {
			errs = append(errs, invalid.Key(key, "%v", err))
		} else if slices.Contains(e.URLs[:i], u) {
			errs = append(errs, invalid.Key(key, "%s is there twice", u.Public()))
		}
	}
	return errs
}

// address is a URL as it is asked: /metrics where it has no path. Errors do not quote it, it may hold a credential.
func address(u secret.URL) (string, error) {
	parsed, err := u.Address()
	if err != nil {
		return "", err
	}
	if parsed.Path == "" || parsed.Path == "/" {
		parsed.Path = "/metrics"
	}
	return parsed.String(), nil
}
