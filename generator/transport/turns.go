package transport

import "sync/atomic"

// turns tells which requests may use the connection of an earlier one.
type turns struct {
	config *Config
	asked  atomic.Int64
}

// keep counts a request and tells whether it may use such a connection, and leave its own to a later one.
func (t *turns) keep() bool {
	switch t.config.Reuse {
	case KeepAlive:
		return true
	case Both:
		return t.asked.Add(1)%int64(t.config.FreshEvery) != 0
	case Fresh:
	}
	return false
}
