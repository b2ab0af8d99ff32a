//go:build soak

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aiperf-exporter/aiperf-exporter/collector/collectortest"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// TestWeeksOfLooksTakeConstantMemory looks at five servers for two weeks of simulated time, and shows what they have every few minutes. The pages
// are those of real servers, which live: counters grow, adapters, workers and reasons get new names each hour, families come and go, servers restart,
// go away for a while, lose their page or speak for several replicas. What is kept must not grow with time.
func TestWeeksOfLooksTakeConstantMemory(t *testing.T) { //nolint:paralleltest // it measures the heap of the process
	const days, interval, scrapeEvery = 14, time.Minute, 30 * time.Minute
	const slack = 128 << 10 // 400 bytes for each hour: what would not be forgotten of the names of an hour is more
	synctest.Test(t, func(t *testing.T) {
		servers := &moody{began: time.Now(), living: map[string]*living{
			"vllm:8000": newLiving(t, "vllm"), "sglang:30000": newLiving(t, "sglang"), "worker:9090": newLiving(t, "dynamo-worker"),
			steady: newLiving(t, "llamacpp"),
		}}
		c := startWeeks(t, interval, servers)
		seen := map[string]bool{}
		collectortest.Days{Days: days, ScrapeEvery: scrapeEvery, Slack: slack}.Watch(t, c, func(f *dto.MetricFamily) {
			for _, m := range f.Metric {
				if strings.HasPrefix(f.GetName(), "aiperf_") && m.GetCounter().GetValue()+m.GetGauge().GetValue() > 0 {
					seen[f.GetName()] = true
				}
			}
		})
		t.Logf("%d looks, %d of them failed", servers.looks, servers.failed)
		for _, name := range []string{seriesRestarts, seriesMixed, seriesUnmapped, seriesLoaded, "aiperf_server_requests_running", "aiperf_scrape_errors_total"} {
			if !seen[name] {
				t.Errorf("%s was never more than zero: what is simulated is not what was meant", name)
			}
		}
	})
}

// startWeeks runs a collector whose series are those of the servers and, passed through, all that they have, until the test ends.
func startWeeks(t *testing.T, interval time.Duration, servers *moody) *Collector {
	t.Helper()
	config := DefaultConfig()
	config.Interval = interval
	config.Passthrough.Allow = []string{".*"}
	deps := Deps{
		Clock: metrics.NewSystemClock(), Logger: slog.New(slog.DiscardHandler), Observe: servers.observe,
	}
	targets := []Target{
		auto("canary", "http://vllm:8000"), auto("traffic", "http://vllm:8000"), auto("small", "http://ollama:11434"),
		explicit("pair", "http://sglang:30000/metrics", "http://worker:9090/metrics"), auto("steady", "http://"+steady),
	}
	c, err := newCollector(config, targets, deps, func(scrape.Options) (getter, error) { return servers, nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return c
}

// moody are servers that live in the memory of the test. What happens to them comes back each day at the same hour.
type moody struct {
	began  time.Time
	living map[string]*living // by host and port

	mu                      sync.Mutex // guards the counts
	looks, failed, observed int
}

// look counts one, and gives its number.
func (s *moody) look() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.looks
}

func (s *moody) observe(string, string, int64, []*dto.MetricFamily) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed++
}

// fail counts one that did not give a page, and gives the error.
func (s *moody) fail(reason scrape.Reason, text string) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	return nil, "", &scrape.Error{Reason: reason, Err: errors.New(text)}
}

// steady is a server to which nothing ever happens, so that nothing of it is forgotten for another reason than that it is no longer there: at each
// look one series has another label.
const steady = "llama:8080"

