package endpoint

import "github.com/aiperf-exporter/aiperf-exporter/metrics"

// root is the object that an event or a whole answer consists of. It reads what most protocols say in the same words:
//
//	r := newRoot(data)
//	for ok := r.begin(); ok; ok = r.nextMember() { switch name := r.name(); string(name) { case "x": …; default: r.common(name) } }
//	return r.finish(…)
type root struct {
	scanner

	whole   []byte
	usage   metrics.Usage
	model   text
	kind    text // `object`
	errored bool // `error` tells a failure
}

func newRoot(data []byte) root { return root{scanner: scanner{data: data}, whole: data} }

// begin steps into the object and tells whether it has a member to read. Any other value is not the protocol.
func (r *root) begin() bool { return r.object() && r.enterObject() }

// common reads the value of a member that is no protocol's own.
func (r *root) common(name []byte) {
	switch string(name) {
	case "usage":
		r.usage = r.scanner.usage()
	case "meta": // Cohere
		if u := r.metaTokens(); !u.Empty() {
			r.usage = u
		}
	case "model", "model_name":
		r.model = r.text()
	case "object":
		r.kind = r.text()
	case "error":
		r.errored = r.truthy()
	default:
		r.skip()
	}
}

// inputUsage reads the value of a usage member where nothing is generated: some servers only tell the total then, which is the input.
func (r *root) inputUsage() metrics.Usage {
	data, from := r.data, r.pos
	u := r.scanner.usage()
	if u.Empty() && r.err == nil {
		again := scanner{data: data[from:r.pos]}
		u.Input = again.memberCount("total_tokens")
	}
	return u
}

// failed tells whether the object is a failure.
func (r *root) failed() bool { return r.errored || string(r.kind.bytes()) == "error" }

// finish checks that nothing follows the value, adds to c what the object says in common words, and puts c in the place of chunk. known
// tells that the object has what makes it the protocol, missing what it lacks otherwise.
func (r *root) finish(c Chunk, known bool, missing string, chunk *Chunk) error {
	if err := r.end(); err != nil {
		return err
	}
	if r.failed() {
		c.Err = DecodeError(r.whole)
	} else if !known {
		return &ProtocolError{Reason: missing}
	}
	if c.Usage.Empty() {
		c.Usage = r.usage
	}
	*chunk = c
	return nil
}
