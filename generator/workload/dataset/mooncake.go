package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// openMooncake opens lines of JSON with one request each: a length in tokens, a text, messages, or a whole body. Instants and delays are in
// milliseconds.
func openMooncake(c *settings) (reader, error) {
	return openLines(c, decode(func(r *record) (entry, error) { return decodeMooncake(r.data, c.BlockSize) }))
}

func decodeMooncake(line []byte, blockSize int) (entry, error) {
	var row Row
	inputs := 0
	err := object(line, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "timestamp":
			row.At, err = span(value, time.Millisecond)
			row.HasAt = true
		case "delay":
			row.Delay, err = span(value, time.Millisecond)
		case "session_id":
			row.Session, err = text(value)
		case "output_length":
			row.OutputTokens, err = whole(value, 0)
		case "extra":
			row.Extra, err = anything(value)
		case "hash_ids":
			row.HashIDs, err = identifiers(value)
		case "input_length":
			inputs++
			row.InputTokens, err = whole(value, 1)
		case "text_input":
			inputs++
			var said string
			said, err = text(value)
			row.Prompt = prompt.OfText(said)
		case "messages":
			inputs++
			row.SelfContained = true
			row.Prompt.Messages, err = messages(value)
		case "tools":
			row.Prompt.Tools, err = list1(value)
		case "payload":
			inputs++
			err = row.setPayload(value)
		}
		return inKey(key, err)
	})
	if err == nil && inputs != 1 {
		err = errors.New("needs exactly one of input_length, text_input, messages, payload")
	}
	_ = blockSize
	return entry{rows: []Row{row}}, err
}

func messages(value []byte) ([]prompt.Message, error) {
	var out []prompt.Message
	err := elements(value, func(_ int, v []byte) error {
		out = append(out, prompt.Message{Raw: json.RawMessage(bytes.Clone(v))})
		return nil
	})
	return out, err
}

func list1(value []byte) (json.RawMessage, error) { return bytes.Clone(value), nil }

func (r *Row) setPayload(value []byte) error {
	r.Prompt.Payload = bytes.Clone(value)
	return nil
}
