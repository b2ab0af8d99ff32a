package probe

// enter takes a place among the probes that may run, if there is one.
func (p *Prober) enter(limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running >= limit {
		return false
	}
	p.running++
	return true
}

func (p *Prober) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}
