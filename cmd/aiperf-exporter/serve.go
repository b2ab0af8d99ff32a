package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/aiperf-exporter/aiperf-exporter/web"
)

// defaultAddress is where the daemon listens.
const defaultAddress = ":9749"

func serveCommand(app *kingpin.Application) command {
	cmd := app.Command("serve", "Run the daemon (the default).").Default()
	o := daemonFlags(cmd, defaultAddress)
	return command{cmd.FullCommand(), func(s *session) int {
		if err := o.validate(); err != nil {
			s.complainf("%v", err)
			return exitUsage
		}
		hangups, stop := catchHangups()
		defer stop()
		s.hangups = hangups
		c, gc, ok := s.load()
		if !ok || !s.rehearse(&gc) {
			return exitFailure
		}
		return serve(s, o, c, gc, nil)
	}}
}

// daemonFlags puts the flags of a daemon into a command.
func daemonFlags(cmd *kingpin.CmdClause, address string) *daemonOptions {
	o := &daemonOptions{toolkit: kingpinflag.AddFlags(cmd, address)}
	cmd.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.telemetryPath)
	cmd.Flag("web.external-url", "URL under which the exporter is reachable from outside, for example behind a proxy; its path is the default of --web.route-prefix.").StringVar(&o.externalURL)
	cmd.Flag("web.route-prefix", "Prefix of every path.").StringVar(&o.routePrefix)
	cmd.Flag("web.max-requests", "Most scrapes that may run at the same time; further ones get 503. 0 = no limit.").Default("40").IntVar(&o.maxRequests)
	cmd.Flag("web.enable-lifecycle", "Let POST /-/reload load the configuration anew, and POST /-/quit stop the process.").BoolVar(&o.lifecycle)
	cmd.Flag("web.enable-admin-api", "Let POST /-/pause and /-/resume stop and resume the traffic, of one target with ?target=NAME, and let captured streams be read.").BoolVar(&o.adminAPI)
	cmd.Flag("web.enable-pprof", "Serve profiles of this process at /debug/pprof/.").BoolVar(&o.pprof)
	cmd.Flag("web.disable-exporter-metrics", "Leave out go_*, process_* and promhttp_*.").BoolVar(&o.disableExporterMetrics)
	cmd.Flag("config.auto-reload-interval", "How often to look whether the contents of the configuration files have changed, and to load them anew if so. 0 = never.").Default("0s").DurationVar(&o.autoReload)
	cmd.Flag("shutdown.grace", "How long running requests may take to end when the process is asked to stop; what is left then is cancelled.").Default("30s").DurationVar(&o.grace)
	cmd.Flag("shutdown.final-scrape", "How long metrics stay readable after the last request has ended, so that a scrape sees it.").Default("0s").DurationVar(&o.finalScrape)
	cmd.Flag("runtime.memory-limit-ratio", "Share of the container's memory that the garbage collector keeps below, unless GOMEMLIMIT is set. 0 = off.").Default("0.9").Float64Var(&o.memoryLimitRatio)
	return o
}

// validate finds what is wrong with the values of flags; the error names the flag.
func (o *daemonOptions) validate() error {
	if !web.ValidPath(o.telemetryPath) {
		return fmt.Errorf("--web.telemetry-path: must be a path like /metrics, got %q", o.telemetryPath)
	}
	if o.externalURL != "" {
		if u, err := url.Parse(o.externalURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("--web.external-url: must be a URL like https://host/path, got %q", o.externalURL)
		}
	}
	if p := o.prefix(); p != "" && !web.ValidPath(p) {
		return fmt.Errorf("--web.route-prefix, or the path of --web.external-url: must be a path like /aiperf, got %q", p)
	}
	if o.maxRequests < 0 {
		return fmt.Errorf("--web.max-requests: must not be negative, got %d", o.maxRequests)
	}
	if o.autoReload < 0 {
		return fmt.Errorf("--config.auto-reload-interval: must not be negative, got %v", o.autoReload)
	}
	if o.grace < 0 {
		return fmt.Errorf("--shutdown.grace: must not be negative, got %v", o.grace)
	}
	if o.finalScrape < 0 {
		return fmt.Errorf("--shutdown.final-scrape: must not be negative, got %v", o.finalScrape)
	}
	if !(o.memoryLimitRatio >= 0 && o.memoryLimitRatio <= 1) {
		return fmt.Errorf("--runtime.memory-limit-ratio: must be between 0 and 1, got %v", o.memoryLimitRatio)
	}
	return nil
}

// prefix is the path before every route, without a slash at its end.
func (o *daemonOptions) prefix() string {
	prefix := o.routePrefix
	if prefix == "" && o.externalURL != "" {
		if u, err := url.Parse(o.externalURL); err == nil {
			prefix = u.Path
		}
	}
	return strings.TrimRight(prefix, "/")
}
