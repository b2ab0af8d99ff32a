package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, m := range o {
		value := &bytes.Buffer{}
		encoder := json.NewEncoder(value)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(m.value); err != nil {
			return nil, err
		}
		out.WriteString([]string{",", "{"}[max(0, 1-i)])
		fmt.Fprintf(&out, "%q:", m.key) // keys of ours are plain ASCII
		out.Write(bytes.TrimSpace(value.Bytes()))
	}
	if len(o) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
