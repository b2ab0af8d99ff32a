package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset/columnar"
)

// baseten reads traces of completions in Parquet files. Line numbers are numbers of rows, the first is 1.
type baseten struct {
	settings *settings
	file     *os.File
	bytes    int64
	table    *columnar.File
	row      int64 // the next one, from 0

	at, text, input, output          *columnar.Column
	session, duration, hashes, block *columnar.Column // nil where the file has no such column

	last *recent[string, time.Duration] // when the answer to the row of a session before ended
}

// openBaseten opens a Parquet file. Its footer is read, nothing else.
func openBaseten(c *settings) (reader, error) {
	files, err := list(c)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, plain(err, c.File)
	}
	b := &baseten{settings: c, file: file, bytes: files.sizes[0], last: newRecent[string, time.Duration](pastSessions)}
	if err := b.open(); err != nil {
		return nil, errors.Join(&Error{File: c.File, Err: err}, file.Close())
	}
	return b, nil
}

var errArrow = errors.New("is an Arrow file: convert it to Parquet, as with pyarrow's parquet.write_table(ipc.open_file(IN).read_all(), OUT)")

// open finds the columns.
func (b *baseten) open() error {
	var magic [6]byte
	if _, err := b.file.ReadAt(magic[:], 0); err == nil && string(magic[:]) == "ARROW1" {
		return errArrow
	}
	var err error
	if b.table, err = columnar.Open(b.file, b.bytes); err != nil {
		return err
	}
	var errs []error
	column := func(out **columnar.Column, name string) {
		c, err := b.table.Column(name)
		errs = append(errs, err)
		*out = c
	}
	column(&b.at, "timestamp_start_unix_ms")
	column(&b.text, "prompt")
	column(&b.input, "input_tokens")
	column(&b.output, "output_tokens")
	for _, optional := range []struct {
		out   **columnar.Column
		names []string // the first that the file has
		used  bool
	}{
		{&b.session, []string{"provided_session_id", "poor_man_session_id"}, b.settings.TurnTiming != TurnsStrict},
		{&b.duration, []string{"duration_e2e_ms"}, true},
		{&b.hashes, []string{"total_hashes"}, b.settings.KVHints},
		{&b.block, []string{"block_size"}, b.settings.KVHints},
	} {
		for _, name := range optional.names {
			if optional.used && *optional.out == nil && b.table.Has(name) {
				column(optional.out, name)
			}
		}
	}
	return oneLine(errs)
}

// oneLine joins errors in one line.
func oneLine(errs []error) error {
	var text []string
	for _, err := range errs {
		if err != nil {
			text = append(text, err.Error())
		}
	}
	if text == nil {
		return nil
	}
	return errors.New(strings.Join(text, ", "))
}

func (b *baseten) size() int64  { return b.bytes }
func (b *baseten) Close() error { return b.file.Close() }

func (b *baseten) rewind() error {
	b.row = 0
	b.last.clear()
	return nil
}

func (b *baseten) seek(m mark) error {
	b.row = m.offset
	return nil
}

func (b *baseten) read() (entry, error) {
	if b.row >= b.table.Rows() {
		return entry{}, io.EOF
	}
	at := b.row
	b.row++
	row := Row{SelfContained: true, HasAt: true, File: b.settings.File, Line: int(at) + 1}
	if err := b.decode(at, &row); err != nil {
		if errors.Is(err, columnar.ErrCorrupt) {
			b.row = b.table.Behind(at)
			err = fmt.Errorf("%w; the rows up to %d are passed over", err, b.row)
		}
		return entry{}, &Error{File: row.File, Line: row.Line, Err: err}
	}
	return entry{rows: []Row{row}, order: int(row.At), cost: rowBytes + row.cost(), mark: mark{at, row.Line}}, nil
}

// decode reads the columns of a row.
func (b *baseten) decode(at int64, row *Row) error {
	began, err := required(b.at, at, "timestamp_start_unix_ms", math.MaxInt64/int64(time.Millisecond))
	if err != nil {
		return err
	}
	row.At = time.Duration(began) * time.Millisecond
	text, _, err := b.text.Text(at)
	switch {
	case err != nil:
		return err
	case text == "":
		return errors.New("prompt: is missing or empty")
	case len(text) > maxRecord:
		return fmt.Errorf("prompt: is longer than %d MiB", maxRecord>>20)
	case !utf8.ValidString(text):
		return errors.New("prompt: is not UTF-8")
	}
	row.Prompt = prompt.OfText(text)
	input, err := required(b.input, at, "input_tokens", maxTokens)
	if err != nil {
		return err
	}
	output, err := required(b.output, at, "output_tokens", maxTokens)
	if err != nil {
		return err
	}
	row.InputTokens, row.OutputTokens = int(input), max(int(output), 1) // 0 tokens are an answer that was given up
	if bound := b.settings.MaxOutputTokens; bound != 0 {
		row.OutputTokens = min(row.OutputTokens, bound) // here already: min_tokens follows it
	}
	if err := b.extra(at, row); err != nil {
		return err
	}
	return b.pause(at, row)
}

// required reads a number that each row has, from 0 to most.
func required(c *columnar.Column, at int64, name string, most int64) (int64, error) {
	n, ok, err := c.Int(at)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, fmt.Errorf("%s: is missing", name)
	case n < 0 || n > most:
		return 0, fmt.Errorf("%s: must be between 0 and %d, got %d", name, most, n)
	}
	return n, nil
}

// extra makes the fields of the body that the recording asks for.
func (b *baseten) extra(at int64, row *Row) error {
	row.Extra = map[string]any{}
	if b.settings.ForceMinTokens {
		row.Extra["min_tokens"] = row.OutputTokens
	}
	if b.hashes != nil {
		hashes, err := b.hashes.Ints(at, nil)
		if err != nil {
			return err
		}
		if len(hashes) > 0 {
			row.Extra["hash_ids"] = hashes
		}
	}
	if b.block != nil {
		n, ok, err := b.block.Int(at)
		switch {
		case err != nil:
			return err
		case ok && n < 1:
			return fmt.Errorf("block_size: must be positive, got %d", n)
		case ok:
			row.Extra["block_size"] = n
		}
	}
	return nil
}

// pause finds the session of a row, and how long after the answer before it the row was asked.
func (b *baseten) pause(at int64, row *Row) error {
	if b.session == nil {
		return nil
	}
	session, ok, err := b.session.Text(at)
	if err != nil || !ok || session == "" {
		return err
	}
	row.Session = session
	ended := row.At
	if b.duration != nil {
		took, ok, err := b.duration.Int(at)
		switch {
		case err != nil:
			return err
		case ok && (took < 0 || took > int64(maxAnswer/time.Millisecond)):
			return fmt.Errorf("duration_e2e_ms: must be between 0 and %d, got %d", maxAnswer/time.Millisecond, took)
		}
		ended += time.Duration(took) * time.Millisecond
	}
	if before, known := b.last.get(session); known {
		row.Delay = max(0, row.At-before)
		row.HasAt = b.settings.TurnTiming != TurnsPaused
	}
	b.last.put(session, ended)
	return nil
}

// maxAnswer is longer than any answer takes.
const maxAnswer = 30 * 24 * time.Hour
