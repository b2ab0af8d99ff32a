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
func (t *Target) newCounter() (*tokenize.Client, error) {
	c := &t.config
	if !c.Workload.Tokenizer.Server {
		return nil, nil
	}
	url, err := c.Endpoint.URL(c.URL, "/")
	if err != nil {
		return nil, err
	}
	return tokenize.New(tokenize.Config{
		URL: url, Model: c.Model, Chat: slices.Contains(chats, c.Endpoint.Type), HTTP: c.Client.HTTP, Credential: c.Client.Credential,
		Header: baseHeader(c, &t.traits, t.deps.UserAgent),
	})
}

// calibrate has the server count a few texts, so that prompts have the wished length from the first one on. Where that takes longer than
// calibrationWait, requests go on by estimate meanwhile. The caller calls end to have it over.
func (t *Target) calibrate(ctx context.Context) (end func()) {
	if t.counter == nil || t.paused.Load() {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, calibrationTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				t.caught(metrics.ComponentTarget, cause)
			}
		}()
		err := t.workload.Calibrate(ctx, t.counter)
		if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
			t.deps.Logger.Warn("the server does not count tokens, lengths of prompts are learned from answers", slog.String("target", t.config.Name),
				slog.Any("err", err))
		}
	}()
	wait := time.NewTimer(calibrationWait)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	}
	return func() {
		cancel()
		<-done
	}
}
