package exposition

// Known is the number of samples that the parser keeps the place of.
func (p *Parser) Known() int { return len(p.known) }
