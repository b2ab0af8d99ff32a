package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// errBodyTooLarge tells that an answer holds more bytes than may be read.
var errBodyTooLarge = errors.New("answer too large")

// classify names the class of a failed exchange. No class and cancelled = true means that the caller ended it on purpose.
func classify(ctx context.Context, err error, t *trace, header bool) (class metrics.ErrorClass, cancelled bool) {
	var expired *timeoutError
	if errors.As(context.Cause(ctx), &expired) {
		return expired.class, false
	}
	if ctx.Err() != nil {
		return "", true
	}
	if errors.Is(err, ErrEventTooLarge) || errors.Is(err, errBodyTooLarge) {
		return metrics.ErrResponseTooLarge, false
	}
	if header {
		return metrics.ErrTruncated, false
	}
	t.mu.Lock()
	obtained, sent, tlsError := t.obtained, t.timeline.Sent != 0, t.tlsError
	t.mu.Unlock()
	switch {
	case isDNS(err):
		return metrics.ErrDNS, false
	case !obtained && isTimeout(err):
		return metrics.ErrTimeoutConnect, false
	case !obtained && (tlsError != nil || isTLS(err)):
		return metrics.ErrTLS, false
	case !obtained || !sent:
		return metrics.ErrConnect, false
	// net/http has no type for this error.
	case strings.Contains(err.Error(), "malformed HTTP"):
		return metrics.ErrParse, false
	}
	return metrics.ErrTruncated, false
}

func isDNS(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &authority) || errors.As(err, &host)
}
