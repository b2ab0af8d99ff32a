package workload

import "math"

// questions asks the texts of the configuration in turn.
type questions struct {
	opener
	texts []string
}

func newQuestions(w *Workload) (*questions, error) {
	o, err := newOpener(w)
	if err != nil {
		return nil, err
	}
	return &questions{opener: *o, texts: w.config.Prompts}, nil
}

func (q *questions) close() error { return nil }

// begin implements asker.
func (q *questions) begin(*Workload, *conversation) error { return nil }

// draft implements asker.
func (q *questions) draft(c *conversation, d *draft) {
	d.input = 0
	q.pin(c, d)
}

// ask implements asker. The user's own words teach nothing about those of the corpus.
func (q *questions) ask(c *conversation, d *draft) (*Turn, error) {
	i := int(c.number % uint64(len(q.texts)))
	o, _ := q.open(c, d, "")
	c.system = o.system
	text := join(o.head, q.texts[i])
	turn, err := q.say(c, text, d)
	if err != nil {
		return nil, err
	}
	turn.InputTokens = int(math.Round(d.ruler.overhead + o.systemTokens + d.ruler.tokens(text)))
	if q.cache == CacheRepeat {
		turn.Fixed = i + 1
	}
	return turn, nil
}
