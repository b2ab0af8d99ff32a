package secret

// blot is what Blot writes over each byte of a secret. It needs no escape in JSON, in a URL or in a header.
const blot = '*'

// Blot writes over each secret in p that Redact would replace, so that nothing else moves: lengths and places mean something in the bytes of a stream.
func (r *Redactor) Blot(p []byte) {
	for _, s := range r.current().search(p) {
		for i := s.from; i < s.to; i++ {
			p[i] = blot
		}
	}
}
