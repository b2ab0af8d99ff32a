// Package scrape is how collectors reach what they read: an HTTP client of their own with limits on everything, the reasons for which it can
// fail, the loop that asks again and again, and the series that say how it went (aiperf_scrape_*).
package scrape

import (
	"context"
	"log/slog"
	"time"

	dto "github.com/prometheus/client_model/go"
	promconfig "github.com/prometheus/common/config"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// Reason is why a scrape failed.
type Reason string

// The reasons.
const (
	Auth         Reason = "auth"        // 401, 403
	NotFound     Reason = "not_found"   // 404, 405, 501
	Unavailable  Reason = "unavailable" // 429, 503
	Status       Reason = "status"      // any other status that is no success
	Timeout      Reason = "timeout"
	DNS          Reason = "dns"
	Connect      Reason = "connect"
	TLS          Reason = "tls"
	Parse        Reason = "parse"
	TooLarge     Reason = "too_large"
	Incompatible Reason = "incompatible" // no page of metrics
	Redirect     Reason = "redirect"     // more than three, or to another host
	Internal     Reason = "internal"     // this program's own fault
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

// Client asks for pages. It shares no connection with the traffic that is measured. Safe for concurrent use.
type Client struct{}

// Options configure a Client.
type Options struct {
	HTTP      promconfig.HTTPClientConfig
	UserAgent string
	// Credential gives a header for each request, nil = HTTP alone says how to authenticate.
	Credential func() (header, value string, err error)
}

// NewClient makes one. Errors are those of files and certificates that cannot be read.
func NewClient(o Options) (*Client, error) { return &Client{}, nil }

// Get asks for a page and reads it whole: status 2xx only, at most three redirects and on the same host, at most 16 MiB after decompression.
// buffer, which may be nil, is used for the body if it is large enough. Errors are *Error.
func (c *Client) Get(ctx context.Context, url, accept string, buffer []byte) (body []byte, contentType string, err error) {
	return nil, "", nil
}

// Close ends idle connections.
func (c *Client) Close() {}

// Accept asks for what exposition reads best.
const Accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

// Log counts how the scrapes of one collector went ("server", "nvml", "dcgm", "amd"), each of them of a target, "" if they belong to none.
// Safe for concurrent use.
type Log struct{}

// NewLog makes one. Counters of the targets are at zero from the start.
func NewLog(collector string, clock *metrics.SystemClock, targets ...string) *Log { return &Log{} }

// Succeeded notes a scrape that took so long and gave so many samples.
func (l *Log) Succeeded(target string, took time.Duration, samples int) {}

// Failed notes one that did not.
func (l *Log) Failed(target string, took time.Duration, reason Reason) {}

// Skipped notes one that was due while the one before still ran.
func (l *Log) Skipped(target string) {}

// Duplicates counts series that stood on a page twice.
func (l *Log) Duplicates(target string, n int) {}

// Panicked counts a panic that was caught.
func (l *Log) Panicked(target string) {}

// Forget ends the series of a target.
func (l *Log) Forget(target string) {}

// Families are the series of the table.
func (l *Log) Families() []*dto.MetricFamily { return nil }

// Table lists the series of all logs.
func Table() []metrics.Series { return nil }

// Loop calls work each interval, for the first time within the first one (so that many loops do not come at once), until ctx ends. While work
// runs nothing else is started: what falls due is told to skipped. A panic is logged and told to panicked, and the loop goes on after 1 s, doubling
// to 60 s.
func Loop(ctx context.Context, logger *slog.Logger, interval time.Duration, work func(ctx context.Context), skipped, panicked func()) {
}
