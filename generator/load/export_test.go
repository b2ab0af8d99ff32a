package load

// Prefilling is the number of requests that were handed out and have neither a first token nor ended.
func (g *Gate) Prefilling() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.prefilling
}

// Until is the first instant at which an arrival may be sent, the next probe included; it lies in the past if no pause is on.
func (b *Backoff) Until() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause.open()
}
