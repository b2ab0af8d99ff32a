package generator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/tokenize"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

const (
	// calibrationWait is how long the first arrival is put off for the server's counts, and calibrationTime how long they are waited for at
	// all.
	calibrationWait = time.Second
	calibrationTime = 30 * time.Second
)

// chats are the protocols whose prompts are messages.
var chats = []endpoint.Type{endpoint.Chat, endpoint.Multimodal, endpoint.Vision, endpoint.Responses, endpoint.Messages, endpoint.ChatEmbeddings}

// newCounter makes what asks the server for counts, nil if nobody wants them.
func (g *generation) newCounter(userAgent string) (*tokenize.Client, error) {
	c := g.config
	if !c.Workload.Tokenizer.Server {
		return nil, nil
	}
	url, err := c.Endpoint.URL(c.URL, "/")
	if err != nil {
		return nil, err
	}
	return tokenize.New(tokenize.Config{
		URL: url, Model: c.Model, Chat: slices.Contains(chats, c.Endpoint.Type), HTTP: c.Client.HTTP, Credential: c.Client.Credential,
		Header: baseHeader(c, &g.traits, userAgent),
	})
}

// calibrate has the server count a few texts, so that prompts have the wished length from the first one on. It returns when that is done or,
// where that takes longer, after wait: requests go on by estimate meanwhile. Whoever calls it waits for the loop's calibrations in the end.
func (l *loop) calibrate(g *generation, wait time.Duration) {
	if g.counter == nil || !g.acquire() {
		return
	}
	done := make(chan struct{})
	l.calibrations.Go(func() {
		defer close(done)
		defer g.release()
		l.target.calibrate(l.calibrating, g)
	})
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}

func (t *Target) calibrate(ctx context.Context, g *generation) {
	ctx, cancel := context.WithTimeout(ctx, calibrationTime)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			t.caught(metrics.ComponentTarget, cause)
		}
	}()
	err := g.content.Calibrate(ctx, g.counter)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		t.deps.Logger.Warn("the server does not count tokens, lengths of prompts are learned from answers", slog.String("target", t.name),
			slog.Any("err", err))
	}
}
