package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestEachErrorHasItsClass(t *testing.T) {
	t.Parallel()
	op := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	lost := func(err error) error { return fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err) }
	reset := os.NewSyscallError("recvmsg", syscall.ECONNRESET)
	// How far the exchange had come.
	const (
		nowhere = iota
		dialling
		connected
		sent
		answered
	)
	for _, tt := range []struct {
		name  string
		err   error
		stage int
		want  metrics.ErrorClass
	}{
		{"credential that cannot be read", errors.New("read credentials: no such file"), nowhere, metrics.ErrClientInternal},
		{"unknown name", op("dial", &net.DNSError{Err: "no such host", IsNotFound: true}), dialling, metrics.ErrDNS},
		{"name server that does not answer", op("dial", &net.DNSError{Err: "i/o timeout", IsTimeout: true}), dialling, metrics.ErrDNS},
		{"refused", op("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), dialling, metrics.ErrConnect},
		{"unreachable", op("dial", os.NewSyscallError("connect", syscall.EHOSTUNREACH)), dialling, metrics.ErrConnect},
		{"no more descriptors", op("dial", os.NewSyscallError("socket", syscall.EMFILE)), dialling, metrics.ErrClientInternal},
		{"no more ports", op("dial", os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), dialling, metrics.ErrClientInternal},
		{"dial that takes too long", op("dial", os.ErrDeadlineExceeded), dialling, metrics.ErrTimeoutConnect},
		{"proxy that refuses the tunnel", errors.New("Forbidden"), dialling, metrics.ErrConnect},
		{"proxy whose refusal sounds like something else", errors.New("malformed Content-Length"), dialling, metrics.ErrConnect},
		{"certificate nobody vouches for", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, dialling, metrics.ErrTLS},
		{"certificate of somebody else", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, dialling, metrics.ErrTLS},
		{"no TLS at all", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, dialling, metrics.ErrTLS},
		{"handshake refused", op("remote error", errors.New("tls: handshake failure")), dialling, metrics.ErrTLS},

		{"client certificate refused after the handshake", op("remote error", errors.New("tls: certificate required")), sent, metrics.ErrTLS},
		{"reset while the request was written", lost(op("write", os.NewSyscallError("write", syscall.EPIPE))), sent, metrics.ErrConnect},
		{"reset before the request was written", lost(op("read", reset)), connected, metrics.ErrConnect},
		{"kept connection that the server had closed", errors.New("http: server closed idle connection"), sent, metrics.ErrConnect},
		{"closed instead of answering", io.EOF, sent, metrics.ErrTruncated},
		{"reset instead of answering", op("read", reset), sent, metrics.ErrTruncated},
		{"not HTTP", lost(errors.New(`malformed HTTP response "220 smtp ready"`)), sent, metrics.ErrParse},
		{"status that is none", lost(errors.New(`malformed HTTP status code "abc"`)), sent, metrics.ErrParse},
		{"length that is none", lost(errors.New(`bad Content-Length "abc"`)), sent, metrics.ErrParse},
		{"transfer encoding that nobody knows", lost(errors.New(`unsupported transfer encoding: "x"`)), sent, metrics.ErrParse},
		{"header without end", errors.New("net/http: server response headers exceeded 10485760 bytes; aborted"), sent, metrics.ErrResponseTooLarge},

		{"header of a body that breaks off", fmt.Errorf("read stream: %w", io.ErrUnexpectedEOF), answered, metrics.ErrTruncated},
		{"reset in the body", fmt.Errorf("read stream: %w", op("read", reset)), answered, metrics.ErrTruncated},
		{"chunks that are none", errors.New("malformed chunked encoding"), answered, metrics.ErrParse},
		{"chunk length that is none", errors.New("invalid byte in chunk length"), answered, metrics.ErrParse},
		{"event too large", fmt.Errorf("%w: more than 1 bytes", ErrEventTooLarge), answered, metrics.ErrResponseTooLarge},
		{"body too large", fmt.Errorf("%w: more than 1 bytes", errBodyTooLarge), answered, metrics.ErrResponseTooLarge},
		{"compressed", fmt.Errorf("%w as \"gzip\"", errEncoded), answered, metrics.ErrParse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrace(metrics.NewSystemClock(), func() {})
			if tt.stage >= dialling {
				tr.timeline.ConnStart = 1
			}
			tr.obtained = tt.stage >= connected
			if tt.stage >= sent {
				tr.timeline.Sent = 1
			}
			got, cancelled := classify(t.Context(), tt.err, tr, tt.stage == answered)
			if got != tt.want || cancelled {
				t.Errorf("class %q, cancelled %v, want %q", got, cancelled, tt.want)
			}
		})
	}
}

func TestAConnectLimitThatIsReachedInTheLookUpIsAFaultOfNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                     string
		dnsStart, connectStarted int64
		want                     metrics.ErrorClass
	}{
		{"no name was looked up", 0, 1, metrics.ErrTimeoutConnect},
		{"the look-up has not ended", 1, 0, metrics.ErrDNS},
		{"a connection was being tried", 1, 2, metrics.ErrTimeoutConnect},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&timeoutError{metrics.ErrTimeoutConnect, time.Second})
		tr := newTrace(metrics.NewSystemClock(), func() {})
		tr.timeline.ConnStart, tr.timeline.DNSStart, tr.timeline.ConnectStart = 1, tt.dnsStart, tt.connectStarted
		if got, _ := classify(ctx, context.Canceled, tr, false); got != tt.want {
			t.Errorf("%s: class %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheCauseOfTheEndGoesBeforeWhatItLedTo(t *testing.T) {
	t.Parallel()
	led := fmt.Errorf("read stream: %w", net.ErrClosed)
	expired, cancel := context.WithCancelCause(t.Context())
	cancel(&timeoutError{metrics.ErrTimeoutIdle, time.Second})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		name      string
		ctx       context.Context
		want      metrics.ErrorClass
		cancelled bool
	}{
		{"a limit of ours", expired, metrics.ErrTimeoutIdle, false},
		{"the caller", stopped, "", true},
		{"nobody", t.Context(), metrics.ErrTruncated, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrace(metrics.NewSystemClock(), func() {})
			tr.timeline.ConnStart, tr.obtained = 1, true
			got, cancelled := classify(tt.ctx, led, tr, true)
			if got != tt.want || cancelled != tt.cancelled {
				t.Errorf("class %q, cancelled %v, want %q, %v", got, cancelled, tt.want, tt.cancelled)
			}
		})
	}
}
