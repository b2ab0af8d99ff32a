package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzArray compares the elements of a list with what encoding/json finds in it, however the bytes come.
func FuzzArray(f *testing.F) {
	for _, seed := range []string{
		`[]`, ` [ ] `, `[1,2]`, `[ "a,]" , {"b":[1,"}"]} ,null,[[]] ]`, "[\n1\n,\n\"\\\"\\\\\" ]", `[1,]`, `[,1]`, `[1 2]`, `["a`, `[{"a":1}`, `{}`, "\ufeff[true]",
		`["\u005d"]`, `[1]trailing`, `[""]`, `[-1.5e+7,"é"]`, `[{]}]`, `["a"b]`, `[tru]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []json.RawMessage
		if !utf8.Valid(data) || bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))), []byte("null")) {
			return // encoding/json repairs the one, and takes the other for a list
		}
		wantErr := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &want)
		whole, wholeErr := arrayElements(bytes.NewReader(data))
		split, splitErr := arrayElements(iotest.OneByteReader(bytes.NewReader(data)))
		if diff := cmp.Diff(whole, split); diff != "" || (wholeErr == nil) != (splitErr == nil) {
			t.Fatalf("split at every byte (-whole +split):\n%s\n%v\n%v", diff, wholeErr, splitErr)
		}
		if wantErr != nil {
			return // what is read of a broken document is checked element by element
		}
		if wholeErr != nil {
			t.Fatal(wholeErr)
		}
		var texts []string
		for _, element := range want {
			texts = append(texts, string(element))
		}
		if diff := cmp.Diff(texts, whole); diff != "" && json.Valid(data) {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// arrayElements reads a document that is a list.
func arrayElements(from io.Reader) ([]string, error) {
	a := &array{name: "a", in: cursor{buffer: bufio.NewReaderSize(from, 16), line: 1}}
	if err := a.enter(); err != nil {
		return nil, err
	}
	var out []string
	for {
		r, err := a.next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil && a.ended:
			return out, err
		case err == nil:
			out = append(out, string(r.data))
		}
	}
}

// FuzzMembers compares the members of an object with what encoding/json finds in it.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` {"a" : 1 , "b":[{"c":"}"}], "d":{"e":null}} `, `{"\u0061":"\"","b":"\\"}`, `{"a":1,"a":2}`, `{"A":1,"a":-2.5e-3}`, `{"":{"":""}}`, `[]`, `7`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return // encoding/json repairs it
		}
		got := map[string]string{}
		err := object(data, func(key, value []byte) error {
			got[string(key)] = string(value)
			return nil
		})
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		switch {
		case err != nil && wantErr == nil && want != nil && !strings.Contains(err.Error(), "stands twice"):
			t.Fatalf("refuses what is an object: %v", err)
		case err == nil && wantErr != nil:
			t.Fatalf("accepts what is no object: %v", wantErr)
		case err != nil:
			return
		}
		texts := map[string]string{}
		for key, value := range want {
			texts[key] = string(value)
		}
		if diff := cmp.Diff(texts, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
