package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const planted = "sk-planted-0123456789"

func TestSecretPrintsAsMask(t *testing.T) {
	t.Parallel()
	type holder struct{ Key Secret }
	h := holder{Key: planted}
	tests := []struct {
		name, got, want string
	}{
		{"%v", fmt.Sprintf("%v", h.Key), Mask},
		{"%s", fmt.Sprintf("%s", h.Key), Mask},
		{"%+v of a struct", fmt.Sprintf("%+v", h), "{Key:" + Mask + "}"},
		{"%#v of a struct", fmt.Sprintf("%#v", h), `secret.holder{Key:"` + Mask + `"}`},
		{"%q", fmt.Sprintf("%q", h.Key), `"` + Mask + `"`},
		{"%d, which does not fit", fmt.Sprintf("%d", h.Key), Mask},
		{"%x", fmt.Sprintf("%x", h.Key), Mask},
		{"an empty secret is nothing", fmt.Sprintf("%v|%q", Secret(""), Secret("")), `|""`},
		{"Reveal is the way out", h.Key.Reveal(), planted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
}

func TestSecretMarshalsAsMask(t *testing.T) {
	t.Parallel()
	value := map[string]any{"key": Secret(planted), "none": Secret("")}

	j, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"key":"\u003csecret\u003e","none":""}`, string(j)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	y, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("key: <secret>\nnone: \"\"\n", string(y)); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		logger := slog.New(handler)
		logger.Info("m", slog.Any("key", Secret(planted)), slog.Any("in", value))
	}
	if strings.Contains(logged.String(), planted) || !strings.Contains(logged.String(), "key=<secret>") {
		t.Errorf("log shows the secret or lacks the mask: %s", logged.String())
	}
}
