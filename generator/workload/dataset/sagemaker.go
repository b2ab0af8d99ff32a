package dataset

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"
)

// openSageMaker opens lines of JSON with one captured request each, as SageMaker's data capture writes them: the body that an endpoint with
// messages was sent, and its answer, which is only asked for its usage. Each stands alone.
func openSageMaker(c *settings) (reader, error) { return openLines(c, decode(decodeCapture)) }

func decodeCapture(r *record) (entry, error) {
	row := Row{SelfContained: true, HasAt: true}
	var input, output []byte
	timed := false
	err := object(r.data, func(key, value []byte) error {
		switch string(key) {
		case "captureData":
			return members(value, func(key, value []byte) error {
				var err error
				switch {
				case null(value):
				case string(key) == "endpointInput":
					input, err = captured(value)
				case string(key) == "endpointOutput":
					output, _ = captured(value) // an answer in another form has no usage, that is all
				}
				return err
			})
		case "eventMetadata":
			return members(value, func(key, value []byte) error {
				if string(key) != "inferenceTime" {
					return nil
				}
				var err error
				row.At, err = instant(value)
				timed = true
				return err
			})
		}
		return nil
	})
	switch {
	case err != nil:
	case !timed:
		err = errors.New("eventMetadata.inferenceTime: is missing")
	case input == nil:
		err = errors.New("captureData.endpointInput: is missing")
	default:
		if err = row.setCaptured(input); err != nil {
			err = fmt.Errorf("captureData.endpointInput.data: %w", err)
		}
		row.setUsage(output)
	}
	return entry{rows: []Row{row}}, err
}

// captured decodes one side of a capture.
func captured(value []byte) ([]byte, error) {
	var data string
	encoding, given := "BASE64", false
	err := members(value, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "data":
			data, err = text(value)
			given = true
		case "encoding":
			encoding, err = text(value)
		}
		return err
	})
	if err == nil && !given {
		err = errors.New("data: is missing")
	}
	if err != nil {
		return nil, err
	}
	switch encoding {
	case "JSON":
		return []byte(data), nil
	case "BASE64":
		out, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("encoding: must be JSON or BASE64, got %q", clipped(encoding))
}

// setCaptured takes what is asked from the body of a captured request.
func (r *Row) setCaptured(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("is not UTF-8")
	}
	limit := 0 // by the newer name, which counts if the other is not there
	err := object(body, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "messages":
			r.Prompt.Messages, err = messages(value)
		case "tools":
			if len(bytes.TrimSpace(value)) > len("[]") { // some clients always send a list
				r.Prompt.Tools, err = tools(value)
			}
		case "max_tokens":
			r.OutputTokens, err = length(value, 1)
		case "max_completion_tokens":
			limit, err = length(value, 1)
		}
		return err
	})
	if err == nil && r.Prompt.Messages == nil {
		err = errors.New("has no messages: only requests to endpoints with messages can be asked again")
	}
	if r.OutputTokens == 0 {
		r.OutputTokens = limit
	}
	return err
}

// setUsage takes the recorded lengths from the body of an answer, if it tells them.
func (r *Row) setUsage(body []byte) {
	if valid(body) != nil || body[space(body, 0)] != '{' {
		return
	}
	var input, output int
	_ = members(body, func(key, value []byte) error {
		if string(key) != "usage" || value[0] != '{' {
			return nil
		}
		return members(value, func(key, value []byte) error {
			switch string(key) {
			case "prompt_tokens":
				input, _ = length(value, 0)
			case "completion_tokens":
				output, _ = length(value, 0)
			}
			return nil
		})
	})
	r.InputTokens = input
	if r.OutputTokens == 0 { // no limit was asked for
		r.OutputTokens = output
	}
}
