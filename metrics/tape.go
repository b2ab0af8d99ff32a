package metrics

// Tape is the bytes of one exchange and when they came, for whoever wants to see or play them again. It is only valid during the call that
// hands it over, as is the record that it belongs to, and holds what was asked and answered: whoever keeps it removes the secrets.
type Tape struct {
	Endpoint, Model string // type of the endpoint, and the name under which the model was asked for
	Method, URL     string // without user and query
	// RequestHeader is what the request says of itself. What the client adds to authenticate it is not there.
	RequestHeader map[string][]string
	RequestBody   []byte // its beginning
	Status        int    // of the answer; 0 = none came
	Header        map[string][]string
	// Body is the beginning of the answer's body as the framer of events saw it: without the framing of HTTP, and as the server has encoded
	// it. Reads are the pieces in which it came.
	Body  []byte
	Reads []TapeRead
	// Truncated: the answer's body was longer than what is kept.
	Truncated bool
	End       TapeEnd
}

// TapeRead is one piece of a body.
type TapeRead struct {
	At  int64 // instant of its arrival, of the clock of the process
	End int   // index in Body behind its last byte
}

// TapeReadBytes is what a read takes in memory beside its bytes.
const TapeReadBytes = 16

// TapeEnd says how an exchange came to its end.
type TapeEnd string

// The ends.
const (
	EndComplete  TapeEnd = "complete"  // the answer was whole, as HTTP counts it
	EndCut       TapeEnd = "cut"       // the server closed the connection before that
	EndReset     TapeEnd = "reset"     // the connection was reset
	EndMalformed TapeEnd = "malformed" // what came next was not HTTP
	EndSilence   TapeEnd = "silence"   // nothing more came, until the request was given up
	EndStopped   TapeEnd = "stopped"   // nothing more was wanted
)

// TapeEnds is the closed list.
var TapeEnds = []TapeEnd{EndComplete, EndCut, EndReset, EndMalformed, EndSilence, EndStopped}

// maxKeptTape is how large each part of a tape may be that is used again.
const maxKeptTape = 2 << 20

// Erase makes a used tape blank, and keeps its memory unless it is unusually large.
func (t *Tape) Erase() {
	*t = Tape{RequestBody: blank(t.RequestBody, 1), Body: blank(t.Body, 1), Reads: blank(t.Reads, TapeReadBytes)}
}

func blank[T any](used []T, size int) []T {
	if cap(used)*size > maxKeptTape {
		return nil
	}
	return used[:0]
}
