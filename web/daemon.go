package web

import "github.com/aiperf-exporter/aiperf-exporter/web/view"

// What the pages are handed, under the names of the room of the values, which the API can import as well.
type (
	// Daemon is what pages and API show.
	Daemon = view.Daemon
	// Controls change what the daemon does.
	Controls = view.Controls
	// Captures are the streams that were kept whole.
	Captures = view.Captures
)

// ErrReloading is what Controls.Reload gives while another reload is running.
var ErrReloading = view.ErrReloading
