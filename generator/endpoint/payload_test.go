package endpoint

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzMember holds the reading of one member of a recorded body against encoding/json.
func FuzzMember(f *testing.F) {
	for _, seed := range append(fuzzSeeds(f), `{"stream":true}`, `{"stream":false,"x":[{"stream":1}],"stream":"\u00e9"}`, `{"stream":}`, `{"a":1,"stream":null}`) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, gotSet := member(data, "stream")
		var object map[string]json.RawMessage
		if !json.Valid(data) || json.Unmarshal(data, &object) != nil || referenceDepth(data) > maxDepth {
			object = nil
		}
		raw, wantSet := object["stream"]
		var want any
		if wantSet && json.Unmarshal(raw, &want) != nil {
			wantSet = false // a number that no float64 can hold
		}
		if gotSet != wantSet || gotSet && !cmp.Equal(want, got) {
			t.Fatalf("got %v, %v, want %v, %v", got, gotSet, want, wantSet)
		}
	})
}
