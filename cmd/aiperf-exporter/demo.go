package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/aiperf-exporter/aiperf-exporter/demo"
)

// demoAddress is only reachable from this machine: a demo is no service.
const demoAddress = "127.0.0.1:9749"

func demoCommand(app *kingpin.Application) command {
	cmd := app.Command("demo", "Run the daemon against an embedded inference server with three models, one of which misbehaves. Needs no network, GPU or account.")
	o := daemonFlags(cmd, demoAddress)
	return command{cmd.FullCommand(), func(s *session) int {
		if err := o.validate(); err != nil {
			s.complainf("%v", err)
			return exitUsage
		}
		code, err := runDemo(s, o)
		if err != nil {
			s.complainf("demo: %v", err)
			return exitFailure
		}
		return code
	}}
}

func runDemo(s *session, o *daemonOptions) (code int, err error) {
	settings := demo.DefaultConfig()
	settings.Logger = s.logger.With(slog.String("component", "demo"))
	server := demo.New(settings)
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	url := "http://" + address.String()
	file, remove, err := writeExample()
	if err != nil {
		return 0, err
	}
	defer remove()
	s.files, s.env, s.expandEnv = []string{file}, append(s.env, demo.URLVariable+"="+url), true
	c, err := s.read(nil)
	if err != nil {
		return 0, fmt.Errorf("configuration: %w", err)
	}
	gc, err := c.Generator()
	if err != nil {
		return 0, fmt.Errorf("configuration: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	return serve(s, o, c, gc,
		func(listening net.Addr) { welcome(s, o, url, file, listening) },
		actor{run: func() error { return server.Run(ctx) }, stop: cancel},
	), nil
}

// writeExample lays the example configuration down as a file, so that it can be read, copied and edited.
func writeExample() (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "aiperf-exporter-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("folder for the example configuration: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // a leftover in the temporary folder harms nobody
	path = filepath.Join(dir, "demo.yml")
	if err := os.WriteFile(path, demo.ExampleConfig(), 0o600); err != nil {
		remove()
		return "", nil, fmt.Errorf("example configuration: %w", err)
	}
	return path, remove, nil
}

// welcome says where to look.
func welcome(s *session, o *daemonOptions, url, file string, listening net.Addr) {
	base := "http://" + reachable(listening.String()) + o.prefix()
	fmt.Fprintf(s.stdout, `
  The demo runs: three targets against an embedded inference server. "steady" is well, "thinker" is a larger
  model that reasons first, "flaky" misbehaves and recovers.

    page       %s/
    metrics    %s%s
    server     %s/metrics   (its own, under vLLM's names)
    config     %s

  Try:  curl -s %s%s | grep -E 'aiperf_(requests|good_requests)_total'
  Hurt: curl -X POST '%s/faults?model=demo-steady-8b&kind=server_error&for=30s'   (kinds: slow, stall, rate_limit ...)
  Stop: Ctrl-C

`, base, base, o.telemetryPath, url, file, base, o.telemetryPath, url)
}

// reachable turns the address of a listener on all interfaces into one that a browser can open.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(strings.TrimPrefix(host, "::ffff:"), port)
}
