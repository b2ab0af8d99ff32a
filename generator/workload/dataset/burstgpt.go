package dataset

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// burst reads lines of comma-separated values with the lengths of one request each. Instants are in seconds. Rows of failed requests, which
// have no answer, are left out.
type burst struct {
	header mark // where the names of the columns stand
	column [3]int
	known  bool
}

// burstColumns are those that are needed; all others are left out.
var burstColumns = [3]string{"Timestamp", "Request tokens", "Response tokens"}

func openBurstGPT(c *settings) (reader, error) { return openLines(c, &burst{}) }

// reset keeps the header: it is the same in every pass, and rows may be read without it.
func (b *burst) reset() {}

func (b *burst) decode(r *record) (entry, error) {
	fields, err := split(r.data)
	if err != nil {
		return entry{}, err
	}
	if !b.known || r.mark == b.header {
		return entry{}, b.learn(fields, r.mark)
	}
	row := Row{HasAt: true}
	var numbers [3]float64
	for i, column := range b.column {
		if column >= len(fields) {
			return entry{}, fmt.Errorf("has no column %q", burstColumns[i])
		}
		if numbers[i], err = strconv.ParseFloat(strings.TrimSpace(fields[column]), 64); err != nil {
			return entry{}, fmt.Errorf("%s: must be a number, got %q", burstColumns[i], clipped(fields[column]))
		}
	}
	if row.At, err = span([]byte(strings.TrimSpace(fields[b.column[0]])), time.Second); err != nil {
		return entry{}, inKey(burstColumns[0], err)
	}
	for i, to := range []*int{&row.InputTokens, &row.OutputTokens} {
		n := numbers[i+1]
		if !(n >= 0 && n <= maxTokens) || n != float64(int(n)) {
			return entry{}, fmt.Errorf("%s: must be a whole number from 0 to %d, got %v", burstColumns[i+1], maxTokens, n)
		}
		*to = int(n)
	}
	if row.InputTokens == 0 || row.OutputTokens == 0 {
		return entry{left: 1}, nil
	}
	return entry{rows: []Row{row}}, nil
}

// learn reads the names of the columns.
func (b *burst) learn(fields []string, at mark) error {
	for i, name := range burstColumns {
		b.column[i] = -1
		for j, field := range fields {
			if strings.TrimSpace(field) == name {
				b.column[i] = j
			}
		}
		if b.column[i] < 0 {
			return fmt.Errorf("the header has no column %q", name)
		}
	}
	b.known, b.header = true, at
	return nil
}

// split cuts a line into its fields.
func split(line []byte) ([]string, error) {
	if bytes.IndexByte(line, '"') < 0 {
		return strings.Split(string(line), ","), nil
	}
	fields, err := csv.NewReader(bytes.NewReader(line)).Read()
	if err != nil {
		return nil, fmt.Errorf("is not CSV: %w", err)
	}
	return fields, nil
}
