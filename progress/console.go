package progress

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Console is where messages and the block go, in turns: a message stands above the block and does not tear it. The cursor always rests in the
// line below, and nothing of the terminal is changed, so that whatever ends the process leaves nothing to be put right.
type Console struct {
	out      io.Writer
	terminal bool                                // somebody looks at it
	size     func() (columns, rows int, ok bool) // of the terminal; false: it does not say

	mu    sync.Mutex // guards block, and the order of what is written
	block []line
}

// NewConsole makes one of standard error, or of what stands for it.
func NewConsole(out io.Writer) *Console {
	c := &Console{out: out, size: func() (columns, rows int, ok bool) { return 0, 0, false }}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		c.terminal = true
		c.size = func() (columns, rows int, ok bool) {
			columns, rows, err := term.GetSize(int(file.Fd()))
			return columns, rows, err == nil && columns > 0 && rows > 0
		}
	}
	return c
}

// dimensions are those of the terminal, or of what is taken for one.
func (c *Console) dimensions() (columns, rows int) {
	if columns, rows, ok := c.size(); ok {
		return columns, rows
	}
	return 100, 25
}

// What terminals understand. Those that know the first two show what is between them at once, the others ignore them.
const (
	begin    = "\x1b[?2026h"
	end      = "\x1b[?2026l"
	rest     = "\x1b[K" // erases the rest of the line
	below    = "\x1b[J" // erases everything below
	upFormat = "\x1b[%dA\r"
)

// Write implements io.Writer for messages of whole lines.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.block) == 0 {
		return c.out.Write(p)
	}
	var out bytes.Buffer
	out.WriteString(begin + c.up() + below)
	out.Write(p)
	if !bytes.HasSuffix(p, []byte("\n")) {
		out.WriteByte('\n')
	}
	c.put(&out)
	if _, err := c.out.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show puts a block in the place of the one before.
func (c *Console) show(draw func(columns, rows int) []line) {
	columns, rows := c.dimensions()
	// One column and one line are the cursor's.
	lines := draw(columns-1, rows-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	var out bytes.Buffer
	out.WriteString(begin + c.up())
	c.block = lines
	c.put(&out)
	_, _ = c.out.Write(out.Bytes()) // a terminal that is gone is no reason to end a run
}

// put writes the block and erases what the one before has below it.
func (c *Console) put(out *bytes.Buffer) {
	for _, l := range c.block {
		out.WriteString(l.text + rest + "\n")
	}
	out.WriteString(below + end)
}

// up brings the cursor to the first line of the block, which a terminal that has become narrower has wrapped.
func (c *Console) up() string {
	if len(c.block) == 0 {
		return ""
	}
	columns, _ := c.dimensions()
	lines := 0
	for _, l := range c.block {
		lines += max((l.width+columns-1)/columns, 1)
	}
	return fmt.Sprintf(upFormat, lines)
}

// Leave lets the last block stand where it is, or takes it away, and is done with it.
func (c *Console) Leave(stands bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.block) > 0 && !stands {
		_, _ = io.WriteString(c.out, c.up()+below)
	}
	c.block = nil
}

// say writes a line of its own.
func (c *Console) say(text string) {
	_, _ = io.WriteString(c, strings.TrimRight(text, " ")+"\n")
}
