package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestDaemonServesUntilItIsAskedToStopAndDrains(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startSlowServer(t)
			daemon := start(t, nil, "--config.file="+server.config, "--web.listen-address=127.0.0.1:0")
			url := daemon.address(t)
			if code, body := get(t, url+"/-/ready"); code != 200 || body != "ready\n" {
				t.Errorf("/-/ready says %d %q while it runs, want 200", code, body)
			}
			<-server.arrived

			daemon.signal(t, sig)
			daemon.await(t, "no more requests are sent")
			if code, body := get(t, url+"/-/ready"); code != 503 || body != "stopping\n" {
				t.Errorf("/-/ready says %d %q while requests end, want 503", code, body)
			}
			if code, _ := get(t, url+"/-/healthy"); code != 200 {
				t.Errorf("/-/healthy says %d while requests end, want 200", code)
			}
			code, exposition := get(t, url+"/metrics")
			if code != 200 {
				t.Errorf("/metrics says %d while requests end, want 200", code)
			}
			if sent := sum(t, exposition, "aiperf_arrivals_sent_total"); sent < 1 || sent > 4 {
				t.Errorf("%v requests sent, want 1 to 4", sent)
			}

			server.release()
			if code := daemon.exit(t); code != exitOK {
				t.Errorf("exit code %d, want %d:\n%s", code, exitOK, daemon.seen.String())
			}
			if len(server.cut) != 0 {
				t.Errorf("%d requests were cut", len(server.cut))
			}
			contains(t, "log", daemon.seen.String(), "starting aiperf-exporter", "stopping, once more stops at once", "msg=stopped")
		})
	}
}

func TestDaemonCancelsWhatOutlivesTheGrace(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	daemon := start(t, nil, "--config.file="+server.config, "--web.listen-address=127.0.0.1:0", "--shutdown.grace=0")
	daemon.address(t)
	<-server.arrived
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d, want %d:\n%s", code, exitOK, daemon.seen.String())
	}
	<-server.cut
}

func TestTheLastRequestsCanStillBeScraped(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	daemon := start(t, nil, "--config.file="+server.config, "--web.listen-address=127.0.0.1:0", "--shutdown.grace=0", "--shutdown.final-scrape=1h")
	url := daemon.address(t)
	<-server.arrived
	daemon.signal(t, syscall.SIGTERM)
	<-server.cut
	for {
		_, exposition := get(t, url+"/metrics")
		if sum(t, exposition, "aiperf_inflight_requests") > 0 {
			continue // the request has been cut on the server's side and not ended on ours yet
		}
		if sent, ended := sum(t, exposition, "aiperf_arrivals_sent_total"), sum(t, exposition, "aiperf_requests_total"); sent != ended || sent == 0 {
			t.Errorf("%v requests sent, %v ended", sent, ended)
		}
		break
	}
	<-time.NewTimer(2 * sameSignal).C
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitKilled {
		t.Errorf("exit code %d, want %d: the wait must not outlive a second signal", code, exitKilled)
	}
}

func TestSecondSignalEndsTheDaemonAtOnce(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	daemon := start(t, nil, "serve", "--config.file="+server.config, "--web.listen-address=127.0.0.1:0", "--shutdown.grace=1h")
	daemon.address(t)
	<-server.arrived
	daemon.signal(t, syscall.SIGTERM)
	daemon.await(t, "no more requests are sent")
	daemon.signal(t, syscall.SIGINT)
	if code := daemon.exit(t); code != exitKilled {
		t.Errorf("exit code %d, want %d:\n%s", code, exitKilled, daemon.seen.String())
	}
	contains(t, "log", daemon.seen.String(), "stopped at once")
}

