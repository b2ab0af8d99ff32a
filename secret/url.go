package secret

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

// redactedPart stands for the value of a query key.
const redactedPart = "<redacted>"

var sensitiveHeader = regexp.MustCompile(`(?i)authorization|api[-_]?key|token|cookie|secret`)

// SensitiveHeader tells whether the value of a header must not be shown, judged by its name.
func SensitiveHeader(name string) bool { return sensitiveHeader.MatchString(name) }

// RedactURL gives a URL as it may be shown: scheme, host and path stay, user and password go, of the query only the keys stay. A
// text that is not a URL is hidden whole.
func RedactURL(raw string) string {
	if raw == "" {
		return ""
	}
	// Without a scheme, "user:password@host" would be read as the scheme "user".
	full, cut := raw, ""
	if !strings.Contains(raw, "://") {
		cut = "http://"
		full = cut + raw
	}
	u, err := url.Parse(full)
	if err != nil || u.Opaque != "" {
		return redactedPart
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	out := strings.TrimPrefix(shown.String(), cut)
	if u.RawQuery != "" {
		out += "?" + redactQuery(u.RawQuery)
	}
	return out
}

// redactQuery keeps the keys in their order and spelling.
func redactQuery(raw string) string {
	params := strings.Split(raw, "&")
	for i, p := range params {
		if key, _, found := strings.Cut(p, "="); found {
			params[i] = key + "=" + redactedPart
		}
	}
	return strings.Join(params, "&")
}

// URL is an address that may hold a credential: whatever prints or marshals it gets RedactURL, only Reveal gives the address itself.
type URL string

// Reveal gives the address.
func (u URL) Reveal() string { return string(u) }

// String implements fmt.Stringer.
func (u URL) String() string { return RedactURL(string(u)) }

// Format implements fmt.Formatter.
func (u URL) Format(f fmt.State, verb rune) { format(f, verb, u.String()) }

// LogValue implements slog.LogValuer.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText implements encoding.TextMarshaler.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// MarshalYAML implements yaml.Marshaler.
func (u URL) MarshalYAML() (any, error) { return u.String(), nil }
