package secret

import (
	"bytes"
	"testing"
)

func FuzzBlotFieldsChangesTextsOnly(f *testing.F) {
	f.Add([]byte(`{"api_key":"x\"y","b":"c"}`))
	f.Add([]byte(`"token":"`))
	f.Add([]byte(`"token":"\`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := bytes.Clone(body)
		BlotFields(got)
		if len(got) != len(body) {
			t.Fatalf("%d bytes became %d", len(body), len(got))
		}
		if bytes.Count(got, []byte(`"`)) > bytes.Count(body, []byte(`"`)) {
			t.Errorf("%q became %q", body, got)
		}
	})
}
