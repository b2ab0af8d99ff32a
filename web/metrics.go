package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp/zstd" // without it a scraper that asks for zstd silently gets identity
)

// metricsHandler serves what is gathered in the format and compression that the scraper asks for. Native histograms travel in protobuf only.
func metricsHandler(o *Options) http.Handler {
	opts := promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: o.MaxRequests,
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            errorLog{o.Logger},
		ProcessStartTime:    o.Start,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip, promhttp.Zstd},
	}
	shown := o.Gatherer
	if shown == nil {
		shown = o.Registry
	}
	if !o.InstrumentHandler {
		return promhttp.HandlerFor(shown, opts)
	}
	opts.Registry = o.Registry
	return promhttp.InstrumentMetricHandler(o.Registry, promhttp.HandlerFor(shown, opts))
}

// errorLog is what promhttp tells gathering errors to.
type errorLog struct{ logger *slog.Logger }

func (l errorLog) Println(v ...any) {
	for _, x := range v {
		// Of a scraper that has gone away there would be a line for each family that it did not get.
		if err, ok := x.(error); ok && isGone(err) {
			return
		}
	}
	l.logger.Error("metrics could not be gathered whole", slog.String("err", strings.TrimSpace(fmt.Sprintln(v...))))
}

// isGone tells that an error is that of the connection to the scraper.
func isGone(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}
