package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxRecord bounds what stands in one place of a file: a line, an element of an array, a document.
const maxRecord = 64 << 20

// files are the files of a dataset, in the order in which they are read.
type files struct {
	names []string
	sizes []int64
}

// list finds the files of a dataset: the named one, or those of the named folder and the folders in it, by name.
func list(c *settings) (*files, error) {
	info, err := os.Stat(c.File)
	if err != nil {
		return nil, plain(err, c.File)
	}
	endings := c.format.folder
	switch {
	case info.Mode().IsRegular():
		return &files{names: []string{c.File}, sizes: []int64{info.Size()}}, nil
	case !info.IsDir():
		return nil, &Error{File: c.File, Err: errors.New("is not a regular file")}
	case len(endings) == 0:
		return nil, &Error{File: c.File, Err: fmt.Errorf("is a folder, the format %s needs a file", c.Format)}
	}
	out := &files{}
	err = filepath.WalkDir(c.File, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return plain(err, name)
		}
		if !d.Type().IsRegular() || !slices.Contains(endings, filepath.Ext(strings.TrimSuffix(name, ".gz"))) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return plain(err, name)
		}
		out.names = append(out.names, name)
		out.sizes = append(out.sizes, info.Size())
		return nil
	})
	if err == nil && len(out.names) == 0 {
		err = &Error{File: c.File, Err: fmt.Errorf("has no files that end in %s", strings.Join(endings, ", "))}
	}
	return out, err
}

// plain makes the error about a file.
func plain(err error, name string) error { return &Error{File: name, Err: reasonOf(err)} }

// reasonOf is an error of the system without the operation and the name, which others tell.
func reasonOf(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// total is the number of bytes of all files, -1 if one of them is compressed: there is no going back to a place in it.
func (f *files) total() int64 {
	var total int64
	for i, name := range f.names {
		if compressed(name) {
			return -1
		}
		total += f.sizes[i]
	}
	return total
}

// at tells which file holds the byte with this number, and where the file begins.
func (f *files) at(offset int64) (i int, begin int64) {
	for i = range f.sizes {
		if offset < begin+f.sizes[i] {
			return i, begin
		}
		begin += f.sizes[i]
	}
	return len(f.sizes), begin
}

func compressed(name string) bool { return strings.HasSuffix(name, ".gz") }
