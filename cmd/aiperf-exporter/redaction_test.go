package main

import (
	"fmt"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func TestSecretsOfEarlierConfigurationsAreRemovedAndKnownOnce(t *testing.T) {
	t.Parallel()
	var r redaction
	learn := func(key string) {
		secrets := &secret.Redactor{}
		secrets.Add(secret.Literal("key", secret.Secret(key)))
		r.learn(secrets)
	}
	learn("first-secret")
	for range 20 { // reloads that change nothing about it
		learn("second-secret")
	}
	if n := len(r.known); n != 2 {
		t.Errorf("%d configurations are searched for, want 2", n)
	}
	if got, want := r.Redact("first-secret and second-secret"), secret.Mask+" and "+secret.Mask; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 20 {
		learn(fmt.Sprintf("another-secret-%02d", i))
	}
	if n := len(r.known); n != rememberedSecrets {
		t.Errorf("%d configurations are remembered, want %d", n, rememberedSecrets)
	}
}

// A token is removed by its looks, up to the first character that tokens do not have. That must not hide its end from those who know it.
func TestASecretOfAnEarlierConfigurationIsRemovedWholeBehindBearer(t *testing.T) {
	t.Parallel()
	var r redaction
	for _, key := range []string{`old-key-123/"+&=%~the-end-of-it`, "another-key"} {
		secrets := &secret.Redactor{}
		secrets.Add(secret.Literal("key", secret.Secret(key)))
		r.learn(secrets)
	}
	for text, want := range map[string]string{
		`no client has Bearer old-key-123/"+&=%~the-end-of-it`:                   "no client has Bearer " + secret.Mask,
		`{"error":"no client has Bearer old-key-123/\"+\u0026=%~the-end-of-it"}`: `{"error":"no client has Bearer ` + secret.Mask + `"}`,
	} {
		if got := r.Redact(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
