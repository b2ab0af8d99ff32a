package dataset

import (
	"fmt"
	"time"
)

// instant reads an instant as ISO 8601 has it, since the Unix epoch. One without a zone is in UTC.
func instant(value []byte) (time.Duration, error) {
	said, err := text(value)
	if err != nil {
		return 0, err
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"} {
		at, err := time.Parse(layout, said)
		if err == nil && at.Year() >= 1970 && at.Year() < 2262 { // the years that a Duration has since the epoch
			return time.Duration(at.UnixNano()), nil
		}
	}
	return 0, fmt.Errorf("must be an instant such as 2026-01-31T12:00:00Z, got %s", brief(value))
}
