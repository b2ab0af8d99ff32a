package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"

	"github.com/aiperf-exporter/aiperf-exporter/invalid"
)

// ownHeaders say how a request is put on the wire, which no user can change by a header.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade",
}

// validateHeaders finds what is wrong with the headers that users want.
func (c *Config) validateHeaders(path string) []error {
	var errs []error
	check := func(key string, err error) {
		if err != nil {
			errs = append(errs, invalid.Key(path+key, "%v", err))
		}
	}
	written := map[string]string{} // by canonical name
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		err := headerName(name)
		if other, twice := written[http.CanonicalHeaderKey(name)]; err == nil && twice {
			err = fmt.Errorf("is the same header as %s", other)
		}
		if err == nil && !httpguts.ValidHeaderFieldValue(c.Headers[name]) {
			err = errors.New("must not have line feeds or other control characters")
		}
		check(".headers."+name, err)
		written[http.CanonicalHeaderKey(name)] = name
	}
	if c.KeyHeader != "" {
		check(".key_header", headerName(c.KeyHeader))
	}
	if c.SessionHeader != "" {
		check(".session_header", headerName(c.SessionHeader))
	}
	for i, name := range c.AffinityHeaders {
		check(fmt.Sprintf(".affinity_headers[%d]", i), headerName(name))
	}
	return errs
}

// headerName tells what is wrong with a name.
func headerName(name string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("is not the name of a header: %q", name)
	case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
		return errors.New("cannot be set, it says how the request is sent")
	}
	return nil
}
