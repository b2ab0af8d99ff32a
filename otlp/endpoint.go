package otlp

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// defaultPort is where collectors listen for OTLP over gRPC.
const defaultPort = "4317"

// endpoint is where exports go.
type endpoint struct {
	address string // host:port
	plain   bool   // without TLS
}

// parseEndpoint reads the address of a collector. insecure counts where it has no scheme. Errors do not quote it: it may hold a password.
func parseEndpoint(text string, insecure bool) (endpoint, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	switch strings.ToLower(scheme) {
	case "":
	case "http":
		insecure = true
	case "https":
		insecure = false
	default:
		return endpoint{}, fmt.Errorf("must begin with http:// or https://, or have no scheme, got %q", scheme)
	}
	u, err := url.Parse("//" + rest)
	switch {
	case err != nil:
		return endpoint{}, errors.New("must be host, host:port, or a URL of them")
	case u.User != nil:
		return endpoint{}, errors.New("must have no user and password; use headers")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, errors.New("must have no path: gRPC has none")
	case u.Hostname() == "":
		return endpoint{}, errors.New("must have a host")
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return endpoint{}, fmt.Errorf("must have a port from 1 to 65535, got %q", port)
	}
	return endpoint{address: net.JoinHostPort(u.Hostname(), port), plain: insecure}, nil
}
