package secret

import (
	"strings"
	"sync"
	"testing"
)

func TestRedactorReplacesEverySecret(t *testing.T) {
	t.Parallel()
	var r Redactor
	r.Add(Literal("a", "sk-one-11111111"), Literal("short", "word"), Literal("longer", "sk-one-11111111-and-more"), Literal("empty", ""))
	tests := []struct {
		name, text, want string
	}{
		{"in the middle", "bad key sk-one-11111111, sorry", "bad key <secret>, sorry"},
		{"twice, without a gap", "sk-one-11111111sk-one-11111111", "<secret><secret>"},
		{"the longer of two that begin alike", "sk-one-11111111-and-more!", "<secret>!"},
		{"a short secret is left, it could be any word", "a word is a word", "a word is a word"},
		{"part of a secret is not the secret", "sk-one-1111111 is not", "sk-one-1111111 is not"},
		{"a secret that the end of the text cuts off", "the key sk-one-1111", "the key <secret>"},
		{"a beginning at the end that says nothing", "the key sk-one-", "the key sk-one-"},
		{"a secret that somebody has cut", "got sk-one-1111… [code], sk-one-111... too", "got <secret>… [code], <secret>... too"},
		{"a secret that is cut in an escape behind it", `sk-one-1111111\u00`, `<secret>\u00`},
		{"nothing to do", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := r.Redact(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestZeroRedactorChangesNothing(t *testing.T) {
	t.Parallel()
	var r Redactor
	if got := r.Redact("some longer text"); got != "some longer text" {
		t.Errorf("got %q", got)
	}
}

func TestRedactorFollowsRotationAndKnowsTheValueBefore(t *testing.T) {
	t.Parallel()
	s, clock, path := fileSource(t, "old-secret-value")
	var r Redactor
	r.Add(s)
	text := "old-secret-value new-secret-value!"
	if got, want := r.Redact(text), "<secret> new-secret-value!"; got != want {
		t.Errorf("before the rotation: got %q, want %q", got, want)
	}
	write(t, path, "new-secret-value!")
	clock.advance(lookInterval)
	if got, want := r.Redact(text), "<secret> <secret>"; got != want {
		t.Errorf("after the rotation: got %q, want %q", got, want)
	}
}

func TestRedactorIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var r Redactor
	r.Add(Literal("a", planted))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				r.Add(Literal("b", "another-secret"))
				if got := r.Redact("x " + planted); got != "x "+Mask {
					t.Errorf("got %q", got)
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzRedactor(f *testing.F) {
	f.Add("some text with the key", "the key!", "the key!!")
	f.Add("aaaaaaaaaaaaaaaa", "aaaaaaaa", "aaaaaaaaa")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		var r Redactor
		r.Add(Literal("one", Secret(one)), Literal("two", Secret(two)))
		got := r.Redact(text)
		for _, s := range []string{one, two} {
			// A secret that is itself made of what surrounds or forms the mask cannot be told from it.
			if len(s) >= minRedactedBytes && !strings.ContainsAny(s, Mask) && strings.Contains(got, s) {
				t.Errorf("%q with secrets %q and %q became %q", text, one, two, got)
			}
		}
	})
}

func TestQuotedCredentialsAreMaskedAndProseIsNot(t *testing.T) {
	t.Parallel()
	var r Redactor
	for in, want := range map[string]string{
		"got Authorization: Basic YWxpY2U6c3VwM3Jz":       "got Authorization: Basic <secret>",
		"bearer eyJhbGciOi.J9.abc is not valid":           "bearer <secret> is not valid",
		"Bearer authentication is required":               "Bearer authentication is required",
		"use basic authorization":                         "use basic authorization",
		"Incorrect API key, want Bearer sk-proj-4711abcd": "Incorrect API key, want Bearer <secret>",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
