package exposition

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The tag of a field is its number and its wire type, which stand together before its value.
const (
	varintOf = uint64(protowire.VarintType)
	doubleOf = uint64(protowire.Fixed64Type)
	bytesOf  = uint64(protowire.BytesType)
)

// fields walks through the fields of a message. One with an unexpected type has an unknown tag, and is passed over as protobuf wants it.
type fields struct {
	rest  []byte
	tag   uint64
	value uint64 // of a number
	bytes []byte // of a string or a message
	err   error  // what ended the walk too early
}

func (f *fields) next() bool {
	if len(f.rest) == 0 || f.err != nil {
		return false
	}
	number, kind, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		return f.fail(n)
	}
	f.tag, f.rest = uint64(number)<<3|uint64(kind), f.rest[n:]
	switch kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(f.rest)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(f.rest)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(f.rest)
	default: // there are none
		n = protowire.ConsumeFieldValue(number, kind, f.rest)
	}
	if n < 0 {
		return f.fail(n)
	}
	f.rest = f.rest[n:]
	return true
}

func (f *fields) fail(n int) bool {
	f.err = protowire.ParseError(n)
	return false
}

func (f *fields) double() float64 { return math.Float64frombits(f.value) }

func (f *fields) signed() int64 { return protowire.DecodeZigZag(f.value) }

// seconds reads a timestamp.
func seconds(message []byte) float64 {
	var s float64
	for f := (fields{rest: message}); f.next(); {
		switch f.tag {
		case 1<<3 | varintOf:
			s += float64(int64(f.value))
		case 2<<3 | varintOf:
			s += float64(int64(f.value)) / 1e9
		}
	}
	return s
}
