package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/process"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// configuration of the exporter: requests in flight of all targets, tokens, load, URL. Connections are kept, as the others keep theirs.
const configuration = `
global: {max_in_flight: %d}
workloads:
  fixed: {input_tokens: 50, output_tokens: %d}
http_clients:
  kept: {reuse: keepalive}
loads:
  steady: %s
targets:
  - {name: truth, url: %q, model: truth, endpoint: {type: chat}, workload: fixed, load: steady, client: kept}
`

// spare is how many more requests than streams may be in flight: the load is a rate, not a number of streams.
const spare = 1.25

// configure writes the configuration for a job and gives its name.
func configure(j *job) (string, error) {
	file := filepath.Join(j.folder, "aiperf-exporter.yml")
	most := int(float64(j.scenario.streams)*spare) + 1
	text := fmt.Sprintf(configuration, most, j.scenario.tokens, load(j, most), "http://"+j.host)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// load is an entry of loads: as many arrivals as keep the streams open, or, where the server has no pace, always a next one waiting.
func load(j *job, most int) string {
	s := j.scenario
	if s.unpaced() {
		return fmt.Sprintf("{mode: constant, rate: 1000, max_in_flight: %d, on_full: queue, queue: {size: %d, max_wait: 1h}}", s.streams, s.requests())
	}
	return fmt.Sprintf("{mode: constant, rate: %g, max_in_flight: %d, paused: %t}", rate(s), most, j.requests == 0)
}

// rate is that of arrivals per second.
func rate(s *scenario) float64 { return float64(s.streams) / s.answer().Seconds() }

func (p *programs) ourCommand(_ context.Context, j *job) ([]string, error) {
	file, err := configure(j)
	return []string{
		p.exporter, "run", "--config.file=" + file, fmt.Sprintf("--requests=%d", j.requests), "--format=json", "--out=" + j.folder, "--log.level=error",
	}, err
}

// addressFile has the address of the daemon.
const addressFile = "address"

func (p *programs) daemonCommand(ctx context.Context, j *job) ([]string, error) {
	file, err := configure(j)
	if err != nil {
		return nil, err
	}
	// The only address that it could choose itself is told nowhere but in its log.
	address, err := process.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return []string{
		p.exporter, "serve", "--config.file=" + file, "--web.listen-address=" + address, "--log.level=error",
		fmt.Sprintf("--shutdown.final-scrape=%v", 2*scrapeInterval),
	}, os.WriteFile(filepath.Join(j.folder, addressFile), []byte(address), 0o600)
}

// scrapeInterval is short for a Prometheus, to make what scrapes cost visible.
const scrapeInterval = time.Second

// attendDaemon scrapes the daemon as Prometheus would, tells it to end when it has made all requests, and gives the figures of the last
// scrape, which comes after the last request.
func attendDaemon(ctx context.Context, j *job, p *process.Process) (figures, error) {
	address, err := os.ReadFile(filepath.Join(j.folder, addressFile))
	if err != nil {
		return figures{}, err
	}
	base := "http://" + string(address)
	if err = p.Ready(ctx, base+"/-/ready"); err != nil {
		return figures{}, err
	}
	end := time.NewTimer(max(2*scrapeInterval, time.Duration(float64(j.requests)/rate(j.scenario)*float64(time.Second))))
	defer end.Stop()
	last, err := scrapeUntilGone(ctx, base+"/metrics", end.C, p)
	if err != nil {
		return figures{}, err
	}
	if _, err := p.Wait(ctx); err != nil {
		return figures{}, err
	}
	if j.requests == 0 {
		return figures{}, nil
	}
	return exposed(last)
}

// scrapeUntilGone scrapes, sends SIGTERM at the end of the load, and gives the last scrape that succeeded.
func scrapeUntilGone(ctx context.Context, url string, end <-chan time.Time, p *process.Process) (scrape.Families, error) {
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	var last scrape.Families
	ending := false
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-end:
			ending = true
			if err := p.Terminate(); err != nil {
				return nil, err
			}
		case <-ticker.C:
			families, err := scrape.Get(ctx, url)
			switch {
			case err == nil:
				last = families
			case ending && last != nil:
				return last, nil
			default:
				return nil, err
			}
		}
	}
}
