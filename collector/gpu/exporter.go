package gpu

import (
	"context"
	"fmt"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// dialects are the exporters that can be asked. To add one: its table in a file of its own, a line here, a block in Config.
var dialects = map[SourceName]*dialect{DCGM: &dcgm, AMD: &amd, Triton: &triton}

const (
	// maxSamples is what a page of an exporter may hold: a hundred fields of a thousand GPUs.
	maxSamples = 100_000
	// maxDevices is how many GPUs and instances may be on it: what they have used is remembered of each.
	maxDevices = 4096
	// maxWait is how long a page may take, where the interval is longer.
	maxWait = 10 * time.Second
)

// exporter is a Source that is asked over HTTP: one page, of one or many machines.
type exporter struct {
	dialect *dialect
	client  getter
	url     string // as it is asked
	prefix  string
	wait    time.Duration
	log     *scrape.TargetLog
	clock   *metrics.SystemClock
	parser  *exposition.Parser
	buffer  []byte
	xids    *xidHistory // goes on where another source takes its place
}

// getter asks for pages: *scrape.Client, or in tests an exporter that lives in simulated time.
type getter interface {
	Get(ctx context.Context, url, accept string, buffer []byte) (body []byte, contentType string, err error)
	Close()
}

var _ Source = (*exporter)(nil)

// Read implements Source.
func (e *exporter) Read(ctx context.Context) Reading {
	start := e.clock.Now()
	page, err := e.page(ctx)
	took := time.Duration(e.clock.Now() - start)
	at := middle(start, took)
	switch {
	case ctx.Err() != nil: // the program ends, the exporter has done nothing wrong
		return Reading{Source: e.dialect.source, State: Failed, At: at}
	case err != nil:
		return e.failed(err, at, took)
	}
	devices := e.dialect.devices(page, e.prefix)
	if len(devices) > maxDevices {
		return e.failed(&scrape.Error{Reason: scrape.TooLarge, Err: fmt.Errorf("page has %d GPUs, more than %d", len(devices), maxDevices)}, at, took)
	}
	e.log.Succeeded(took, page.Samples)
	e.log.Duplicates(page.Duplicates)
	if e.dialect.source == DCGM {
		e.xids.count(devices, at)
	}
	reading := Reading{Source: e.dialect.source, State: OK, At: at, Devices: devices}
	if len(devices) == 0 {
		reading.State, reading.Message = NoDevices, "the page tells of no GPU"
	}
	return reading
}

// page asks. Errors are *scrape.Error.
func (e *exporter) page(ctx context.Context) (*exposition.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, e.wait)
	defer cancel()
	body, contentType, err := e.client.Get(ctx, e.url, scrape.Accept, e.buffer)
	if err != nil {
		return nil, err
	}
	e.buffer = body
	page, err := e.parser.Parse(body, contentType)
	if err != nil {
		return nil, &scrape.Error{Reason: scrape.ReasonOf(err), Err: err}
	}
	return page, nil
}

func (e *exporter) failed(err error, at int64, took time.Duration) Reading {
	reason := scrape.ReasonOf(err)
	e.log.Failed(took, reason)
	state := Failed
	if reason == scrape.Auth {
		state = NoPermission
	}
	return Reading{Source: e.dialect.source, State: state, Message: err.Error(), At: at}
}

// Close implements Source.
func (e *exporter) Close() { e.client.Close() }
