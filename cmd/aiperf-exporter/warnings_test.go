package main

import (
	"bytes"
	"log/slog"
	"testing"
)

func TestAOneShotTellsWarningsOnly(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level][2]bool{slog.LevelInfo: {false, true}, slog.LevelDebug: {true, true}, slog.LevelError: {false, false}} {
		var out bytes.Buffer
		logger := warningsOf(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))).With(slog.String("a", "b")).WithGroup("g")
		logger.Info("information")
		logger.Warn("a warning")
		if got := [2]bool{bytes.Contains(out.Bytes(), []byte("information")), bytes.Contains(out.Bytes(), []byte("a warning"))}; got != want {
			t.Errorf("at level %v: information and warning are told: %v, want %v", level, got, want)
		}
	}
}
