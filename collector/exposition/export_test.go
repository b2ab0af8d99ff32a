package exposition

// Kept is the number of samples and series that the parser keeps the places of.
func (p *Parser) Kept() int { return len(p.known) + p.store.made }
