package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// classify names the class of a failed exchange. No class and cancelled = true means that the caller ended it on purpose.
func classify(ctx context.Context, err error, t *trace, header bool) (class metrics.ErrorClass, cancelled bool) {
	t.mu.Lock()
	asked, obtained, sent, tlsError := t.timeline.ConnStart != 0, t.obtained, t.timeline.Sent != 0, t.tlsError
	t.mu.Unlock()
	expired, late := errors.AsType[*timeoutError](context.Cause(ctx))
	if late && asked {
		if expired.class == metrics.ErrTimeoutConnect && t.lookingUp() {
			return metrics.ErrDNS, false
		}
		return expired.class, false
	}
	overdue := errors.Is(context.Cause(ctx), context.DeadlineExceeded) // for the caller, which is a limit as total is
	switch {
	case overdue && asked:
		return metrics.ErrTimeoutTotal, false
	case late, overdue: // whoever gives out credentials takes too long
		return metrics.ErrClientInternal, false
	case ctx.Err() != nil:
		return "", true
	case errors.Is(err, ErrEventTooLarge), errors.Is(err, errBodyTooLarge), errors.Is(err, errHeadTooLarge):
		return metrics.ErrResponseTooLarge, false
	case errors.Is(err, errEncoded), errors.Is(err, errMalformed):
		return metrics.ErrParse, false
	}
	switch {
	case !asked: // a credential or a certificate that cannot be had
		return metrics.ErrClientInternal, false
	case !obtained:
		return classifyDial(err, tlsError), false
	}
	return classifyAnswer(err, sent, header), false
}

// classifyDial names the class of a failure to get a connection.
func classifyDial(err, tlsError error) metrics.ErrorClass {
	var dns *net.DNSError
	var unsuitable *net.AddrError // the name has no address of the family that is wanted
	var timeout net.Error
	switch {
	case isExhausted(err):
		return metrics.ErrClientInternal
	case errors.As(err, &dns), errors.As(err, &unsuitable):
		return metrics.ErrDNS
	case errors.As(err, &timeout) && timeout.Timeout():
		return metrics.ErrTimeoutConnect
	case tlsError != nil, isTLS(err):
		return metrics.ErrTLS
	}
	return metrics.ErrConnect
}

// classifyAnswer names the class of a failure on a connection. Before the header it is connect if the request was not written in full, or
// if net/http knows that the server had closed the connection, kept alive, before the request; otherwise truncated. Of a server that
// closes in the moment of the request only the kernels know which was first, so that such a request may count as either.
func classifyAnswer(err error, sent, header bool) metrics.ErrorClass {
	var op *net.OpError
	switch {
	case isExhausted(err), errors.Is(err, os.ErrClosed):
		return metrics.ErrClientInternal
	case says(err, "response headers exceeded"):
		return metrics.ErrResponseTooLarge
	case isMalformed(err):
		return metrics.ErrParse
	case header:
		return metrics.ErrTruncated
	// With TLS 1.3 a server refuses the client's certificate only after the handshake.
	case isTLS(err):
		return metrics.ErrTLS
	case !sent, errors.As(err, &op) && op.Op == "write", says(err, "server closed idle connection"):
		return metrics.ErrConnect
	}
	return metrics.ErrTruncated
}

// isExhausted tells that this machine has no descriptor, port or memory left for a connection.
func isExhausted(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var op *net.OpError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") // TLS alerts
}

// isMalformed tells that an answer is not HTTP. Most of these errors have no type in net/http.
func isMalformed(err error) bool {
	return says(err, "malformed", "Content-Length", "transfer encoding", "chunked encoding", "chunk length", "line too long")
}

func says(err error, phrases ...string) bool {
	text := err.Error()
	for _, phrase := range phrases {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}
