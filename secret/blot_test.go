package secret

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestBlotWritesOverEverySecretAndMovesNothing(t *testing.T) {
	t.Parallel()
	var r Redactor
	r.Add(Literal("a", "sk-one-11111111"), Literal("short", "word"), Literal("longer", "sk-one-11111111-and-more"),
		Literal("odd", `pass/"word"&<x>`), Literal("overlapping", "abcabcabc"))
	tests := []struct {
		name, text, want string
	}{
		{"in the middle", "bad key sk-one-11111111, sorry", "bad key ***************, sorry"},
		{"twice, without a gap", "sk-one-11111111sk-one-11111111", "******************************"},
		{"the longer of two that begin alike", "sk-one-11111111-and-more!", "************************!"},
		{"one that overlaps itself", "xabcabcabcabcx", "x************x"},
		{"a short secret is left, it could be any word", "a word is a word", "a word is a word"},
		{"part of a secret is not the secret", "sk-one-1111111 is not", "sk-one-1111111 is not"},
		{"a secret that the end of the stream cuts off", "the key sk-one-1111", "the key ***********"},
		{"a beginning at the end that says nothing", "the key sk-one-", "the key sk-one-"},
		{"quoted in JSON", `{"pass":"pass\/\"word\"&<x>"}`, `{"pass":"******************"}`},
		{"a credential that no file holds", "sent Bearer abC123def456 there", "sent Bearer ************ there"},
		{"in another case", "BASIC   dXNlcjpwYXNz", "BASIC   ************"},
		{"prose about credentials", "use Bearer authentication, basically", "use Bearer authentication, basically"},
		{"the end of another word", "forbearer abC123def456", "forbearer abC123def456"},
		{"nothing to do", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := []byte(tt.text)
			r.Blot(got)
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBlotKnowsHowASecretIsSpelled(t *testing.T) {
	t.Parallel()
	const word = `pass/"word"&<x>`
	var r Redactor
	r.Add(Literal("odd", word))
	inJSON, err := json.Marshal(word)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		word, string(inJSON), `pass/\"word\"&<x>`, url.QueryEscape(word), url.PathEscape(word), strings.ReplaceAll(word, "/", `\/`),
	} {
		got := []byte("before " + text + " after")
		r.Blot(got)
		inner := strings.Trim(text, `"`)
		want := strings.Replace("before "+text+" after", inner, strings.Repeat("*", len(inner)), 1)
		if string(got) != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func FuzzBlotLeavesNoSecretAndNoOtherLength(f *testing.F) {
	f.Add([]byte("x sk-one-11111111 Bearer abC123def456"), "sk-one-11111111")
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaa"), "aaaaaaaa")
	f.Fuzz(func(t *testing.T, text []byte, word string) {
		if len(word) < minRedactedBytes || strings.Contains(word, "**") {
			return
		}
		var r Redactor
		r.Add(Literal("a", Secret(word)))
		got := bytes.Clone(text)
		r.Blot(got)
		if len(got) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(got))
		}
		if bytes.Contains(got, []byte(word)) {
			t.Errorf("%q is still in %q", word, got)
		}
		for i := range got {
			if got[i] != text[i] && got[i] != blot {
				t.Fatalf("byte %d became %q", i, got[i])
			}
		}
	})
}

func BenchmarkBlotOfALongPrompt(b *testing.B) {
	var r Redactor
	for _, word := range []string{"sk-one-11111111", "sk-two-22222222", "another-secret-value"} {
		r.Add(Literal(word, Secret(word)))
	}
	text := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, basically; "), 1<<20/56)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Blot(text)
	}
}
