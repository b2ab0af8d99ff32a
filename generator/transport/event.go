package transport

// Event is one event of an answer, as framed from the bytes: a server-sent event, or the whole body of an answer that is not a stream.
type Event struct {
	// Name is the SSE event name, Data the joined data lines. Both are only valid until the next call of the framer.
	Name, Data []byte
	// Comment: no event but a keep-alive (a comment line), which has neither name nor data.
	Comment bool
	// Body: the whole body of an answer that is not a stream.
	Body bool
	// Cut: the stream ended inside the event, so that its data may be a part of what was meant.
	Cut bool
	// At is the arrival of the bytes that completed the event, in nanoseconds since the process epoch.
	At int64
	// Read numbers the read that completed the event; events of one read have the same number.
	Read int64
}
