package dataset

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// openShareGPT opens a list of conversations between a human and a model. Each question that has an answer is a turn, and the length of the
// answer is how much is asked for.
func openShareGPT(c *settings) (reader, error) {
	return openElements(c, "", decode(func(r *record) (entry, error) { return decodeShareGPT(r.data) }))
}

// said is one contribution to a conversation of ShareGPT.
type said struct{ from, value string }

func decodeShareGPT(element []byte) (entry, error) {
	var id string
	var lines []said
	err := object(element, func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "id":
			id, err = sessionName(value)
		case "conversations":
			err = elements(value, func(_ int, v []byte) error {
				lines = append(lines, said{})
				return lines[len(lines)-1].read(v)
			})
		}
		return err
	})
	if err != nil {
		return entry{}, err
	}
	var out entry
	for _, p := range pairs(lines) {
		asked, answered := estimate(p[0]), estimate(p[1])
		if asked < minShareGPT || asked > maxShareGPTPrompt || answered < minShareGPT || asked+answered > maxShareGPTPair {
			return entry{left: 1}, nil
		}
		out.rows = append(out.rows, Row{
			Session: id, Prompt: prompt.OfText(p[0]), InputTokens: asked, OutputTokens: answered,
		})
	}
	if len(out.rows) == 0 {
		out.left = 1
	}
	return out, nil
}

// The lengths in tokens within which a conversation is asked, as benchmarks with this dataset have them. They are estimated at four bytes
// to a token.
const (
	minShareGPT       = 4
	maxShareGPTPrompt = 1024
	maxShareGPTPair   = 2048
)

func estimate(s string) int { return (len(s) + 3) / 4 }

func (s *said) read(value []byte) error {
	return members(value, func(key, v []byte) (err error) {
		switch {
		case null(v):
		case string(key) == "from":
			s.from, err = text(v)
		case string(key) == "value":
			s.value, err = text(v)
		}
		return err
	})
}

// pairs finds the questions of the human that are followed by an answer of the model. Where nobody is named, the first two contributions
// are one.
func pairs(lines []said) [][2]string {
	var named []said
	for _, line := range lines {
		if line.from == "human" || line.from == "gpt" {
			named = append(named, line)
		}
	}
	if len(named) == 0 {
		if len(lines) < 2 || lines[0].value == "" || lines[1].value == "" {
			return nil
		}
		return [][2]string{{lines[0].value, lines[1].value}}
	}
	var out [][2]string
	for i := 0; i+1 < len(named); i++ {
		if named[i].from != "human" || named[i+1].from != "gpt" {
			continue
		}
		if named[i].value != "" && named[i+1].value != "" {
			out = append(out, [2]string{named[i].value, named[i+1].value})
		}
		i++
	}
	return out
}
