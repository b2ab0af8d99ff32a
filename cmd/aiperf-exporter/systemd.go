package main

// look comes back when everything that this process shows can be seen, and says how it is doing: one in which something holds what others wait for does
// not come so far. Series that do not fit together are no reason to start anew: they would not fit after a start either.
func (p *process) look() string {
	_, _ = p.engine.Gather()
	return p.line()
}

// line is what the service manager shows of the daemon.
func (p *process) line() string { return p.engine.redaction.Redact(p.status.Line()) }
