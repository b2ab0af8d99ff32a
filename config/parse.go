package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes, like the limits of a tree, is far above any configuration that a person or a program writes on purpose.
const maxFileBytes = 4 << 20

// readFile reads a configuration file of at most maxFileBytes.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("larger than %d MiB", maxFileBytes>>20)
	}
	return data, nil
}

// parse gives the only document of a file, nil if there is none.
func parse(src *source, data []byte) (*yaml.Node, *Finding) {
	at := func(line, column int, message string) *Finding {
		return &Finding{File: src.name, Line: line, Column: column, Message: message, order: src.order}
	}
	if line, column, bad := firstInvalidUTF8(data); bad {
		return nil, at(line, column, "is not UTF-8")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		line, column, message := syntaxError(err, data)
		return nil, at(line, column, message)
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		line, column, message := syntaxError(err, data)
		return nil, at(line, column, message)
	}
	return nil, at(second.Line, second.Column, "a second YAML document begins here, a file may only have one")
}

var (
	errorLine     = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// syntaxError gives the place and the message of an error of the YAML parser. The parser knows the line, if that, and no column: the
// first character of the line stands in.
func syntaxError(err error, data []byte) (line, column int, message string) {
	message = err.Error()
	prefix := errorLine.FindStringSubmatch(message)
	if prefix != nil {
		message = message[len(prefix[0]):]
		line, _ = strconv.Atoi(prefix[1]) // "" is line 0
	}
	lines := splitLines(data)
	if m := unknownAnchor.FindStringSubmatch(err.Error()); m != nil {
		line = 1 + slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "*"+m[1]) })
		// The name is not shown: it may be a password that begins with an asterisk.
		message = "alias of an anchor that is not defined (a text that begins with * needs quotes)"
	}
	line = min(max(line, 1), len(lines))
	text := lines[line-1]
	column = 1 + utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " "))
	return line, column, message
}

func firstInvalidUTF8(data []byte) (line, column int, bad bool) {
	if utf8.Valid(data) {
		return 0, 0, false
	}
	valid := 0
	for {
		r, size := utf8.DecodeRune(data[valid:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		valid += size
	}
	lines := splitLines(data[:valid])
	return len(lines), 1 + utf8.RuneCountInString(lines[len(lines)-1]), true
}

// splitLines cuts where the YAML parser counts lines: also at a carriage return alone, and at Unicode's own line ends.
func splitLines(data []byte) []string {
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	return strings.Split(ends.Replace(string(data)), "\n")
}
