package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

func TestServersAreReadUntilTheLastScrape(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}) // nobody waits for it before the traffic has ended
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		fmt.Fprint(w, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n")
	}))
	t.Cleanup(server.Close)
	config := write(t, "read.yml", fmt.Sprintf(`
collectors: {server: {interval: 1s}}
targets:
  - {name: read, url: "http://127.0.0.1:1", model: m, endpoint: {type: chat}, paused: true, server: {metrics_urls: [%q]}}
`, server.URL))
	daemon := start(t, nil, "--config.file="+config, "--web.listen-address=127.0.0.1:0", "--shutdown.final-scrape=1h")
	daemon.address(t)
	daemon.signal(t, syscall.SIGTERM)
	daemon.await(t, "no more requests are sent")
	for range 3 { // the first may have been under way
		<-asked
	}
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitKilled {
		t.Errorf("exit code %d, want %d:\n%s", code, exitKilled, daemon.seen.String())
	}
}

func TestHeadersInTheEnvironmentAreNeverLogged(t *testing.T) {
	t.Parallel()
	config := write(t, "sent.yml", minimal+`
otlp: {enabled: true, endpoint: "http://127.0.0.1:1", interval: 1s, timeout: 500ms, traces: {enabled: true}}
`)
	daemon := start(t, []string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS=hush-hush", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20hush-hush"},
		"--config.file="+config, "--web.listen-address=127.0.0.1:0")
	daemon.address(t)
	daemon.await(t, "OTLP export")
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d, want %d:\n%s", code, exitOK, daemon.seen.String())
	}
	if strings.Contains(daemon.seen.String(), "hush-hush") {
		t.Errorf("the secret is in the log:\n%s", daemon.seen.String())
	}
}

func TestWhoDoesNotWaitForTheGPUsAfterARunDoesNotInterruptIt(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	asked := make(chan struct{}) // nobody waits for it before the request has been answered
	gpus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		fmt.Fprintln(w, `DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-1",modelName="H100"} 1000`) // it has not measured since
	}))
	t.Cleanup(gpus.Close)
	watched := write(t, "gpus.yml", fmt.Sprintf("collectors: {gpu: {source: dcgm, dcgm: {urls: [%q]}}}\n", gpus.URL))
	one := start(t, nil, "run", "--config.file="+server.config, "--config.file="+watched)
	<-server.arrived
	server.release()
	for range 3 { // it is asked again and again only when the traffic has ended
		<-asked
	}
	one.signal(t, syscall.SIGINT)
	if code := one.exit(t); code != exitOK || strings.Contains(one.stdout.String(), "interrupted") {
		t.Errorf("exit code %d, want %d:\n%s%s", code, exitOK, one.stdout.String(), one.seen.String())
	}
}
