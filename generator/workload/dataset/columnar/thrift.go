package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Footers and page headers are structs in the compact protocol of Apache Thrift. The library makes a list as long as it claims to be before
// it reads the first element, and a program that asks for too much memory dies at once. So each struct is walked here first: nothing may
// claim more elements or bytes than there are bytes left.

// errShort says that a struct goes on behind the bytes at hand.
var errShort = errors.New("ends in the middle of a structure")

// maxThriftDepth is far beyond the nesting of Parquet's structures.
const maxThriftDepth = 32

// The types of the compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thriftLength is the length of the struct at the beginning of b.
func thriftLength(b []byte) (int, error) {
	w := thriftWalk{rest: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return len(b) - len(w.rest), nil
}

type thriftWalk struct{ rest []byte }

func (w *thriftWalk) structure(depth int) error {
	if depth > maxThriftDepth {
		return errors.New("structures are nested too deeply")
	}
	for {
		if len(w.rest) == 0 {
			return errShort
		}
		field := w.rest[0]
		w.rest = w.rest[1:]
		kind := field & 0xf
		if kind == thriftStop {
			return nil
		}
		if field>>4 == 0 { // the field's number follows instead of its distance from the last one
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if err := w.value(kind, depth); err != nil {
			return err
		}
	}
}

func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return w.mapping(depth)
	case thriftStruct:
		return w.structure(depth + 1)
	default:
		return fmt.Errorf("unknown type %d", kind)
	}
}

func (w *thriftWalk) list(depth int) error {
	if len(w.rest) == 0 {
		return errShort
	}
	kind, n := w.rest[0]&0xf, uint64(w.rest[0]>>4)
	w.rest = w.rest[1:]
	if n == 0xf {
		var err error
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	return w.elements(n, depth, kind)
}

func (w *thriftWalk) mapping(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	if len(w.rest) == 0 {
		return errShort
	}
	kinds := w.rest[0]
	w.rest = w.rest[1:]
	return w.elements(n, depth, kinds>>4, kinds&0xf)
}

// elements walks n tuples of values; each value has at least one byte.
func (w *thriftWalk) elements(n uint64, depth int, kinds ...byte) error {
	if n > uint64(len(w.rest)) {
		return errShort
	}
	for range n {
		for _, kind := range kinds {
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.rest)) {
		return errShort
	}
	w.rest = w.rest[n:]
	return nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.rest)
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errors.New("a number is too long")
	}
	w.rest = w.rest[n:]
	return v, nil
}
