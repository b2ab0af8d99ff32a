package server

import (
	"fmt"
	"log/slog"

	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// turn begins to tell anew when the server goes up or down.
func (r *replica) turn(up bool) {
	if r.snapshot.Load().up != up {
		clear(r.told)
	}
}

// news tells whether something is to be logged: once, until the server goes up or down.
func (r *replica) news(what string) bool {
	told := r.told[what]
	r.told[what] = true
	return !told
}

// tellPage logs what is on a page, and what was expected there and is not.
func (r *replica) tellPage(at *place, result *mapping.Result) {
	logger := r.logger.With(slog.String("url", secret.URL(at.url).Public()))
	kind, kinds := slog.String("kind", string(r.options.Kind)), slog.Any("kinds", result.Kinds)
	switch {
	case !result.Foreign:
		if r.news("read") {
			logger.Info("server metrics are read", kinds)
		}
	case !r.news("foreign"):
	case r.options.Kind != mapping.Auto:
		logger.Warn("the page has nothing of the kind of server that is configured", kind, kinds)
	case r.configured:
		logger.Warn("the page has nothing of any server that is known", kinds)
	default:
		logger.Info("the page has nothing of any server that is known", kinds)
	}
	for _, i := range result.Unfed {
		rule := &r.options.Rules[i]
		if r.news(fmt.Sprintf("map[%d]", i)) {
			logger.Warn("a rule gives no series: the page has no such family, or one of another type",
				slog.String("rule", fmt.Sprintf("server.map[%d]", i)), slog.String("family", rule.Family), slog.String("series", rule.Series))
		}
	}
	if result.Dropped > 0 && r.news("dropped") {
		logger.Warn("more series than collectors.server.max_series, whole families are left out",
			slog.Int("series_left_out", result.Dropped), slog.Int("max_series", r.options.MaxSeries))
	}
}

func (r *replica) tellVerdict(v verdict) {
	switch {
	case v.restarted:
		r.logger.Info("server restarted")
	case v.mixed:
		r.logger.Warn("pages of several replicas in turn, counters and histograms are withheld: list the replicas in server.metrics_urls")
	case v.cleared:
		r.logger.Info("pages are those of one server again, counters and histograms are shown")
	}
}
