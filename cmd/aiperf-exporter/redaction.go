package main

import (
	"sync/atomic"

	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// redaction removes the secrets of the configuration in effect, and of the one before, with whose requests a server may still be busy.
type redaction struct {
	now, before atomic.Pointer[secret.Redactor]
}

// learn takes over the secrets of a configuration.
func (r *redaction) learn(secrets *secret.Redactor) {
	if now := r.now.Load(); now != secrets {
		r.before.Store(now)
		r.now.Store(secrets)
	}
}

// Redact gives text without them.
func (r *redaction) Redact(text string) string {
	for _, secrets := range r.known() {
		text = secrets.Redact(text)
	}
	return text
}

// Blot writes over them.
func (r *redaction) Blot(p []byte) {
	for _, secrets := range r.known() {
		secrets.Blot(p)
	}
}

func (r *redaction) known() []*secret.Redactor {
	out := []*secret.Redactor{r.now.Load()}
	if before := r.before.Load(); before != nil {
		out = append(out, before)
	}
	return out
}
