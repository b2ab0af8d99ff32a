package capture

import "github.com/aiperf-exporter/aiperf-exporter/secret"

// Redactor knows the secrets of the configuration: *secret.Redactor.
type Redactor interface {
	// Blot writes over each of them in p and leaves all other bytes where they are.
	Blot(p []byte)
}

// redact removes secrets, first of all those that stand in headers and fields whose names say so. What is removed from a body is written over, so that
// lengths, and with them the places where reads ended, stay what they were.
func (c *Capture) redact(r Redactor, request, answer map[string][]string) {
	c.RequestHeader, c.Header = redactHeader(r, request), redactHeader(r, answer)
	secret.BlotFields(c.RequestBody)
	r.Blot(c.RequestBody)
	r.Blot(c.Body)
	c.URL, c.Detail = blotted(r, c.URL), blotted(r, c.Detail)
}

func blotted(r Redactor, text string) string {
	p := []byte(text)
	r.Blot(p)
	return string(p)
}

// redactHeader gives a copy that may be shown.
func redactHeader(r Redactor, header map[string][]string) map[string][]string {
	out := make(map[string][]string, len(header))
	for name, values := range header {
		shown := make([]string, len(values))
		for i, value := range values {
			shown[i] = blotted(r, secret.RedactHeader(name, value))
		}
		out[name] = shown
	}
	return out
}
