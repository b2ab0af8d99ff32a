package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Sequence is a mix of pairs of input and output lengths, one of which is drawn for each turn. In the file it is a list, or AIPerf's text.
type Sequence []Pair

// Pair is a length of prompts together with a length of their answers.
type Pair struct {
	InputTokens  Length  `koanf:"input_tokens" yaml:"input_tokens"`   // length of the prompt
	OutputTokens Length  `koanf:"output_tokens" yaml:"output_tokens"` // most tokens of its answer
	Weight       float64 `koanf:"weight" yaml:"weight,omitempty"`     // share of the pair beside those of the others; 1 without it
}

// draw chooses a pair and draws its two lengths.
func (s Sequence) draw(random *rand.Rand) (input, output int) {
	p := &s[pick(random, len(s), func(i int) float64 { return s[i].Weight })]
	return p.InputTokens.draw(random), p.OutputTokens.draw(random)
}

func (s Sequence) validate(path string) []error {
	f := findings{path: path}
	if len(s) > maxChoices {
		f.wrongf("", "must be at most %d pairs, got %d", maxChoices, len(s))
	}
	for i := range s {
		f.errs = append(f.errs, s[i].InputTokens.validate(at(path, i)+".input_tokens", "tokens")...)
		f.errs = append(f.errs, s[i].OutputTokens.validate(at(path, i)+".output_tokens", "tokens")...)
		f.weight(at("", i), s[i].Weight)
	}
	return f.errs
}

// percentTolerance is how far the shares of a text may be off 100 in sum.
const percentTolerance = 1e-6

// ParseSequence reads the text form, `128|10,64|5:40;512,128:60`: input and output length of each pair, each with a standard deviation
// behind a bar if it has one, and the share of the pair in percent.
func ParseSequence(text string) (Sequence, error) {
	var out Sequence
	var sum float64
	for part := range strings.SplitSeq(text, ";") {
		lengths, share, ok := strings.Cut(part, ":")
		input, output, both := strings.Cut(lengths, ",")
		if !ok || !both {
			return nil, fmt.Errorf("%q is not INPUT,OUTPUT:PERCENT", part)
		}
		var p Pair
		var err error
		if p.InputTokens, err = parseNormal(input); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		if p.OutputTokens, err = parseNormal(output); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		p.Weight, err = strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(p.Weight > 0 && p.Weight <= 100) {
			return nil, fmt.Errorf("%q: the share must be above 0 and at most 100 percent, got %q", part, share)
		}
		sum += p.Weight
		out = append(out, p)
	}
	if math.Abs(sum-100) > percentTolerance {
		return nil, fmt.Errorf("the shares must add up to 100 percent, got %v", sum)
	}
	return out, nil
}

// parseNormal reads MEAN or MEAN|STDDEV.
func parseNormal(text string) (Length, error) {
	mean, stddev, spread := strings.Cut(text, "|")
	var l Length
	var err error
	if l.Mean, err = strconv.ParseFloat(strings.TrimSpace(mean), 64); err != nil {
		return Length{}, fmt.Errorf("length %q is not a number", mean)
	}
	if !spread {
		return l, nil
	}
	if l.Stddev, err = strconv.ParseFloat(strings.TrimSpace(stddev), 64); err != nil {
		return Length{}, fmt.Errorf("standard deviation %q is not a number", stddev)
	}
	return l, nil
}

// RangeStyle says whose law of random lengths is meant.
type RangeStyle string

// The choices of range_ratio.style.
const (
	RangeVLLM   RangeStyle = "vllm"   // from mean*(1-ratio) to mean*(1+ratio), rounded outwards
	RangeSGLang RangeStyle = "sglang" // from mean*ratio, rounded down, to the mean
)

// RangeRatio draws lengths uniformly around input_tokens and output_tokens. A plain number in the file is the ratio of both.
type RangeRatio struct {
	Input  float64    `koanf:"input" yaml:"input,omitempty"`   // ratio of `input_tokens`
	Output float64    `koanf:"output" yaml:"output,omitempty"` // ratio of `output_tokens`
	Style  RangeStyle `koanf:"style" yaml:"style,omitempty"`   // whose law: that of vLLM's or of SGLang's own benchmark
}

// on tells whether lengths vary by it.
func (r RangeRatio) on() bool { return r.Style == RangeSGLang || r.Input != 0 || r.Output != 0 }

// draw is a whole number, each in the range as likely as the other.
func (r RangeRatio) draw(random *rand.Rand, mean, ratio float64) int {
	low, high := int(math.Floor(mean*(1-ratio))), int(math.Ceil(mean*(1+ratio)))
	if r.Style == RangeSGLang {
		low, high = int(mean*ratio), int(mean)
	}
	low = max(1, low)
	return low + random.IntN(max(high, low)-low+1)
}

func (r RangeRatio) validate(path string) []error {
	f := findings{path: path}
	switch r.Style {
	case RangeVLLM:
		for i, ratio := range []float64{r.Input, r.Output} {
			if !(ratio >= 0 && ratio < 1) {
				f.wrongf([]string{".input", ".output"}[i], "must be at least 0 and below 1, got %v", ratio)
			}
		}
	case RangeSGLang:
		if r.Input != r.Output {
			f.wrongf(".output", "must be that of input, style %s has one ratio for both", RangeSGLang)
		} else if !(r.Input >= 0 && r.Input <= 1) {
			f.wrongf(".input", "must be between 0 and 1, got %v", r.Input)
		}
	default:
		f.wrongf(".style", "unknown style %q, must be %s or %s", r.Style, RangeVLLM, RangeSGLang)
	}
	return f.errs
}

// IsZero tells that lengths do not vary by it, for printing.
func (r RangeRatio) IsZero() bool { return !r.on() }
