package media

import "github.com/aiperf-exporter/aiperf-exporter/invalid"

// Source says where a medium comes from.
type Source string

// The sources.
const (
	SourceNoise  Source = "noise"  // made up, another one each time
	SourceFolder Source = "folder" // the files of a folder, at random
)

// ImageFormat is how made-up pictures are encoded.
type ImageFormat string

// The formats of pictures.
const (
	PNG  ImageFormat = "png"
	JPEG ImageFormat = "jpeg" // at quality 90
)

// AudioFormat is how made-up clips are encoded.
type AudioFormat string

// WAV is without compression.
const WAV AudioFormat = "wav"

// Images are the pictures of each message.
type Images struct {
	Count  int         `koanf:"count" yaml:"count,omitempty"`   // pictures in each message; 0 = none
	Width  int         `koanf:"width" yaml:"width"`             // pixels, at most 8192
	Height int         `koanf:"height" yaml:"height"`           // pixels, at most 8192
	Format ImageFormat `koanf:"format" yaml:"format"`           // how made-up pictures are encoded
	Source Source      `koanf:"source" yaml:"source"`           // where pictures come from
	Folder string      `koanf:"folder" yaml:"folder,omitempty"` // folder of `source: folder`, files of at most 64 MiB
}

// Audio are the sound clips of each message.
type Audio struct {
	Count      int         `koanf:"count" yaml:"count,omitempty"`   // clips in each message; 0 = none
	Seconds    float64     `koanf:"seconds" yaml:"seconds"`         // length of made-up clips, at most 600
	SampleRate int         `koanf:"sample_rate" yaml:"sample_rate"` // samples per second of made-up clips, of one channel
	Bits       int         `koanf:"bits" yaml:"bits"`               // bits of each sample: 8, 16, 24 or 32
	Format     AudioFormat `koanf:"format" yaml:"format"`           // how made-up clips are encoded
	Source     Source      `koanf:"source" yaml:"source"`           // where clips come from
	Folder     string      `koanf:"folder" yaml:"folder,omitempty"` // folder of `source: folder`, files of at most 64 MiB
}

// Video is the video of each message.
type Video struct {
	// Files of which each message has one, at random, at most 64 MiB each. Nothing is made up.
	Files []string `koanf:"files" yaml:"files,omitempty"`
}

// DefaultImages is what absent keys mean.
func DefaultImages() Images {
	return Images{Width: 512, Height: 512, Format: PNG, Source: SourceNoise}
}

// DefaultAudio is what absent keys mean.
func DefaultAudio() Audio {
	return Audio{Seconds: 5, SampleRate: 16_000, Bits: 16, Format: WAV, Source: SourceNoise}
}

const (
	maxSide       = 8192
	maxPixels     = 1 << 25 // of one picture, 128 MiB while it is made
	maxSeconds    = 600
	maxSampleRate = 192_000
)

// checks collects what is wrong below a path.
type checks struct {
	path string
	errs []error
}

func (c *checks) wrongf(key, format string, args ...any) {
	c.errs = append(c.errs, invalid.Key(c.path+key, format, args...))
}

func (c *checks) between(key string, value, least, most int) {
	if value < least || value > most {
		c.wrongf(key, "must be between %d and %d, got %d", least, most, value)
	}
}

func (c *checks) source(s Source, folder string) {
	switch {
	case s != SourceNoise && s != SourceFolder:
		c.wrongf(".source", "unknown source %q, must be %s or %s", s, SourceNoise, SourceFolder)
	case s == SourceFolder && folder == "":
		c.wrongf(".folder", "must be named, source is %s", SourceFolder)
	case s == SourceNoise && folder != "":
		c.wrongf(".folder", "needs source: %s", SourceFolder)
	}
}

// Validate finds what is wrong, by key below path.
func (i *Images) Validate(path string) []error {
	c := checks{path: path}
	c.between(".count", i.Count, 0, maxCount)
	c.between(".width", i.Width, 1, maxSide)
	c.between(".height", i.Height, 1, maxSide)
	if len(c.errs) == 0 && i.Width*i.Height > maxPixels {
		c.wrongf(".height", "must leave at most %d pixels in all, got %d", maxPixels, i.Width*i.Height)
	}
	if i.Format != PNG && i.Format != JPEG {
		c.wrongf(".format", "unknown format %q, must be %s or %s", i.Format, PNG, JPEG)
	}
	c.source(i.Source, i.Folder)
	if len(c.errs) == 0 && i.Count == 0 && *i != DefaultImages() {
		c.wrongf(".count", "must be at least 1")
	}
	return c.errs
}

// Validate finds what is wrong, by key below path.
func (a *Audio) Validate(path string) []error {
	c := checks{path: path}
	c.between(".count", a.Count, 0, maxCount)
	if !(a.Seconds >= 0.01 && a.Seconds <= maxSeconds) {
		c.wrongf(".seconds", "must be between 0.01 and %d, got %v", maxSeconds, a.Seconds)
	}
	c.between(".sample_rate", a.SampleRate, 1000, maxSampleRate)
	switch a.Bits {
	case 8, 16, 24, 32:
	default:
		c.wrongf(".bits", "must be 8, 16, 24 or 32, got %d", a.Bits)
	}
	if len(c.errs) == 0 && a.size() > maxFile {
		c.wrongf(".seconds", "makes clips of %d bytes, at most %d are allowed", a.size(), maxFile)
	}
	if a.Format != WAV {
		c.wrongf(".format", "unknown format %q, must be %s", a.Format, WAV)
	}
	c.source(a.Source, a.Folder)
	if len(c.errs) == 0 && a.Count == 0 && *a != DefaultAudio() {
		c.wrongf(".count", "must be at least 1")
	}
	return c.errs
}

// Validate finds what is wrong, by key below path.
func (v *Video) Validate(path string) []error {
	c := checks{path: path}
	if len(v.Files) > maxFiles {
		c.wrongf(".files", "must be at most %d files, got %d", maxFiles, len(v.Files))
	}
	return c.errs
}

// IsZero tells that there are no pictures, for printing.
func (i Images) IsZero() bool { return i.Count == 0 }

// IsZero tells that there are no clips, for printing.
func (a Audio) IsZero() bool { return a.Count == 0 }
