package dataset

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

func openSingleTurn(c *settings) (reader, error) {
	return openLines(c, decode(func(r *record) (entry, error) {
		var row Row
		err := object(r.data, func(key, value []byte) error {
			if string(key) == "text" {
				said, err := text(value)
				row.Prompt = prompt.OfText(said)
				return err
			}
			return nil
		})
		return entry{rows: []Row{row}}, err
	}))
}
