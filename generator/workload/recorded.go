package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload/dataset"
)

// recorded asks the conversations of a dataset.
//
// With cache: bust the nonce stands at the beginning of each conversation, so that nothing of an earlier one is in a cache. Rows whose
// prompt is made of blocks that they share get a nonce that is the same for a whole pass over the file instead: what the recording shares
// stays shared, and no pass meets the one before. Recorded bodies are sent as they are.
type recorded struct {
	opener
	data    *dataset.Dataset
	written blockCache // by a tokenizer

	first    string  // position of the first row that was read: it comes again when a pass ends
	pass     uint64  // over the file, as far as its order tells
	blockFit float64 // tokens for a byte by which blocks are made
}

func newRecorded(w *Workload, seed [32]byte) (*recorded, error) {
	o, err := newOpener(w)
	if err != nil {
		return nil, err
	}
	r := &recorded{opener: *o}
	if r.data, err = dataset.Open(&w.config.Dataset, dataset.Options{Seed: seed, OnSkip: w.skipped}); err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	return r, nil
}

func (r *recorded) close() error { return r.data.Close() }

// begin implements asker.
func (r *recorded) begin(w *Workload, c *conversation) error {
	next, err := r.data.Next()
	if err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	switch position := next.Rows[0].Position(); r.first {
	case "":
		r.first = position
	case position:
		r.pass++
	}
	c.hold(next.Rows)
	w.begun += agentsOf(next.Rows) // they have the numbers behind its own, whenever they begin
	if c.nonce != "" && len(c.rows[0].HashIDs) > 0 {
		c.nonce = r.passNonce(r.pass)
	}
	return nil
}

// passNonce is the number of a pass over the file.
func (r *recorded) passNonce(pass uint64) string {
	return hexadecimal(mix(r.firstNonce ^ mix(math.MaxUint64-pass)))
}

// draft implements asker.
func (r *recorded) draft(c *conversation, d *draft) {
	if c.rows != nil {
		c.row = &c.rows[c.asked]
	}
	row := c.row
	d.input = row.InputTokens
	if d.input == 0 {
		d.input = int(math.Round(d.ruler.overhead + d.ruler.ofPrompt(&row.Prompt)))
	}
	if row.OutputTokens > 0 {
		d.output = row.OutputTokens
	}
	if row.SelfContained {
		c.tokens = 0
	}
	if r.blockFit == 0 || math.Abs(d.ruler.perByte/r.blockFit-1) > drift {
		r.blockFit = d.ruler.perByte
	}
	d.blockFit = r.blockFit
	r.pin(c, d)
}

// ofPrompt is about the length of all texts of a prompt.
func (r *ruler) ofPrompt(p *prompt.Prompt) float64 {
	sum := r.perByte * float64(len(p.System)+len(p.Payload))
	for i := range p.Messages {
		m := &p.Messages[i]
		sum += r.perByte * float64(len(m.Raw))
		for j := range m.Parts {
			sum += r.tokens(m.Parts[j].Text)
		}
	}
	return sum
}

// ask implements asker.
func (r *recorded) ask(c *conversation, d *draft) (*Turn, error) {
	row := c.row
	turn := &Turn{OutputTokens: d.output, Model: row.Model, Extra: row.Extra, Expect: row.Expect}
	var err error
	switch {
	case row.Prompt.Payload != nil:
		turn.Prompt = row.Prompt
	case c.asked == 0 || row.SelfContained:
		err = r.whole(c, d, turn)
	default:
		err = r.delta(c, d, turn)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", row.Position(), err)
	}
	if len(row.Prompt.Tools) > 0 {
		turn.Prompt.Tools = row.Prompt.Tools
	}
	if turn.InputTokens == 0 {
		c.tokens += d.input
		turn.InputTokens = c.tokens
	}
	return turn, nil
}

