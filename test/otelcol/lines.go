package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// linesConfig is the configuration of the exporter `jsonlines`.
type linesConfig struct {
	Path string `mapstructure:"path"` // file that lines are appended to
}

// Validate implements xconfmap.Validator.
func (c *linesConfig) Validate() error {
	if c.Path == "" {
		return errors.New("path: is required")
	}
	return nil
}

func newLinesFactory() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("jsonlines"),
		func() component.Config { return &linesConfig{} },
		exporter.WithMetrics(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Metrics, error) {
			return newLines(c)
		}, component.StabilityLevelStable),
		exporter.WithTraces(func(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Traces, error) {
			return newLines(c)
		}, component.StabilityLevelStable),
	)
}

// lines appends each batch to a file, in one write, so that a reader sees whole lines.
type lines struct {
	component.StartFunc

	mu   sync.Mutex
	file *os.File
}

func newLines(c component.Config) (*lines, error) {
	config, ok := c.(*linesConfig)
	if !ok {
		return nil, fmt.Errorf("configuration of type %T", c)
	}
	file, err := os.OpenFile(config.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &lines{file: file}, nil
}

// Shutdown implements component.Component.
func (l *lines) Shutdown(context.Context) error { return l.file.Close() }

// Capabilities implements consumer.Metrics and consumer.Traces.
func (l *lines) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

// ConsumeMetrics implements consumer.Metrics.
func (l *lines) ConsumeMetrics(_ context.Context, batch pmetric.Metrics) error {
	line, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(batch)
	return l.write(line, err)
}

// ConsumeTraces implements consumer.Traces.
func (l *lines) ConsumeTraces(_ context.Context, batch ptrace.Traces) error {
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(batch)
	return l.write(line, err)
}

func (l *lines) write(line []byte, err error) error {
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.file.Write(append(line, '\n'))
	return err
}
