package scrape

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"golang.org/x/oauth2"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
)

// Reason is why a scrape failed.
type Reason string

// The reasons.
const (
	Auth         Reason = "auth"        // 401, 403, or no token for OAuth 2.0
	NotFound     Reason = "not_found"   // 404, 405, 501
	Unavailable  Reason = "unavailable" // 429, 503
	Status       Reason = "status"      // any other status that is no success
	Timeout      Reason = "timeout"
	DNS          Reason = "dns"
	Connect      Reason = "connect" // no connection, or it broke before the answer was whole
	TLS          Reason = "tls"
	Parse        Reason = "parse"
	TooLarge     Reason = "too_large"
	Incompatible Reason = "incompatible" // no page of metrics
	Redirect     Reason = "redirect"     // more than three, or to another host
	Internal     Reason = "internal"     // this program's own fault, or it is about to end
)

// Reasons is the closed list.
var Reasons = []Reason{Auth, NotFound, Unavailable, Status, Timeout, DNS, Connect, TLS, Parse, TooLarge, Incompatible, Redirect, Internal}

// Error is why a scrape failed. Its text holds no credentials and no query.
type Error struct {
	Reason Reason
	Err    error
}

func (e *Error) Error() string { return string(e.Reason) + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf gives the reason of an error of Get, or of reading the page.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	switch {
	case errors.Is(err, exposition.ErrIncompatible):
		return Incompatible
	case errors.Is(err, exposition.ErrTooLarge):
		return TooLarge
	}
	return Parse
}

// ofStatus is the reason that a status gives, "" if it is a success.
func ofStatus(status int) Reason {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Auth
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return NotFound
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return Unavailable
	}
	if status/100 == 2 {
		return ""
	}
	return Status
}

// classify is the reason of a failed exchange that came so far. net/http has no types for many of its errors; what is no other is told by that.
func classify(ctx context.Context, err error, p *phases) Reason {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return DNS
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case ctx.Err() != nil, isOwn(err):
		return Internal
	case isToken(err):
		return Auth
	case isTLS(err), p.unsecured.Load():
		return TLS
	case isBroken(err):
		return Connect
	case p.answered.Load():
		return Incompatible
	case p.dialled.Load():
		return Connect
	}
	return Internal
}

// isOwn tells that this machine has no descriptor, port or memory left for a connection, or that a file with a secret cannot be read.
func isOwn(err error) bool {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return true
	}
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// isToken tells that whoever gives out tokens gave none.
func isToken(err error) bool {
	_, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok
}

func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var op *net.OpError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") // alerts of TLS
}

// isBroken tells that there is no connection, or no longer.
func isBroken(err error) bool {
	var op *net.OpError
	var errno syscall.Errno
	return errors.As(err, &op) || errors.As(err, &errno) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isCorrupt tells that what came is not gzip, or is it no longer.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}

// plain is the error without what repeats the whole address, the query included, or what a server of tokens said.
func plain(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return &tokenError{refused}
	}
	for {
		inner, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = inner.Err
	}
}

// tokenError says no more than the status: the answer of a server of tokens may hold anything.
type tokenError struct{ refused *oauth2.RetrieveError }

func (e *tokenError) Error() string {
	if e.refused.Response == nil {
		return "no token"
	}
	return "no token: status " + e.refused.Response.Status
}
func (e *tokenError) Unwrap() error { return e.refused }
