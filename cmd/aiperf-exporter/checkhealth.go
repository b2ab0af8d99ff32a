package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"
)

const (
	// healthTimeout is for the whole question. A daemon answers at once, so whoever has to be waited for is not well.
	healthTimeout = 3 * time.Second
	// healthShown is how much of an answer is looked at, in bytes.
	healthShown = 200
)

func checkHealthCommand(check *kingpin.CmdClause) command {
	cmd := check.Command("health", "Ask a running daemon whether it is alive, or with --ready whether it is at work.")
	address := cmd.Flag("url", "Where the daemon listens, with its --web.route-prefix.").Default("http://127.0.0.1:9749").URL()
	ready := cmd.Flag("ready", "Ask whether it has its configuration, listens, and is not about to stop.").Bool()
	way := cmd.Flag("http.config.file", "How to ask where --web.config.file wants TLS, a certificate or a password: a file as promtool takes it.").PlaceHolder("FILE").String()
	return command{cmd.FullCommand(), func(s *session) int {
		if scheme := (*address).Scheme; scheme != "http" && scheme != "https" {
			s.complainf("--url: must be a URL like http://host:port/prefix, got %q", (*address).Redacted())
			return exitUsage
		}
		page := (*address).JoinPath("-", "healthy")
		if *ready {
			page = (*address).JoinPath("-", "ready")
		}
		client, err := healthClient(*way)
		if err != nil {
			s.complainf("--http.config.file: %s", strings.Join(strings.Fields(err.Error()), " ")) // in one line, as all that this says
			return exitFailure
		}
		answer, err := askHealth(client, page)
		if err != nil {
			s.complainf("%s: %s", page.Redacted(), printable(err.Error()))
			return exitFailure
		}
		fmt.Fprintf(s.stdout, "%s: %s\n", page.Redacted(), printable(answer))
		return exitOK
	}}
}

// healthClient asks as a file of Prometheus's HTTP clients says; without one it shows nothing of itself and trusts the authorities of the system.
func healthClient(file string) (*http.Client, error) {
	way := &promconfig.DefaultHTTPClientConfig
	if file != "" {
		loaded, _, err := promconfig.LoadHTTPConfigFile(file)
		if err != nil {
			return nil, err
		}
		way = loaded
	}
	client, err := promconfig.NewClientFromConfig(*way, "health", promconfig.WithKeepAlivesDisabled())
	if err != nil {
		return nil, err
	}
	// A daemon redirects nobody: whoever does, stands before it, and may well say 200 of its own.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, nil
}

// askHealth gives the first line of a good answer.
func askHealth(client *http.Client, page *url.URL) (string, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), healthTimeout, fmt.Errorf("no answer in %v", healthTimeout))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the page is named already, and with a password in it
		}
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, healthShown))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", resp.StatusCode, said)
	}
	return said, nil
}
