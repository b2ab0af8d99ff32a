package server

import (
	"net"
	"net/url"

	"github.com/aiperf-exporter/aiperf-exporter/collector/scrape"
	"github.com/aiperf-exporter/aiperf-exporter/collector/server/mapping"
)

// format is what an answer is written in.
type format uint8

const (
	exposed    format = iota // a page of metrics
	iterations               // likewise, or the JSON statistics of TensorRT-LLM
	processes                // what GET /api/ps of Ollama answers
)

// place is where a page may be.
type place struct {
	url    string
	format format
	// after: it is only asked when the first place failed for one of these reasons; nil = in any case.
	after []scrape.Reason
}

// spot is a place, before it is known on which host.
type spot struct {
	path      string
	port      string // "" = that of the endpoint
	byModel   bool   // asks for the page of the target's model
	processes bool
	after     []scrape.Reason
}

// Reasons for which the first place is not where the page is, although the server answers.
var (
	elsewhere = []scrape.Reason{scrape.NotFound, scrape.Incompatible}
	noText    = []scrape.Reason{scrape.Incompatible} // the JSON of TensorRT-LLM
	noModel   = []scrape.Reason{scrape.Status}       // 400: a router of llama.cpp wants to know which model
	noPage    = []scrape.Reason{scrape.NotFound}     // Ollama
)

// spots are where the pages of a kind are, in the order in which they are asked. All of them answer without doing anything: the router of
// llama.cpp would load a model that is asked about, hence autoload; /api/ps of Ollama lists what is in memory and leaves its time of expiry alone,
// so it says whether this is Ollama as cheaply as a question for the version would. /metrics of TensorRT-LLM takes away what it answers, so where
// the kind is known it is left alone, and where it is not, JSON there is not asked for again soon (finder).
var spots = map[mapping.Kind][]spot{
	mapping.Auto: {
		{path: "/metrics"},
		{path: "/prometheus/metrics", after: noText},
		{path: "/v1/metrics", after: elsewhere},
		{path: "/metrics", byModel: true, after: noModel},
		{path: "/api/ps", processes: true, after: noPage},
	},
	mapping.TRTLLM:   {{path: "/prometheus/metrics"}},
	mapping.Triton:   {{path: "/metrics", port: "8002"}, {path: "/metrics"}},
	mapping.NIM:      {{path: "/v1/metrics"}, {path: "/metrics", after: elsewhere}},
	mapping.LlamaCPP: {{path: "/metrics"}, {path: "/metrics", byModel: true, after: noModel}},
	mapping.Ollama:   {{path: "/api/ps", processes: true}},
	mapping.Generic:  {{path: "/metrics"}, {path: "/prometheus/metrics", after: elsewhere}, {path: "/v1/metrics", after: elsewhere}},
}

var (
	// usual is where the page of every other kind is.
	usual = []spot{{path: "/metrics"}, {path: "/v1/metrics", after: elsewhere}}
	// statistics is where TensorRT-LLM is asked if its JSON may be taken: only if there is no page.
	statistics = []spot{{path: "/prometheus/metrics"}, {path: "/metrics", after: elsewhere}}
)

// places are those of a target on the host of its endpoint.
func places(t *Target, endpoint *url.URL) []place {
	list, ok := spots[t.Config.Kind]
	switch {
	case t.Config.TRTLLMJSON:
		list = statistics
	case !ok:
		list = usual
	}
	out := make([]place, 0, len(list))
	for _, s := range list {
		u := url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host, Path: s.path}
		if t.Config.Auth == InheritAuth {
			u.User = endpoint.User
		}
		if s.port != "" {
			u.Host = net.JoinHostPort(endpoint.Hostname(), s.port)
		}
		if s.byModel {
			u.RawQuery = url.Values{"model": {t.Model}, "autoload": {"false"}}.Encode()
		}
		out = append(out, place{url: u.String(), format: t.format(), after: s.after})
		if s.processes {
			out[len(out)-1].format = processes
		}
	}
	return out
}

// format is what the page of the target is written in.
func (t *Target) format() format {
	switch {
	case t.Config.Kind == mapping.Ollama:
		return processes
	case t.Config.TRTLLMJSON:
		return iterations
	default:
		return exposed
	}
}
