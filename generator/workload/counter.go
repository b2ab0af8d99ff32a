package workload

import (
	"context"
	"math"
)

// Counter tells how many tokens the server makes of a text. whole tells that they are those of a prompt that is the text; else the template
// is missing that the server puts around it.
type Counter interface {
	Count(ctx context.Context, text string) (tokens int, whole bool, err error)
}

// usualTemplate is how many tokens a chat template adds, where nobody has told.
const usualTemplate = 8

// sampleSizes are those of the first texts that a Counter gets, in bytes: a line through them tells the slope. Then come
// wishedSamples of the length that most prompts have, where the line has to be right.
var sampleSizes = []int{400, 1600, 6400}

const (
	wishedSamples = 4
	maxSample     = 1 << 16 // bytes
)

// Calibrate learns from samples of the corpus how long prompts are, before any has been asked. It may be called while turns are made.
func (w *Workload) Calibrate(ctx context.Context, counter Counter) error {
	for i, size := range sampleSizes {
		if err := w.countSample(ctx, counter, i, size); err != nil {
			return err
		}
	}
	for i := range wishedSamples {
		w.mu.Lock()
		size := (w.config.InputTokens.expected() - w.calibration.overhead) / w.calibration.perByte
		w.mu.Unlock()
		if err := w.countSample(ctx, counter, len(sampleSizes)+i, min(max(nonceSize+minText, int(size)), maxSample)); err != nil {
			return err
		}
	}
	return nil
}

// countSample has one text counted, the number of which tells it from the others.
func (w *Workload) countSample(ctx context.Context, counter Counter, sample, size int) error {
	number := math.MaxUint64 - uint64(sample) // of a conversation that never is
	head := ""
	if w.config.Cache != CacheRepeat {
		head = w.nonce(number)
	}
	text := message(corpora[w.config.Corpus](), head, size, w.streams.at(streamPrompt, number, 0))
	tokens, whole, err := counter.Count(ctx, text)
	if err != nil {
		return err
	}
	if !whole {
		tokens += usualTemplate
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calibration.observe(w.config.Batch*len(text), int64(w.config.Batch*tokens))
	return nil
}
