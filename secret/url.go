package secret

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// redactedPart stands for the value of a query key.
const redactedPart = "<redacted>"

var sensitiveHeader = regexp.MustCompile(`(?i)authorization|(api|auth|access|private|subscription)[-_]?key|token([^i]|$)|cookie|secret|password|credential|^sig(nature)?$|^(key|code)$`)

// SensitiveHeader tells whether the value of a header, or of a parameter of a URL, must not be shown, judged by its name.
func SensitiveHeader(name string) bool { return sensitiveHeader.MatchString(name) }

// RedactURL gives a URL as it may be shown: its public form and the keys of its query. A text that is not a URL is hidden whole.
func RedactURL(raw string) string {
	if raw == "" {
		return ""
	}
	u, assumed, err := parseURL(raw)
	if err != nil {
		return redactedPart
	}
	out := public(u, assumed)
	if u.RawQuery != "" {
		out += "?" + redactQuery(u.RawQuery)
	}
	return out
}

// urlInText is a URL in a sentence, with what may follow it there. Something may be hidden in it already.
var urlInText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s"'<>]|<redacted>|<secret>)+`)

// RedactURLs gives a text with the users and queries of the URLs in it hidden. Others know of them what no configuration does, such as the signature to
// which a server has redirected.
func RedactURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return urlInText.ReplaceAllStringFunc(text, func(found string) string {
		if !strings.ContainsAny(found, "@?") {
			return found
		}
		return RedactURL(found)
	})
}

// RedactHeader gives the value of a header as it may be shown.
func RedactHeader(name, value string) string {
	switch {
	case SensitiveHeader(name):
		return Mask
	case name == "Location", name == "Content-Location", name == "Referer":
		return RedactURL(value)
	}
	return RedactURLs(value)
}

// parseURL also gives the prefix that a URL without a scheme has been given: "user:password@host" would be read as the scheme "user".
func parseURL(raw string) (u *url.URL, assumed string, err error) {
	// "://" may also stand in the path or the query.
	if scheme, _, found := strings.Cut(raw, "://"); !found || strings.ContainsAny(scheme, "/?#") {
		assumed = "http://"
	}
	u, err = url.Parse(assumed + raw)
	if err == nil && u.Opaque != "" {
		err = errors.New("has no host")
	}
	return u, assumed, err
}

// public keeps scheme, host and path, in the spelling of the URL.
func public(u *url.URL, assumed string) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return strings.TrimPrefix(shown.String(), assumed)
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

// Address reads the address as users write it: without a scheme it is http; a fragment goes nowhere. Errors do not quote it, nor any part of it that may be a
// password: net/url takes one with a slash for a port, and says so.
func (u URL) Address() (*url.URL, error) {
	parsed, _, err := parseURL(string(u))
	switch {
	case err != nil && strings.Contains(string(u), "@"):
		return nil, errors.New("is not a URL, perhaps because of a character in the password that must be escaped, as %2F for a slash")
	case err != nil:
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err // without the URL
		}
		return nil, fmt.Errorf("is not a URL: %w", err)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, fmt.Errorf("scheme must be http or https, got %q", parsed.Scheme)
	case parsed.Hostname() == "":
		return nil, errors.New("has no host")
	}
	if port := parsed.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("port must be 1 to 65535") // which it may be the beginning of a password
		}
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	return parsed, nil
}

// Public gives scheme, host and path; "" if the text is not a URL, because then nobody knows where the secret is.
func (u URL) Public() string {
	parsed, assumed, err := parseURL(string(u))
	if err != nil {
		return ""
	}
	return public(parsed, assumed)
}

// Secrets gives what Public leaves out: user, password and the values of the query.
func (u URL) Secrets() []string {
	parsed, _, err := parseURL(string(u))
	if err != nil {
		return nil
	}
	var out []string
	if parsed.User != nil {
		password, _ := parsed.User.Password()
		out = append(out, parsed.User.Username(), password)
	}
	for _, values := range parsed.Query() {
		out = append(out, values...)
	}
	return out
}

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
