package collector

// States that every collector has beside its own, in which something is wrong.
const (
	StateOK      = "ok"
	StateWaiting = "waiting" // it has not looked yet, or nothing has been sent yet with this configuration
)
