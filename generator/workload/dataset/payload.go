package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// openRawPayload opens lines that are whole request bodies: of a file each stands alone, each file of a folder is one conversation.
func openRawPayload(c *settings) (reader, error) {
	info, err := os.Stat(c.File)
	if err != nil {
		return nil, plain(err, c.File)
	}
	return openLines(c, decode(func(r *record) (entry, error) {
		row := Row{SelfContained: true}
		if info.IsDir() {
			row.Session = stem(r.file)
		}
		if err := valid(r.data); err != nil {
			return entry{}, err
		}
		err := row.setPayload(r.data)
		if err == nil && !hasMessages(r.data) {
			err = errors.New("messages: must be a list")
		}
		return entry{rows: []Row{row}}, err
	}))
}

// stem is the name of a file without folder and endings.
func stem(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".gz")
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func hasMessages(body []byte) (found bool) {
	_ = members(body, func(key, value []byte) error {
		found = found || string(key) == "messages" && value[0] == '['
		return nil
	})
	return found
}

// openInputsJSON opens the bodies that other load generators write down: {"data": [{"session_id": …, "payloads": […]}]}, or "payload" in
// older ones.
func openInputsJSON(c *settings) (reader, error) {
	return openElements(c, "data", &inputs{seen: newRecent[string, int64](pastSessions)})
}

// inputs reads the sessions of inputs_json.
type inputs struct {
	seen *recent[string, int64] // where each session stands
}

func (d *inputs) reset() { d.seen.clear() }

func (d *inputs) decode(r *record) (entry, error) {
	var out entry
	var session string
	err := object(r.data, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "session_id":
			session, err = sessionName(value)
		case "payloads", "payload":
			if out.rows != nil {
				return errors.New("payload and payloads exclude each other")
			}
			err = elements(value, func(_ int, v []byte) error {
				out.rows = append(out.rows, Row{SelfContained: true})
				return out.rows[len(out.rows)-1].setPayload(v)
			})
		}
		return err
	})
	switch at, known := d.seen.get(session); {
	case err != nil:
		return entry{}, err
	case len(out.rows) == 0:
		return entry{}, errors.New("needs at least one body in payloads")
	case session != "" && known && at != r.mark.offset:
		return entry{}, fmt.Errorf("session_id %q stands twice", clipped(session))
	}
	d.seen.put(session, r.mark.offset)
	for i := range out.rows {
		out.rows[i].Session = session
	}
	return out, nil
}

// setPayload takes a whole request body that is known to be valid JSON, and what it says about the request.
func (r *Row) setPayload(body []byte) error {
	empty := true
	err := members(body, func(key, value []byte) error {
		empty = false
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "model":
			r.Model, err = text(value)
		case "stream":
			r.PayloadStream, err = flag(value)
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			r.OutputTokens, err = length(value, 0)
		}
		return err
	})
	if err == nil && empty {
		err = errors.New("must not be empty")
	}
	r.Prompt.Payload = bytes.Clone(body)
	return err
}

// messages reads a list of messages as protocols with messages have them. Each is kept as it is.
func messages(value []byte) ([]prompt.Message, error) {
	var out []prompt.Message
	err := elements(value, func(_ int, v []byte) error {
		hasRole := false
		err := members(v, func(key, _ []byte) error {
			hasRole = hasRole || string(key) == "role"
			return nil
		})
		if err == nil && !hasRole {
			err = errors.New("needs a role")
		}
		if err != nil {
			return err
		}
		out = append(out, prompt.Message{Raw: json.RawMessage(bytes.Clone(v))})
		return nil
	})
	if err == nil && len(out) == 0 {
		err = errors.New("must hold at least one")
	}
	return out, err
}

// tools reads a list of tool definitions, which is kept as it is.
func tools(value []byte) (json.RawMessage, error) {
	n := 0
	err := elements(value, func(_ int, v []byte) error {
		n++
		if v[0] != '{' {
			return fmt.Errorf("must be an object, got %s", kind(v))
		}
		return nil
	})
	if err == nil && n == 0 {
		err = errors.New("must hold at least one")
	}
	return bytes.Clone(value), err
}
