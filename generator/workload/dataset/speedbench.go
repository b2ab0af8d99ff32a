package dataset

import (
	"errors"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// openSpeedBench opens lines of JSON with one question of SPEED-Bench each: every message of it is a turn, whoever speaks.
func openSpeedBench(c *settings) (reader, error) {
	return openLines(c, decode(func(r *record) (entry, error) { return decodeSpeedBench(r.data) }))
}

// withheld begins the texts of questions that the published files do not have.
const withheld = "FULL BENCHMARK DATA SHOULD BE FETCHED"

func decodeSpeedBench(line []byte) (entry, error) {
	var out entry
	var id, category string
	err := object(line, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "question_id":
			id, err = text(value)
		case "category":
			category, err = text(value)
		case "messages":
			err = elements(value, func(_ int, v []byte) error {
				out.rows = append(out.rows, Row{})
				return out.rows[len(out.rows)-1].setSpeedBench(v)
			})
		}
		return err
	})
	switch {
	case err != nil:
	case len(id) != 32:
		err = errors.New("question_id: must have 32 characters")
	case category == "":
		err = errors.New("category is missing")
	case len(out.rows) == 0:
		err = errors.New("messages: must hold at least one")
	}
	for i := range out.rows {
		out.rows[i].Session = id
	}
	return out, err
}

func (r *Row) setSpeedBench(value []byte) error {
	var role, content string
	err := members(value, func(key, v []byte) error {
		var err error
		switch string(key) {
		case "role":
			role, err = text(v)
		case "content":
			content, err = text(v)
		}
		return err
	})
	switch {
	case err != nil:
	case strings.TrimSpace(role) == "" || strings.TrimSpace(content) == "":
		err = errors.New("needs a role and a content")
	case strings.HasPrefix(content, withheld):
		err = errors.New("has no text: the file holds only what is public of the benchmark, fetch the whole from its source")
	}
	r.Prompt.Messages = []prompt.Message{prompt.TextMessage(prompt.Role(role), content)}
	return err
}