// whole makes a turn that begins a conversation, or holds all of it.
func (r *recorded) whole(c *conversation, d *draft, turn *Turn) error {
	row := c.row
	o, wish := r.open(c, d, row.Prompt.System)
	messages := row.Prompt.Messages
	switch {
	case len(messages) == 0:
		texts, err := r.made(c, d, o.head, wish)
		if err != nil {
			return err
		}
		messages = userSays(texts)
		if len(texts) == 1 { // the server's template adds something for each message
			teach(turn, d, &o, texts[0])
		}
	case o.head != "":
		var err error
		if messages, err = headed(messages, o.head); err != nil {
			return err
		}
	}
	if row.SelfContained {
		turn.Prompt = prompt.Prompt{System: o.system, Messages: messages}
		return nil
	}
	c.system = o.system
	c.say(turn, messages...)
	return nil
}

// teach has the server's count of the turn learned from.
func teach(turn *Turn, d *draft, o *opening, text string) {
	turn.PromptBytes = len(o.system) + len(text)
	if d.ruler.tokenizer != nil {
		turn.textTokens = o.systemTokens + d.ruler.tokens(text)
	}
}

// delta makes a turn that adds to what was said before.
func (r *recorded) delta(c *conversation, d *draft, turn *Turn) error {
	messages := c.row.Prompt.Messages
	if len(messages) == 0 {
		texts, err := r.made(c, d, "", float64(d.input))
		if err != nil {
			return err
		}
		messages = userSays(texts)
	}
	c.say(turn, messages...)
	return nil
}

// userSays makes messages of texts.
func userSays(texts []string) []prompt.Message {
	out := make([]prompt.Message, len(texts))
	for i, text := range texts {
		out[i] = prompt.TextMessage(prompt.User, text)
	}
	return out
}

// headed puts a text in front of that of the first message, if it has one. The messages of the row stay as they are.
func headed(messages []prompt.Message, head string) ([]prompt.Message, error) {
	out := slices.Clone(messages)
	first := &out[0]
	if first.Raw != nil {
		var err error
		first.Raw, err = headedRaw(first.Raw, head)
		return out, err
	}
	i := slices.IndexFunc(first.Parts, func(p prompt.Part) bool { return p.Kind == prompt.Text })
	if i < 0 {
		return messages, nil // a number as its only text would be something else to ask
	}
	first.Parts = slices.Clone(first.Parts)
	first.Parts[i].Text = join(head, first.Parts[i].Text)
	return out, nil
}

// headedRaw puts a text in front of the content of a message, which is a text, a list of parts or nothing.
func headedRaw(raw json.RawMessage, head string) (json.RawMessage, error) {
	var message map[string]json.RawMessage
	if err := json.Unmarshal(raw, &message); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	var content any = head
	var text *string
	var parts []json.RawMessage
	switch given := message["content"]; {
	case json.Unmarshal(given, &text) == nil && text != nil:
		content = join(head, *text)
	case json.Unmarshal(given, &parts) == nil && parts != nil:
		part, err := json.Marshal(map[string]string{"type": "text", "text": head})
		if err != nil {
			return nil, fmt.Errorf("message: %w", err)
		}
		content = slices.Insert(parts, 0, json.RawMessage(part))
	}
	var err error
	if message["content"], err = json.Marshal(content); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return json.Marshal(message)
}

// made writes the messages of a row that recorded only a length: head, the blocks that its hash ids name, and fresh words, cut behind the
// blocks that Splits tells. tokens is the length of all that; what the server's template adds for each further message comes on top. Where
// the blocks alone fill the prompt, head and chat template come on top, too: a block that was shortened by them would not be the same any
// more.
func (r *recorded) made(c *conversation, d *draft, head string, tokens float64) ([]string, error) {
	row := c.row
	if row.InputTokens == 0 && len(row.HashIDs) == 0 {
		return nil, errNoLength
	}
	named, err := r.blocks(row, d)
	if err != nil {
		return nil, err
	}
	offset := len(head)
	head += named.text
	if offset == 0 && strings.HasPrefix(head, " ") {
		head, offset = head[1:], -1
	}
	text := head
	if named.fresh {
		random := r.streams.at(streamPrompt, r.numberOf(c), c.asked)
		text, _ = d.ruler.sized(tokens, least(head), func(size int) string { return message(r.corpus, head, size, random) })
	}
	return named.cut(text, offset), nil
}
