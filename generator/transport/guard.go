package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
)

// Guard decides about each connection on which a request is to be sent, in the moment in which its address is known, so that nobody can tell
// one address to who checks and another to who connects. host and port are those of the URL, host as it is looked up. address is the one that is
// connected to; it is not valid where a proxy connects, and nobody here sees where to. An error refuses the connection: nothing is opened.
// It is called from several goroutines at once. Tokens are asked for where the configuration says, which is nobody else's choice, and proxies are
// the configuration's too: neither is asked about.
type Guard func(host string, port uint16, address netip.AddrPort) error

// destination is where a request goes to.
type destination struct {
	host    string
	port    uint16
	proxied bool // a proxy connects
}

// control is what a dialler calls before it connects a socket.
type control func(ctx context.Context, network, address string, raw syscall.RawConn) error

// dialler opens connections to a destination.
func (c *Config) dialler(to destination, also func(network, address string, raw syscall.RawConn) error) *net.Dialer {
	d := &net.Dialer{Resolver: c.Resolver}
	switch {
	case c.Guard != nil && !to.proxied:
		d.ControlContext = c.Guard.control(to, also)
	case also != nil:
		d.Control = also
	}
	return d
}

func (g Guard) control(to destination, also func(network, address string, raw syscall.RawConn) error) control {
	return func(_ context.Context, network, address string, raw syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		if err := g(to.host, to.port, at); err != nil {
			return err
		}
		if also == nil {
			return nil
		}
		return also(network, address, raw)
	}
}

// destinationOf is where a request goes to.
func destinationOf(request *http.Request) (destination, error) {
	host, port, err := hostPort(request)
	if err != nil {
		return destination{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return destination{}, fmt.Errorf("port %q: %w", port, err)
	}
	return destination{host: host, port: uint16(number)}, nil
}

type destinationKey struct{}

// guarded puts where a request goes to into its context, for the dialler that net/http calls. What a proxy connects to is decided here: no
// dialler sees it.
func (c *Config) guarded(ctx context.Context, request *http.Request, proxy func(*http.Request) (*url.URL, error)) (context.Context, error) {
	if c.Guard == nil {
		return ctx, nil
	}
	to, err := destinationOf(request)
	if err != nil {
		return ctx, err
	}
	if proxy != nil {
		by, err := proxy(request)
		if err != nil {
			return ctx, errors.New("no proxy can be told for the URL") // the error would quote it
		}
		to.proxied = by != nil
	}
	if to.proxied {
		if err := c.Guard(to.host, to.port, netip.AddrPort{}); err != nil {
			return ctx, err
		}
	}
	return context.WithValue(ctx, destinationKey{}, to), nil
}
