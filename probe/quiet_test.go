package probe

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestWhatStrangersCauseIsADetailAndWhatIsOursIsNot(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelInfo: 1, slog.LevelDebug: 3} {
		var out bytes.Buffer
		logger := slog.New(quiet{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})}).With(slog.String("a", "b")).WithGroup("c")
		logger.Info("info")
		logger.Warn("warn")
		logger.Error("error")
		if got := strings.Count(out.String(), "\n"); got != want || strings.Contains(out.String(), "level=WARN") {
			t.Errorf("at %v: %s", level, &out)
		}
	}
}
