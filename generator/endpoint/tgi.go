package endpoint

import (
	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// TGI is the protocol of Text Generation Inference and of what its clients can talk to.
const TGI Type = "huggingface_generate"

// tgi speaks POST /generate and, for streams, POST /generate_stream.
type tgi struct {
	jsonBody // whose extra is that of a turn alone

	path       string
	configured map[string]any // parameters
}

func newTGI(cfg *Config) Codec { return &tgi{path: cfg.Path, configured: cfg.Extra} }

// Traits implements Codec.
func (t *tgi) Traits() Traits { return Traits{} }

// Path implements Codec.
func (t *tgi) Path(_ string, stream bool) string {
	switch {
	case t.path != "":
		return t.path
	case stream:
		return "/generate_stream"
	}
	return "/generate"
}

// Streams implements Codec.
func (t *tgi) Streams(turn *Turn) bool { return t.streamsByPath(turn) }

const tgiLimit = "max_new_tokens"

// OutputLimit implements Codec.
func (t *tgi) OutputLimit(turn *Turn) int {
	if own, set := t.lookup(turn, "parameters"); set || recorded(turn) != nil {
		object, _ := own.(map[string]any)
		return limit(object[tgiLimit])
	}
	value, _ := t.parameters(turn).get(tgiLimit)
	return limit(value)
}

// Encode implements Codec. The endpoint's extra are parameters, that of a turn stands beside them.
func (t *tgi) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	return t.encodeFields(dst, turn, func(turn *Turn) (body, error) {
		text, err := askedText(turn.Prompt)
		return body{{"inputs", text}, {"parameters", t.parameters(turn)}}, err
	})
}

func (t *tgi) parameters(turn *Turn) body {
	p := body{}
	if turn.MaxOutputTokens > 0 {
		p.set(tgiLimit, turn.MaxOutputTokens)
	}
	if turn.IncludeUsage {
		p.set("details", true)
	}
	p.merge(t.configured)
	return p
}

// Decoder implements Codec.
func (t *tgi) Decoder(keep *answer.Transcript) Decoder { return &tgiDecoder{keep: keep} }

type tgiDecoder struct{ keep *answer.Transcript }

// Event implements Decoder. The last event repeats the whole text, which is not read.
func (d *tgiDecoder) Event(name, data []byte, chunk *Chunk) error {
	data, done := signal(name, data, chunk)
	if done {
		return nil
	}
	r := newRoot(data)
	var a tgiAnswer
	if r.begin() {
		a.read(&r)
	}
	c := a.chunk()
	c.Text = a.token.visible()
	if err := r.finish(c, true, "", chunk); err != nil {
		return err
	}
	if d.keep != nil && c.Text {
		d.keep.Text = a.token.text.appendTo(d.keep.Text)
		a.token.keep(d.keep, alternatives(a.top))
	}
	return nil
}

// Body implements Decoder. Some servers put the answer into a list.
func (d *tgiDecoder) Body(data []byte, chunk *Chunk) error {
	r := newRoot(data)
	var a tgiAnswer
	if r.peek() != '[' {
		if r.begin() {
			a.read(&r)
		}
	} else {
		for ok := r.enterArray(); ok; ok = r.nextElement() {
			var one tgiAnswer
			if r.begin() {
				one.read(&r)
			}
			if !a.complete {
				a = one
			}
		}
	}
	c := a.chunk()
	c.Text, c.Terminal = !a.text.empty(), true
	if err := r.finish(c, a.complete, "an object without generated_text", chunk); err != nil {
		return err
	}
	if d.keep != nil {
		d.keep.Text = a.text.appendTo(d.keep.Text)
		keepTokens(d.keep, a.tokens)
	}
	return nil
}

// tgiAnswer is what an event or a whole answer says.
type tgiAnswer struct {
	token    tgiToken // of an event
	top      []byte   // `top_tokens` of an event, as it stands
	text     text
	complete bool // `generated_text` is there
	finish   text
	details  bool
	usage    metrics.Usage
	tokens   []byte // of a whole answer with details, as they stand
}

// chunk is what an event and a whole answer have in common.
func (a *tgiAnswer) chunk() Chunk {
	return Chunk{Terminal: a.complete || a.details, Usage: a.usage, Finish: finishReason(a.finish)}
}

// read reads the members of an object that r stands in.
func (a *tgiAnswer) read(r *root) {
	for ok := true; ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "token":
			a.token = r.tgiToken()
		case "top_tokens":
			a.top = r.raw()
		case "generated_text":
			a.complete = r.peek() == '"'
			a.text = r.text()
		case "details":
			a.readDetails(r)
		default:
			r.common(name)
		}
	}
}

func (a *tgiAnswer) readDetails(r *root) {
	a.details, a.finish, a.usage, a.tokens = r.peek() == '{', text{}, metrics.Usage{}, nil
	for ok := r.enterObject(); ok; ok = r.nextMember() {
		switch string(r.name()) {
		case "finish_reason":
			a.finish = r.text()
		case "generated_tokens":
			a.usage.Output = r.count()
		case "input_length":
			a.usage.Input = r.count()
		case "prefill":
			// Its tokens are only told on demand, otherwise the list is empty.
			if n := r.objects(); n > 0 {
				a.usage.Input = metrics.Tokens(int64(n))
			}
		case "tokens":
			a.tokens = r.raw()
		default:
			r.skip()
		}
	}
}

// tgiToken is one generated token.
type tgiToken struct {
	text    text
	value   float64 // log-probability
	valued  bool
	special bool // such as the end of the sequence
}

func (t *tgiToken) visible() bool { return !t.special && !t.text.empty() }

func (s *scanner) tgiToken() (t tgiToken) {
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "text":
			t.text = s.text()
		case "logprob":
			t.value, t.valued = s.float()
		case "special":
			t.special = s.truthy()
		default:
			s.skip()
		}
	}
	return t
}

// keep notes the log-probability of a token.
func (t *tgiToken) keep(to *answer.Transcript, top []answer.Alternative) {
	if t.valued {
		to.Logprobs = append(to.Logprobs, answer.Logprob{Token: t.text.decode(), Value: t.value, Top: ranked(top)})
	}
}

// keepTokens notes the log-probabilities of a list of tokens.
func keepTokens(to *answer.Transcript, tokens []byte) {
	s := scanner{data: tokens}
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		if t := s.tgiToken(); t.visible() {
			t.keep(to, nil)
		}
	}
}

// alternatives reads a list of tokens that were likeliest.
func alternatives(tokens []byte) []answer.Alternative {
	var top []answer.Alternative
	s := scanner{data: tokens}
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		if t := s.tgiToken(); t.valued {
			top = append(top, answer.Alternative{Token: t.text.decode(), Value: t.value})
		}
	}
	return top
}
