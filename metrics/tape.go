package metrics

// Tape is the bytes of one exchange as they went over the wire, for whoever wants to see or play them again. It is only valid during the call
// that hands it over, as is the record that it belongs to, and holds secrets: whoever keeps it removes them.
type Tape struct {
	Method, URL   string // without credentials
	RequestHeader map[string][]string
	RequestBody   []byte // its beginning
	Status        int    // of the answer; 0 = none came
	Header        map[string][]string
	// Body is the beginning of the answer's body, without the framing of HTTP; Reads are the pieces in which it came.
	Body  []byte
	Reads []TapeRead
	// Truncated: the body was longer than what is kept.
	Truncated bool
}

// TapeRead is one piece of a body.
type TapeRead struct {
	At  int64 // instant of its arrival, of the clock of the process
	End int   // index in Body behind its last byte
}
