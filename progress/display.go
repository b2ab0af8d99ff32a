package progress

import (
	"sync"
	"time"
)

// Mode is how progress is shown.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // TTY on a terminal that can do it, Plain elsewhere
	TTY   Mode = "tty"   // a block that is drawn again and again
	Plain Mode = "plain" // a line every ten seconds
	None  Mode = "none"
)

// Modes lists them.
func Modes() []string { return []string{string(Auto), string(TTY), string(Plain), string(None)} }

// Options say how a Progress is shown.
type Options struct {
	Mode    Mode
	Console *Console
	Term    string // what the environment says of the terminal
	Colours bool
	// InFlight gives the running requests by target.
	InFlight func() map[string]int
}

// Times between two blocks, and between two lines.
const (
	frame    = 200 * time.Millisecond
	interval = 10 * time.Second
)

// Display shows a Progress while its traffic runs.
type Display struct {
	progress *Progress
	options  Options
	began    time.Time
	stop     chan struct{}
	ended    sync.WaitGroup
	spoke    bool // a line was written
}

// Show begins to show it: the traffic begins now. It goes on until End.
func (p *Progress) Show(options Options) *Display {
	d := &Display{progress: p, options: options, began: time.Now(), stop: make(chan struct{})}
	if d.options.Mode == Auto {
		d.options.Mode = Plain
		if options.Console.terminal && options.Term != "dumb" {
			d.options.Mode = TTY
		}
	}
	switch d.options.Mode {
	case TTY:
		d.ended.Go(func() { d.every(frame, d.draw) })
	case Plain:
		d.ended.Go(func() { d.every(interval, d.line) })
	case Auto, None:
	}
	return d
}

func (d *Display) every(period time.Duration, show func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			show()
		}
	}
}

func (d *Display) rows() []row { return d.progress.rows(time.Since(d.began), d.options.InFlight()) }

func (d *Display) draw() {
	rows := d.rows()
	d.options.Console.show(func(columns, lines int) []line { return block(rows, columns, lines, d.options.Colours) })
}

func (d *Display) line() {
	d.spoke = true
	rows := d.rows()
	name := "run"
	if len(rows) == 1 {
		name = rows[0].name
	}
	all := sum(name, rows)
	d.options.Console.say(name + ": " + all.sentence())
}

// End shows how it ended: the traffic has. Nothing is said of a run that was too short for a line.
func (d *Display) End() {
	close(d.stop)
	d.ended.Wait()
	switch {
	case d.options.Mode == TTY:
		d.draw()
	case d.spoke:
		d.line()
	}
}
