package endpoint

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestPlainStopsAtEachByteThatDoesNotStandForItself(t *testing.T) {
	t.Parallel()
	for length := range 20 {
		for at := range length {
			for b := range 256 {
				data := bytes.Repeat([]byte("a"), length)
				// What follows must not matter, and a high byte before must not be mistaken for a borrow.
				data[length-1], data[0] = 0x1f, 0xff
				data[at] = byte(b)
				want := 0
				for want < length && data[want] >= 0x20 && data[want] != '"' && data[want] != '\\' {
					want++
				}
				if got := plain(data); got != want {
					t.Fatalf("plain(%q) is %d, want %d", data, got, want)
				}
			}
		}
	}
}

func TestProtocolErrorsTellWhereAndWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, data string
		want       ProtocolError
	}{
		{"the end is missing", `{"a":1`, ProtocolError{6, "a comma or the end of a list or object is missing"}},
		{"a value is missing", `{"a":}`, ProtocolError{5, "a value is missing or malformed"}},
		{"a name is missing", `{"a":1,}`, ProtocolError{7, "a member's name is missing"}},
		{"a colon is missing", `{"a"1}`, ProtocolError{4, "a colon is missing"}},
		{"a leading zero", `{"a":01}`, ProtocolError{5, "a value is missing or malformed"}},
		{"a word", `{"a":nul}`, ProtocolError{5, "a value is malformed"}},
		{"a string without an end", `{"a":"b`, ProtocolError{5, "a string does not end"}},
		{"a raw line feed in a string", "{\"a\":\"b\n\"}", ProtocolError{5, "a string has a control character"}},
		{"a bad escape", `{"a":"\x"}`, ProtocolError{5, "a string has a malformed escape"}},
		{"a bad unicode escape", `{"a":"\u00g0"}`, ProtocolError{5, "a string has a malformed escape"}},
		{"a short unicode escape", `{"a":"\u00`, ProtocolError{5, "a string has a malformed escape"}},
		{"something behind", `{}x`, ProtocolError{2, "data after the value"}},
		{"a NUL behind", "{}\x00", ProtocolError{2, "data after the value"}},
		{"too deep", `{"a":` + strings.Repeat("[", 512), ProtocolError{516, "nested too deeply"}},
		{"markup", `<html>`, ProtocolError{0, "markup instead of JSON"}},
		{"a list", `[]`, ProtocolError{0, "not a JSON object"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var chunk Chunk
			err := newCodec(t, Config{Type: Chat, MaxTokensField: FieldAuto}).Decoder(nil).Event(nil, []byte(c.data), &chunk)
			var got *ProtocolError
			if !errors.As(err, &got) || *got != c.want {
				t.Errorf("got %v, want %v", err, &c.want)
			}
		})
	}
}
