package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// openSingleTurn opens lines of JSON with one request each. Rows of one session are asked one after the other, but know nothing of each
// other.
func openSingleTurn(c *settings) (reader, error) {
	d := turnDecoder{library: libraryOf(c)}
	return openLines(c, decode(func(r *record) (entry, error) {
		row := Row{SelfContained: true}
		if err := valid(r.data); err != nil {
			return entry{}, err
		}
		cost, err := d.turn(r.data, &row)
		return entry{rows: []Row{row}, cost: cost}, err
	}))
}

// multiTurn reads lines of JSON with one conversation each, or a piece of one.
type multiTurn struct {
	turnDecoder
	begins *recent[string, int64] // where each session begins
}

func openMultiTurn(c *settings) (reader, error) {
	return openLines(c, &multiTurn{turnDecoder{library: libraryOf(c)}, newRecent[string, int64](pastSessions)})
}

func (d *multiTurn) reset() { d.begins.clear() }

func (d *multiTurn) decode(r *record) (entry, error) {
	var out entry
	var session string
	err := object(r.data, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "session_id":
			session, err = sessionName(value)
		case "turns":
			err = elements(value, func(_ int, v []byte) error {
				out.rows = append(out.rows, Row{})
				cost, wrong := d.turn(v, &out.rows[len(out.rows)-1])
				if out.cost += cost; wrong == nil && out.cost > maxRecord {
					wrong = fmt.Errorf("the media of the conversation are larger than %d MiB", maxRecord>>20)
				}
				return wrong
			})
		}
		return err
	})
	if err == nil && len(out.rows) == 0 {
		err = errors.New("needs at least one turn in turns")
	}
	if err != nil {
		return entry{}, err
	}
	begin, known := d.begins.get(session)
	if session == "" || !known || begin == r.mark.offset { // what goes on has its system prompt already
		out.rows = hoisted(out.rows)
		d.begins.put(session, r.mark.offset)
	}
	for i := range out.rows {
		out.rows[i].Session = session
	}
	return out, nil
}

// hoisted makes a leading turn of the system the system prompt of the conversation, unless it has more than text to say, or anything else
// than the system does not follow: then it is asked like other turns.
func hoisted(rows []Row) []Row {
	first := &rows[0]
	message := first.Prompt.Last()
	alone := len(message.Of(prompt.Text)) == len(message.Parts)
	plain := !first.HasAt && first.Delay == 0 && first.OutputTokens == 0 && first.Extra == nil && first.Expect == nil
	if message.Role != prompt.System || !alone || !plain || len(rows) < 2 || rows[1].Prompt.Last().Role == prompt.System {
		return rows
	}
	system := strings.Join(message.Texts(), "\n")
	for i := range rows[1:] {
		rows[1+i].Prompt.System = system
	}
	return rows[1:]
}
