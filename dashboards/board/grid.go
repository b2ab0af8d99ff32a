package board

import (
	"hash/fnv"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// gridWidth is that of every page of Grafana, in units.
const gridWidth = 24

// grid hands out places: from left to right, and below what was there when a line is full.
type grid struct {
	x, y, height uint32 // where the next one goes; height is that of the line
}

// put takes the next place.
func (g *grid) put(width, height uint32) dashboard.GridPos {
	if g.x+width > gridWidth {
		g.newLine()
	}
	at := dashboard.GridPos{X: g.x, Y: g.y, W: width, H: height}
	g.x += width
	g.height = max(g.height, height)
	return at
}

// newLine goes on below everything.
func (g *grid) newLine() { g.x, g.y, g.height = 0, g.y+g.height, 0 }

// identifier is the number of a panel. It comes from its key, so that links to a panel outlive changes around it; a script of the browser must be
// able to hold it.
func identifier(key string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(key))
	return h.Sum32()&0x3fffffff + 1
}
