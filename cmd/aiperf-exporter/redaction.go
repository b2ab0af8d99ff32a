package main

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// rememberedSecrets is how many configurations there are whose secrets are removed: a server may quote a key long after another has taken its place.
const rememberedSecrets = 8

// redaction removes the secrets of the configuration in effect, and of those before it.
type redaction struct {
	mu       sync.Mutex
	known    []*secret.Redactor // newest first
	together atomic.Pointer[secret.Redactor]
}

// learn takes over the secrets of a configuration.
func (r *redaction) learn(secrets *secret.Redactor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(r.known), secrets.Covers) // most configurations have the secrets of the one before
	r.known = slices.Insert(others[:min(len(others), rememberedSecrets-1)], 0, secrets)
	r.together.Store(secret.Together(r.known...))
}

// Redact gives text without them.
func (r *redaction) Redact(text string) string {
	if secrets := r.together.Load(); secrets != nil {
		return secrets.Redact(text)
	}
	return text
}

// Blot writes over them.
func (r *redaction) Blot(p []byte) {
	if secrets := r.together.Load(); secrets != nil {
		secrets.Blot(p)
	}
}
