// Package invalid is the one form in which a room says that a configuration value is wrong: which key, and why. The
// config package adds file, line and column; rooms never know where a value came from.
package invalid

import "fmt"

// Error is one finding about one key.
type Error struct {
	// Path is the key as a user would write it: "targets[2].load.rate".
	Path string
	// Message is lower case and says what is wrong and what was given.
	Message string
}

// Error implements error as "path: message".
func (e *Error) Error() string { return e.Path + ": " + e.Message }

// Key makes a finding about the key at path.
func Key(path, format string, args ...any) error {
	return &Error{Path: path, Message: fmt.Sprintf(format, args...)}
}