// timeout(1) and terminals send a signal to a process and to its group.
func TestASignalThatComesTwiceIsOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		second os.Signal
		after  time.Duration
		killed bool
	}{
		"at once":               {syscall.SIGTERM, 0, false},
		"a moment later":        {syscall.SIGTERM, sameSignal - 1, false},
		"but not later":         {syscall.SIGTERM, sameSignal, true},
		"nor is it another one": {syscall.SIGINT, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				signals, goOn, killed := make(chan os.Signal), make(chan struct{}), make(chan bool, 1)
				go func() {
					killed <- oversee(slog.New(slog.DiscardHandler), signals, nil, func(ctx context.Context) {
						<-ctx.Done()
						<-goOn
					})
				}()
				signals <- syscall.SIGTERM
				synctest.Wait()
				<-time.NewTimer(test.after).C
				signals <- test.second
				synctest.Wait()
				close(goOn)
				if got := <-killed; got != test.killed {
					t.Errorf("stopped at once: %v, want %v", got, test.killed)
				}
			})
		})
	}
}

func TestOtherSignalsDoNotEndTheDaemon(t *testing.T) {
	t.Parallel()
	daemon := start(t, nil, "--config.file="+write(t, "minimal.yml", minimal), "--web.listen-address=127.0.0.1:0")
	url := daemon.address(t)
	daemon.signal(t, syscall.SIGHUP)
	daemon.await(t, "configuration taken")
	daemon.signal(t, syscall.SIGUSR1)
	daemon.await(t, `^goroutine profile: total \d+`)
	if code, _ := get(t, url+"/-/ready"); code != 200 {
		t.Errorf("/-/ready says %d afterwards, want 200", code)
	}
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
}

func TestEnvironmentAndFlagsSayWhereThingsAreServed(t *testing.T) {
	t.Parallel()
	daemon := start(t, []string{"AIPERF_EXPORTER_WEB_TELEMETRY_PATH=/internal/metrics", "AIPERF_EXPORTER_CONFIG_FILE=" + write(t, "minimal.yml", minimal)},
		"--web.listen-address=127.0.0.1:0", "--web.listen-address=127.0.0.1:0", "--web.external-url=https://example.net/llm/", "--web.disable-exporter-metrics", "--web.enable-pprof")
	url := daemon.address(t)
	for path, want := range map[string]int{
		"/llm/internal/metrics": 200, "/llm/": 200, "/llm/config": 200, "/llm/debug/pprof/": 200, "/metrics": 404, "/llm/metrics": 404,
	} {
		if code, _ := get(t, url+path); code != want {
			t.Errorf("%s says %d, want %d", path, code, want)
		}
	}
	_, exposition := get(t, url+"/llm/internal/metrics")
	for _, prefix := range []string{"\ngo_", "\nprocess_", "\npromhttp_"} {
		if strings.Contains(exposition, prefix) {
			t.Errorf("series %q are there in spite of --web.disable-exporter-metrics", prefix)
		}
	}
	contains(t, "/metrics", exposition, "aiperf_exporter_build_info{", `aiperf_target_info{`)
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d, want %d:\n%s", code, exitOK, daemon.seen.String())
	}
}

func TestDaemonTestsItself(t *testing.T) {
	t.Parallel()
	daemon := start(t, []string{"AIPERF_EXPORTER__selftest__enabled=true", "AIPERF_EXPORTER__selftest__interval=500ms"},
		"--config.file="+write(t, "minimal.yml", minimal), "--web.listen-address=127.0.0.1:0")
	url := daemon.address(t)
	var exposition string
	succeeded := regexp.MustCompile(`(?m)^aiperf_selftest_requests_total\{outcome="success"\} [1-9]`)
	for !succeeded.MatchString(exposition) { // until the daemon is killed for want of patience
		_, exposition = get(t, url+"/metrics")
	}
	contains(t, "/metrics", exposition, "aiperf_selftest_error_bar_seconds ",
		`aiperf_exporter_suspect{cause="go_scheduler"} `, "go_sched_latencies_seconds_count ", "go_sched_pauses_total_gc_seconds_count ")
	if n := sum(t, exposition, "aiperf_arrivals_total"); strings.Contains(exposition, `target="selftest"`) || n > 1 {
		t.Errorf("the null target is among the targets, which have %v arrivals", n)
	}
	daemon.signal(t, syscall.SIGTERM)
	if code := daemon.exit(t); code != exitOK {
		t.Errorf("exit code %d, want %d:\n%s", code, exitOK, daemon.seen.String())
	}
}

