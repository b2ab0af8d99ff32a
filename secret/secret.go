// Package secret keeps credentials out of everything that people read: a type that prints as "<secret>", sources that follow a file
// as it is rotated, and a redactor for text that somebody else wrote. Nothing here logs.
package secret

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
)

// Mask is what is shown in the place of a secret.
const Mask = "<secret>"

// Secret is a credential. Whatever prints or marshals it gets Mask, or nothing if it is empty; the value itself is only given by
// Reveal, so that a search for that word finds each place where a credential leaves the program. Do not use it as the key of a map:
// encoding/json writes keys of a string kind as they are.
type Secret string

// Reveal gives the value.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format implements fmt.Formatter: without it a verb that does not fit a string, such as %d, prints the value.
func (s Secret) Format(f fmt.State, verb rune) { format(f, verb, s.String()) }

// format writes what may be shown, quoted where the verb asks for it.
func format(f fmt.State, verb rune, shown string) {
	if verb == 'q' || (verb == 'v' && f.Flag('#')) {
		shown = strconv.Quote(shown)
	}
	_, _ = io.WriteString(f, shown) // fmt keeps the error of its own writer
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(strconv.Quote(s.String())), nil }

// MarshalYAML implements yaml.Marshaler.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