// Get implements getter.
func (s *moody) Get(_ context.Context, url, _ string, buffer []byte) (body []byte, contentType string, err error) {
	look, age := s.look(), time.Since(s.began)
	hour, minute := int(age.Hours()), int(age.Minutes())%60
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	page := s.living[host]
	switch {
	case host == steady && path == "metrics":
		body = page.at(buffer[:0], 0, age, float64(s.began.Unix()))
		return fmt.Appendf(body, "llamacpp:task{id=\"%d\"} 1\n", look), "text/plain", nil
	case minute < 15 && hour%8 == 5:
		return s.fail(scrape.Connect, "refused")
	case minute < 15 && hour%12 == 7:
		return s.fail(scrape.NotFound, fmt.Sprintf("nothing at %s after %v", url, age))
	case minute < 15 && hour%12 == 9:
		return append(buffer[:0], "<!DOCTYPE html><title>Sorry</title>"...), "text/html", nil
	case path == "api/ps" && host == "ollama:11434":
		models := `{"models":[{"name":"m-%06d","size_vram":%d},{"name":"m:latest","size_vram":2e9}]}`
		return fmt.Appendf(buffer[:0], models, hour, look), "application/json", nil
	case page == nil || path != "metrics":
		return s.fail(scrape.NotFound, "no such page")
	}
	replica := 0
	if minute < 10 && hour%6 == 2 { // behind a load balancer for a while
		replica = look % 2
	}
	body = page.at(buffer[:0], hour, age%(6*time.Hour), float64(s.began.Unix())+float64(hour/6*6*3600-100*replica))
	if minute == 30 { // cut off
		body = body[:len(body)-8]
	}
	return body, "text/plain; version=0.0.4", nil
}

// Close implements getter.
func (*moody) Close() {}

// living is a page of a real server whose values and names change.
type living struct{ lines []livingLine }

type livingLine struct {
	before, after string // what gets a new name stands in between
	named         bool
	family        int
	value         float64
	comment       bool
	grows, start  bool
}

// newLiving reads a page. Names of adapters, workers and reasons are those that will change.
func newLiving(t *testing.T, name string) *living {
	t.Helper()
	page, err := os.ReadFile("mapping/testdata/" + name + ".prom")
	if err != nil {
		t.Fatal(err)
	}
	out, family, grows := &living{}, 0, false
	for line := range strings.Lines(string(page)) {
		l := livingLine{comment: strings.HasPrefix(line, "#")}
		text := strings.TrimSpace(line)
		switch words := strings.Fields(text); {
		case text == "":
			continue
		case l.comment:
			if words[1] == "HELP" {
				family++
			}
			grows = words[1] == "TYPE" && words[3] != "gauge"
		default:
			if l.value, err = strconv.ParseFloat(words[len(words)-1], 64); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			text = strings.TrimSuffix(text, words[len(words)-1])
			l.start = strings.HasPrefix(text, "process_start_time_seconds")
		}
		l.family, l.grows, l.before = family, grows, text
		for _, label := range []string{`adapters="sql-lora`, `finished_reason="repetition`, `reason="deferred`, `worker_id="`, `engine_type="`} {
			if at := strings.Index(text, label); at >= 0 {
				at += len(label)
				l.before, l.after, l.named = text[:at], text[at:], true
			}
		}
		out.lines = append(out.lines, l)
	}
	return out
}

// at appends the page in an hour, of a process of an age that began then. In each hour another quarter of the families is not there, and an
// unknown one is.
func (p *living) at(page []byte, hour int, age time.Duration, started float64) []byte {
	for i := range p.lines {
		l := &p.lines[i]
		if l.family%4 == hour%4 && l.family > 3 {
			continue
		}
		page = append(page, l.before...)
		if l.named {
			page = fmt.Appendf(page, "-%06d", hour)
			page = append(page, l.after...)
		}
		value := l.value
		switch {
		case l.start:
			value = started
		case l.grows:
			value *= 1 + float64(int(age.Seconds()))
		}
		if !l.comment {
			page = strconv.AppendFloat(page, value, 'g', -1, 64)
		}
		page = append(page, '\n')
	}
	return fmt.Appendf(page, "# TYPE vllm:experiment_%06d gauge\nvllm:experiment_%06[1]d{pod=\"vllm-%06[1]d\"} 1\n", hour)
}
