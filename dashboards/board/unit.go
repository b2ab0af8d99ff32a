package board

// Unit is how Grafana prints a number. Queries are in base units, Grafana scales: no query is in milliseconds.
type Unit string

// The units of all panels.
const (
	Seconds         Unit = "s"
	Share           Unit = "percentunit" // 0 to 1, shown as percent
	Requests        Unit = "reqps"
	Count           Unit = "short"
	Plain           Unit = "none"
	Tokens          Unit = "short"
	TokensPerSecond Unit = "suffix: tok/s"
	TokensPerJoule  Unit = "suffix: tok/J"
	Nats            Unit = "suffix: nats"
	Times           Unit = "suffix:x" // a rate as a multiple of what it may be
	Bytes           Unit = "bytes"
	BytesPerSecond  Unit = "Bps"
	Watts           Unit = "watt"
	Joules          Unit = "joule"
	Celsius         Unit = "celsius"
	Hertz           Unit = "hertz"
	Cores           Unit = "suffix: cores"
)
