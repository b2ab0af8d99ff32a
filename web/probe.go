package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aiperf-exporter/aiperf-exporter/probe"
)

// scrapeTimeoutHeader tells how long a Prometheus waits for the answer, in seconds.
const scrapeTimeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"

// Prober makes probes: *probe.Prober. The error of Probe is a *probe.Rejection.
type Prober interface {
	Probe(ctx context.Context, r *probe.Request) (*probe.Result, error)
}

// NewProbe makes what answers at /probe: one probe for each request, whose series are in this answer and nowhere else. mayDebug lets whoever asks
// see how it went.
func NewProbe(prober Prober, logger *slog.Logger, mayDebug bool) http.Handler {
	return noStore(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet { // the mux takes HEAD for GET, but nobody should pay for an answer that nobody reads
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "a probe is asked for with GET", http.StatusMethodNotAllowed)
			return
		}
		result, err := prober.Probe(r.Context(), &probe.Request{
			RawQuery: r.URL.RawQuery, ScrapeTimeout: r.Header.Get(scrapeTimeoutHeader), MayDebug: mayDebug,
		})
		// The probe may take as long as it may; its answer is bounded as others are.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		switch {
		case err != nil:
			refuseProbe(w, err)
		case result.Debug:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			if err := result.WritePage(w); err != nil && !isGone(err) {
				logger.Warn("page of a probe could not be written", slog.Any("err", err))
			}
		default:
			showProbe(result, logger).ServeHTTP(w, r)
		}
	}))
}

// refuseProbe says why nothing was sent.
func refuseProbe(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if rejection, ok := errors.AsType[*probe.Rejection](err); ok {
		status = rejection.Status()
	}
	http.Error(w, err.Error(), status)
}

// showProbe writes the series in the format and compression that the scraper asks for.
func showProbe(result prometheus.Gatherer, logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(result, promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            errorLog{logger},
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip, promhttp.Zstd},
	})
}
