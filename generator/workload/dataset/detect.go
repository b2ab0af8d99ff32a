package dataset

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// probed is how many entries of a file must fit a format.
const probed = 16

// Detect gives the formats that the first entries of a file or folder fit, by name. It is an error if that is not exactly one: a guess is no
// ground to send requests on. Nothing but a check of files uses it.
func Detect(path string) ([]Format, error) {
	var found []Format
	for _, f := range slices.Sorted(maps.Keys(formats)) {
		c := DefaultConfig()
		c.Format, c.File = f, path
		if fits(c.settings()) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return nil, &Error{File: path, Err: fmt.Errorf("fits none of the formats %s", formatList())}
	case 1:
		return found, nil
	}
	return found, &Error{File: path, Err: fmt.Errorf("fits more than one format: name one of %v", found)}
}

// fits tells whether the first entries can be read.
func fits(c *settings) bool {
	r, err := c.format.open(c)
	if err != nil {
		return false
	}
	rows := 0
	for range probed {
		e, readErr := r.read()
		if readErr != nil {
			err = readErr
			break
		}
		rows += len(e.rows)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, r.Close()) == nil && rows > 0
}
