package server

import (
	"bytes"
	"context"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/collector/exposition"
	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// maxSamples bounds what one page may hold.
const maxSamples = 20000

// getter asks for pages: *scrape.Client, or in tests a server that lives in simulated time.
type getter interface {
	Get(ctx context.Context, url, accept string, buffer []byte) (body []byte, contentType string, err error)
	Close()
}

// reading is what one request gave: a page, or the models of Ollama, or an error. It is valid until the page is read again.
type reading struct {
	page   *exposition.Page
	models []loadedModel
	err    error // of scrape.Error
	json   bool  // the answer was JSON

	place *place
	at    int64 // instant of the answer
	took  time.Duration
}

// samples is how many values were read.
func (r *reading) samples() int {
	if r.page == nil {
		return len(r.models)
	}
	return r.page.Samples
}

// page is one address that is read.
type page struct {
	client getter
	clock  *metrics.SystemClock
	parser *exposition.Parser
	buffer []byte
	round  uint64 // in which it was last read
	last   reading
}

// read asks for the page, within the time, once in each round: several targets may be served by one server.
func (p *page) read(ctx context.Context, round uint64, where *place, limit time.Duration) *reading {
	if p.round == round {
		return &p.last
	}
	p.round = round
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	accept := scrape.Accept
	if where.format == processes {
		accept = "application/json"
	}
	start := p.clock.Now()
	body, contentType, err := p.client.Get(ctx, where.url, accept, p.buffer)
	// In the middle: nobody knows when, between being asked and having answered, the server has looked.
	p.last = reading{err: err, place: where, at: start + (p.clock.Now()-start)/2}
	if err == nil {
		p.buffer = body[:0]
		p.understand(where.format, body, contentType)
	}
	p.last.took = time.Duration(p.clock.Now() - start)
	return &p.last
}

// understand reads the answer as what it should be.
func (p *page) understand(f format, body []byte, contentType string) {
	var err error
	text := bytes.TrimLeft(body, " \t\r\n")
	p.last.json = len(text) > 0 && (text[0] == '[' || text[0] == '{')
	switch {
	case f == processes:
		p.last.models, err = parseModels(body)
	case f == iterations && p.last.json:
		p.last.page, err = parseIterations(body)
	default:
		p.last.page, err = p.parser.Parse(body, contentType)
	}
	if err != nil {
		p.last.err = &scrape.Error{Reason: scrape.ReasonOf(err), Err: err}
	}
}
