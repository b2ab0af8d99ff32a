package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// URL joins a target's base URL and a codec's path. A base without a scheme is http. A base that already ends with the whole path is
// kept, a base that ends in /v1 does not get a second one, the path "/" adds nothing, and the base's query survives. Errors do not
// quote the URL: it may hold credentials.
func URL(base, path string) (string, error) {
	u, err := parseBase(base)
	if err != nil {
		return "", err
	}
	if path, err = escapePath(path); err != nil {
		return "", fmt.Errorf("path: %w", err)
	}
	u.RawPath = joinPath(u.EscapedPath(), path)
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return "", fmt.Errorf("path: %w", err)
	}
	return u.String(), nil
}

// URL joins as the function URL does, and sets the parameters of url_params in the query: each replaces those of its name.
func (c *Config) URL(base, path string) (string, error) {
	joined, err := URL(base, path)
	if err != nil || len(c.URLParams) == 0 {
		return joined, err
	}
	u, err := url.Parse(joined)
	if err != nil {
		return "", errors.New("is not a URL") // cannot happen: it has just been made
	}
	u.RawQuery = setParams(u.RawQuery, c.URLParams)
	return u.String(), nil
}

// setParams sets parameters of a query. The others stay as they stand, because servers differ in what they take for the same.
func setParams(query string, params map[string]string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if _, replaced := params[name]; !replaced && pair != "" {
			kept = append(kept, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		kept = append(kept, url.QueryEscape(name)+"="+url.QueryEscape(params[name]))
	}
	return strings.Join(kept, "&")
}

// ValidateURL finds what is wrong with a target's base URL; path is the key that holds it.
func ValidateURL(path, base string) []error {
	if _, err := parseBase(base); err != nil {
		return []error{invalid.Key(path, "%v", err)}
	}
	return nil
}

// escapePath brings a path as people write it into the form in which it is sent. Escapes that are there stay.
func escapePath(path string) (string, error) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return "", err
	}
	return (&url.URL{Path: plain, RawPath: path}).EscapedPath(), nil
}

// joinPath appends an endpoint's path to a base path, both escaped.
func joinPath(base, path string) string {
	if path == "/" {
		return base
	}
	base = strings.TrimRight(base, "/")
	// A path may end in a slash, which the base has lost.
	if before, found := strings.CutSuffix(base, strings.TrimRight(path, "/")); found {
		return before + path
	}
	if strings.HasSuffix(base, "/v1") && strings.HasPrefix(path, "/v1/") {
		return base + strings.TrimPrefix(path, "/v1")
	}
	return base + path
}

func parseBase(base string) (*url.URL, error) {
	if base == "" {
		return nil, errors.New("must not be empty")
	}
	if strings.ContainsFunc(base, notInURL) {
		return nil, errors.New("must not have white space or control characters")
	}
	if !hasScheme(base) {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	switch {
	case err != nil && strings.Contains(base, "@"): // net/url takes a password with a slash for a port, and quotes it
		return nil, errors.New("is not a URL, perhaps because of a character in the password that must be escaped, as %2F for a slash")
	case err != nil:
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err // without the URL
		}
		return nil, fmt.Errorf("is not a URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme must be http or https, got %q", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.Fragment != "":
		return nil, errors.New("must not have a fragment")
	}
	if err := validatePort(u.Host); err != nil {
		return nil, err
	}
	return u, nil
}

// hasScheme tells whether "://" stands before anything that belongs to a host, path or query.
func hasScheme(base string) bool {
	before, _, found := strings.Cut(base, "://")
	return found && !strings.ContainsAny(before, "/?#")
}

// validatePort checks the port in host, which net/url has checked to be digits or nothing.
func validatePort(host string) error {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || strings.HasSuffix(host, "]") {
		return nil
	}
	port := host[colon+1:]
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port must be 1 to 65535, got %q", port)
	}
	return nil
}