func TestDaemonThatCannotStartSaysWhyAndEnds(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	good := write(t, "minimal.yml", minimal)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"the port is in use":              {[]string{"--web.listen-address=" + taken.Addr().String()}, "address already in use"},
		"one of two ports is in use":      {[]string{"--web.listen-address=127.0.0.1:0", "--web.listen-address=" + taken.Addr().String()}, "address already in use"},
		"the web configuration is absent": {[]string{"--web.listen-address=127.0.0.1:0", "--web.config.file=absent.yml"}, "absent.yml"},
		"there is no socket from systemd": {[]string{"--web.systemd-socket"}, "no socket activation file descriptors found"},
		"the metrics hide another page":   {[]string{"--web.telemetry-path=/config"}, `telemetry path \"/config\": another page is there`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			daemon := start(t, nil, append([]string{"serve", "--config.file=" + good}, test.args...)...)
			if code := daemon.exit(t); code != exitFailure {
				t.Errorf("exit code %d, want %d", code, exitFailure)
			}
			contains(t, "log", daemon.seen.String(), "level=ERROR", test.want)
			if strings.Contains(daemon.seen.String(), "traffic starts") {
				t.Errorf("it sent requests:\n%s", daemon.seen.String())
			}
		})
	}
	t.Run("the port of the demo is in use", func(t *testing.T) {
		t.Parallel()
		demo := start(t, nil, "demo", "--web.listen-address="+taken.Addr().String())
		if code := demo.exit(t); code != exitFailure || demo.stdout.Len() != 0 {
			t.Errorf("exit code %d and standard output %q, want %d without", code, demo.stdout.String(), exitFailure)
		}
		contains(t, "log", demo.seen.String(), "address already in use")
	})
}

func TestRunThatIsInterruptedReportsWhatItHas(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	one := start(t, nil, "run", "--config.file="+server.config, "--duration=1h")
	<-server.arrived
	one.signal(t, syscall.SIGINT)
	one.await(t, "stopping, once more stops at once")
	server.release()
	if code := one.exit(t); code != exitFailure {
		t.Errorf("exit code %d, want %d: what was asked was not done\n%s", code, exitFailure, one.seen.String())
	}
	contains(t, "standard output", one.stdout.String(), "slow · m · chat, streamed", "interrupted before it had done what was asked")
}

func TestSecondSignalEndsARunAtOnce(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	one := start(t, nil, "run", "--config.file="+server.config, "--requests=2", "--grace=1h")
	<-server.arrived
	one.signal(t, syscall.SIGINT)
	one.await(t, "stopping, once more stops at once")
	<-time.NewTimer(2 * sameSignal).C
	one.signal(t, syscall.SIGINT)
	if code := one.exit(t); code != exitKilled {
		t.Errorf("exit code %d, want %d:\n%s", code, exitKilled, one.seen.String())
	}
	if got := one.stdout.String(); got != "" {
		t.Errorf("there is a report:\n%s", got)
	}
}

func TestHangingRequestsOfARunAreCancelledAfterTheGrace(t *testing.T) {
	t.Parallel()
	server := startSlowServer(t)
	got := execute("run", "--config.file="+server.config, "--duration=2s", "--grace=0")
	if got.code != exitFailure {
		t.Errorf("exit code %d, want %d: no request succeeded", got.code, exitFailure)
	}
	<-server.cut
	contains(t, "standard output", got.stdout, "0 ok", "cancelled")
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"[::]:9749": "localhost:9749", "0.0.0.0:9749": "localhost:9749", "127.0.0.1:9749": "127.0.0.1:9749",
		"[::1]:9749": "[::1]:9749", "[::ffff:10.0.0.1]:9749": "10.0.0.1:9749", "@socket": "@socket",
	} {
		if got := reachable(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestPrefixComesFromTheFlagOrTheExternalURL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ external, prefix, want string }{
		"neither":                             {"", "", ""},
		"an external URL without a path":      {"https://example.net", "", ""},
		"an external URL with a path":         {"https://example.net/a/b/", "", "/a/b"},
		"a prefix":                            {"", "/c", "/c"},
		"a prefix beside an external URL":     {"https://example.net/a", "/c/", "/c"},
		"no prefix in spite of external path": {"https://example.net/a", "/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &daemonOptions{externalURL: test.external, routePrefix: test.prefix}
			if got := o.prefix(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
