package dataset

import (
	"errors"
	"fmt"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// mooncake reads lines of JSON with one request each: a length in tokens, a text, messages, or a whole body. Instants and delays are in
// milliseconds.
type mooncake struct {
	blockSize int
	// leads are the first hash ids of the sessions, as their first rows have them.
	leads *recent[string, uint64]
}

func openMooncake(c *settings) (reader, error) {
	return openLines(c, &mooncake{blockSize: c.BlockSize, leads: newRecent[string, uint64](pastSessions)})
}

func (m *mooncake) reset() { m.leads.clear() }

func (m *mooncake) decode(r *record) (entry, error) {
	var row Row
	inputs := 0
	err := object(r.data, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "timestamp", "delay", "session_id":
			err = row.setTime(string(key), value)
		case "output_length":
			row.OutputTokens, err = length(value, 0)
		case "extra":
			row.Extra, err = anything(value)
		case "expect":
			row.Expect, err = objectOf(value)
		case "hash_ids":
			row.HashIDs, err = identifiers(value)
		case "tools":
			row.Prompt.Tools, err = tools(value)
		case "chat_id", "parent_chat_id":
			err = fmt.Errorf("is a key of %s, which counts time in seconds", BailianTrace)
		case "input_length", "text_input", "messages", "payload":
			inputs++
			err = row.setInput(string(key), value)
		}
		return err
	})
	if err == nil && inputs != 1 {
		err = errors.New("needs exactly one of input_length, text_input, messages, payload")
	}
	if err == nil {
		err = m.complete(&row)
	}
	return entry{rows: []Row{row}}, err
}

// setInput reads one of the four ways to say what is asked.
func (r *Row) setInput(key string, value []byte) (err error) {
	switch key {
	case "input_length":
		r.InputTokens, err = length(value, 1)
	case "text_input":
		var said string
		if said, err = text(value); err == nil && said == "" {
			err = errors.New("is empty")
		}
		r.Prompt.Messages = []prompt.Message{prompt.TextMessage(prompt.User, said)}
	case "messages":
		r.SelfContained = true
		r.Prompt.Messages, err = messages(value)
	case "payload":
		r.SelfContained = true
		err = r.setPayload(value)
	}
	return err
}

// complete checks what goes together, and finds out whether the row repeats the conversation before it: it does if it begins with the block
// with which its session began.
func (m *mooncake) complete(r *Row) error {
	switch {
	case r.HashIDs != nil && r.InputTokens == 0:
		return errors.New("hash_ids needs input_length")
	case r.Prompt.Tools != nil && (r.Prompt.Payload != nil || !r.SelfContained):
		return errors.New("tools needs messages")
	case r.Prompt.Payload != nil && r.Extra != nil:
		return errors.New("extra excludes payload, which is sent as it is")
	case len(r.HashIDs) == 0:
		return nil
	}
	r.BlockSize = m.blockSize
	if err := r.blocks(); err != nil || r.Session == "" {
		return err
	}
	lead, ok := m.leads.get(r.Session)
	if !ok {
		lead = r.HashIDs[0]
		m.leads.put(r.Session, lead)
	}
	r.SelfContained = r.HashIDs[0] == lead
	return nil
}

// blocks checks that the blocks are not more than the prompt has: then the trace is broken, or its blocks have another size.
func (r *Row) blocks() error {
	if n := len(r.HashIDs); n > 0 && (n-1)*r.BlockSize >= r.InputTokens {
		return fmt.Errorf("hash_ids: %d blocks of %d tokens are more than the prompt of %d tokens has: is block_size right?", n, r.BlockSize, r.InputTokens)
	}
	return nil
}
