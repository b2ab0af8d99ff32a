package dataset

import (
	"errors"
	"fmt"
	"time"
)

// weka reads documents of JSON with one recorded agent each: the lengths and the blocks of its prompts, and those of its sub-agents, which
// ran beside it. Instants and durations are in seconds, instants from the beginning of the trace: a recording of many has one behind the
// other. Hash ids mean the same in the whole document and nothing outside it.
type weka struct {
	settings *settings
	seen     *recent[string, int64] // where each trace stands
	begin    time.Duration          // of the next trace in the recording
}

func openWeka(c *settings) (reader, error) {
	return openDocuments(c, &weka{settings: c, seen: newRecent[string, int64](pastSessions)})
}

func (w *weka) reset() {
	w.seen.clear()
	w.begin = 0
}

// wekaTrace is what a document tells.
type wekaTrace struct {
	id        string
	scope     string
	blockSize int
	calls     []call
	agents    []wekaAgent
}

// wekaAgent is a sub-agent.
type wekaAgent struct {
	id          string
	from, until time.Duration
	ended       bool // until is recorded
	calls       []call
	before      int // how many calls of the trace stand before it
}

func (w *weka) decode(r *record) (entry, error) {
	var t wekaTrace
	if err := t.read(r.data); err != nil {
		return entry{}, err
	}
	if at, known := w.seen.get(t.id); known && at != r.mark.offset {
		return entry{}, fmt.Errorf("id %q stands twice", clipped(t.id))
	}
	w.seen.put(t.id, r.mark.offset)
	root := w.settings.conversation(t.id, r.file, t.calls, t.blockSize)
	names := map[string]bool{}
	left := 0
	for i := range t.agents {
		a := &t.agents[i]
		a.place()
		agent := w.settings.conversation(t.id+"/"+a.id, r.file, a.calls, t.blockSize)
		if !root.begin(agent, t.calls, a.until, a.before-1) {
			left += len(a.calls) // nothing began it
			continue
		}
		if names[a.id] {
			return entry{}, fmt.Errorf("agent_id %q stands twice", clipped(a.id))
		}
		names[a.id] = true
	}
	root.shift(w.begin)
	w.begin += t.end()
	return entry{rows: root.Rows, left: left}, nil
}

// end is when the last answer of the trace ended.
func (t *wekaTrace) end() time.Duration {
	end := time.Duration(0)
	for i := range t.calls {
		end = max(end, t.calls[i].at+t.calls[i].took)
	}
	for i := range t.agents {
		end = max(end, t.agents[i].until)
	}
	return end
}

// place finds when the sub-agent ended if that is not recorded, and brings its calls to the clock of the trace: older recordings have those
// from the beginning of the agent.
func (a *wekaAgent) place() {
	for i := range a.calls {
		call := &a.calls[i]
		if call.at+tolerance < a.from {
			call.at += a.from
		}
		if end := call.at + call.took; !a.ended && end > a.until {
			a.until = end
		}
	}
}

func (t *wekaTrace) read(data []byte) error {
	err := object(data, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "id":
			t.id, err = text(value)
		case "block_size":
			t.blockSize, err = whole(value, 1)
		case "hash_id_scope":
			t.scope, err = text(value)
		case "requests":
			err = t.requests(value)
		case "models", "tool_tokens", "system_tokens", "totals": // do not change what is asked
		default:
			err = errUnknownKey
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case t.id == "":
		return errors.New("id: is missing")
	case t.blockSize == 0 || t.blockSize > maxBlock:
		return fmt.Errorf("block_size: must be between 1 and %d, got %d", maxBlock, t.blockSize)
	case t.scope != "local":
		return fmt.Errorf("hash_id_scope: must be local, got %q", clipped(t.scope))
	}
	return t.check()
}

var errUnknownKey = errors.New("is not known")

// check looks at what can be checked once the size of blocks is known.
func (t *wekaTrace) check() error {
	for i := range t.calls {
		if err := t.calls[i].blocks(t.blockSize); err != nil {
			return fmt.Errorf("requests: the call at %v: %w", t.calls[i].at, err)
		}
	}
	for i := range t.agents {
		for j := range t.agents[i].calls {
			if err := t.agents[i].calls[j].blocks(t.blockSize); err != nil {
				return fmt.Errorf("requests: agent %q: the call at %v: %w", clipped(t.agents[i].id), t.agents[i].calls[j].at, err)
			}
		}
	}
	return nil
}

// blocks is Row.blocks.
func (c *call) blocks(size int) error {
	return (&Row{HashIDs: c.ids, BlockSize: size, InputTokens: max(c.input, 1)}).blocks()
}

// requests reads calls and sub-agents, which stand in one list.
func (t *wekaTrace) requests(value []byte) error {
	return elements(value, func(_ int, v []byte) error { return t.request(v) })
}

func (t *wekaTrace) request(value []byte) error {
	kind, err := typeOf(value)
	switch {
	case err != nil:
		return err
	case kind == "subagent":
		a := wekaAgent{before: len(t.calls)}
		err = a.read(value)
		t.agents = append(t.agents, a)
	default:
		var c call
		err = c.read(value, kind)
		t.calls = append(t.calls, c)
	}
	return err
}

// typeOf reads the member "type" of an object.
func typeOf(value []byte) (string, error) {
	out := ""
	err := members(value, func(key, value []byte) error {
		var err error
		if string(key) == "type" {
			out, err = text(value)
		}
		return err
	})
	return out, err
}

func (a *wekaAgent) read(value []byte) error {
	timed := false
	duration := time.Duration(0)
	err := members(value, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "t":
			a.from, err = span(value, time.Second)
			timed = true
		case "agent_id":
			a.id, err = text(value)
		case "duration_ms":
			duration, err = elapsed(value, time.Millisecond)
			a.ended = true
		case "requests":
			err = elements(value, func(_ int, v []byte) error {
				kind, inner := typeOf(v)
				var c call
				if inner == nil {
					inner = c.read(v, kind)
				}
				a.calls = append(a.calls, c)
				return inner
			})
		case "type", "subagent_type", "total_tokens", "tool_use_count", "status", "models", "tool_tokens", "system_tokens":
		default:
			err = errUnknownKey
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !timed:
		return errors.New("t: is missing")
	case a.id == "":
		return errors.New("agent_id: is missing")
	}
	a.until = a.from + duration
	return nil
}

func (c *call) read(value []byte, kind string) error {
	if kind != "n" && kind != "s" {
		return fmt.Errorf("type: must be n, s or subagent (in a trace), got %q", clipped(kind))
	}
	*c = call{at: -1, think: -1, input: -1, output: -1, line: 1}
	err := members(value, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "t":
			c.at, err = span(value, time.Second)
		case "in":
			c.input, err = length(value, 0)
		case "out":
			c.output, err = length(value, 0)
		case "hash_ids":
			c.ids, err = identifiers(value)
		case "api_time":
			c.took, err = elapsed(value, time.Second)
		case "think_time":
			c.think, err = elapsed(value, time.Second)
		default:
			err = ignored(string(key), kind)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case c.at < 0:
		return errors.New("t: is missing")
	case c.input < 0:
		return errors.New("in: is missing")
	case c.output < 0:
		return errors.New("out: is missing")
	}
	return nil
}

// ignored tells of a key of a call that does not change what is asked whether it is known.
func ignored(key, kind string) error {
	switch key {
	case "type", "model", "input_types", "output_types", "stop":
		return nil
	case "ttft":
		if kind == "s" {
			return nil
		}
		return errors.New("only streamed calls have it")
	}
	return errUnknownKey
}
