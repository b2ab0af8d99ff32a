package answer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBaselineFilesThatAreNone(t *testing.T) {
	t.Parallel()
	question := func(members string) string {
		return `{"version": 1, "questions": {"` + questionKey("a") + `": {` + members + `}}}`
	}
	for name, c := range map[string]struct{ content, want string }{
		"empty":               {"", "is no baseline of a version that is known here"},
		"another version":     {`{"version": 2}`, "is no baseline of a version that is known here"},
		"something else":      {`[]`, "is no baseline of a version that is known here"},
		"cut":                 {`{"version": 1, "questions": {`, "is no baseline of a version that is known here"},
		"an unknown member":   {`{"version": 1, "answers": 3}`, `unknown field "answers"`},
		"no text":             {question(`"answers": 5`), "text has 0 bytes, which is no sketch"},
		"text that is odd":    {question(`"answers": 5, "text": "AAAA"`), "text has 3 bytes, which is no sketch"},
		"text that is none":   {question(`"answers": 5, "text": "?"`), "text: illegal base64"},
		"impossible answers":  {question(`"answers": 0, "text": "AAA="`), "answers, agreed or noise cannot be right"},
		"impossible share":    {question(`"answers": 5, "agreed": 2, "text": "AAA="`), "answers, agreed or noise cannot be right"},
		"impossible ranks":    {question(`"answers": 5, "text": "AAA=", "tokens": [{"ranked": 2, "tops": [{"token": 1, "logprob": -1}]}]`), "2 of the 1 alternatives of a token are ranked"},
		"measured by nothing": {question(`"answers": 5, "measured": true, "text": "AAA="`), "has 0 tokens, which cannot be right"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := DefaultFingerprintConfig()
			config.BaselineFile = filepath.Join(t.TempDir(), "baseline.json")
			if err := os.WriteFile(config.BaselineFile, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := NewFingerprint(&config, []string{"a"})
			if err == nil || !strings.Contains(err.Error(), config.BaselineFile) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
