package main

import (
	"net"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// fault is a way in which the targets of a group are ill.
type fault struct {
	name string
	// class is that of each request while it lasts; "" = they succeed, only later or in other pieces.
	class metrics.ErrorClass
	// edges are what a request that runs while it begins or ends may also become.
	edges []metrics.ErrorClass

	// How it is made, one of:
	toxic  *toxic              // by a proxy in front of the server
	anew   bool                // which is replaced in the end: toxiproxy hangs where it takes a delay back whose client has left
	down   bool                // by such a proxy that does not listen
	script func(c net.Conn)    // by a peer in place of the server
	url    func(r *rig) string // by another address in the configuration
}

// taken is an edge of toxics that swallow what passes: as they are taken away, the proxy may have swallowed an answer and not closed the connection yet.
var taken = []metrics.ErrorClass{metrics.ErrTimeoutFirstToken}

// faults are by the phase of a request that they strike.
var faults = []fault{
	{name: "no-such-name", class: metrics.ErrDNS, url: func(*rig) string { return "http://server.invalid:8000" }},
	{name: "nobody-listens", class: metrics.ErrConnect, url: func(r *rig) string { return "http://" + r.nobody }},
	{name: "proxy-goes-away", class: metrics.ErrConnect, edges: []metrics.ErrorClass{metrics.ErrTruncated}, down: true},
	{name: "full-backlog", class: metrics.ErrTimeoutConnect, url: func(r *rig) string { return "http://" + r.full }},
	{name: "tls-to-a-plain-port", class: metrics.ErrTLS, url: func(r *rig) string { return "https://" + r.server }},

	{name: "black-hole", class: metrics.ErrTimeoutFirstToken, script: swallow},
	{
		name: "lost-requests", class: metrics.ErrTimeoutFirstToken, edges: []metrics.ErrorClass{metrics.ErrTruncated},
		toxic: &toxic{Type: "timeout", Stream: "upstream", Attributes: map[string]int{"timeout": 0}},
	},
	{
		name: "late-answers", class: metrics.ErrTimeoutFirstToken, anew: true,
		edges: []metrics.ErrorClass{metrics.ErrTimeoutIdle, metrics.ErrTimeoutTotal, metrics.ErrTruncated, metrics.ErrConnect},
		toxic: &toxic{Type: "latency", Attributes: map[string]int{"latency": 20_000}},
	},
	{name: "only-keep-alives", class: metrics.ErrTimeoutFirstToken, script: keepAlive},
	{name: "closed-without-answer", class: metrics.ErrTruncated, toxic: &toxic{Type: "limit_data", Attributes: map[string]int{"bytes": 0}}},
	{name: "closed-after-a-silence", class: metrics.ErrTruncated, toxic: &toxic{Type: "timeout", Attributes: map[string]int{"timeout": 500}}},
	{name: "reset-by-the-answer", class: metrics.ErrTruncated, edges: taken, toxic: &toxic{Type: "reset_peer", Attributes: map[string]int{"timeout": 0}}},
	{
		name: "reset-by-the-request", class: metrics.ErrTruncated,
		toxic: &toxic{Type: "reset_peer", Stream: "upstream", Attributes: map[string]int{"timeout": 0}},
	},
	{name: "no-http", class: metrics.ErrParse, script: say("220 mail.example.com ESMTP ready\r\n")},
	{name: "redirect", class: metrics.ErrHTTP3xx, script: answer("307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/", "text/plain", "elsewhere")},
	{name: "not-found", class: metrics.ErrHTTP4xx, script: answer("404 Not Found", "application/json", `{"error":{"message":"no such model"}}`)},
	{name: "prompt-too-long", class: metrics.ErrContextOverflow, script: answer("400 Bad Request", "application/json",
		`{"error":{"message":"This model's maximum context length is 16 tokens.","code":"context_length_exceeded"}}`)},
	{name: "too-many", class: metrics.ErrHTTP429, script: answer("429 Too Many Requests", "application/json", `{"error":{"message":"slow down"}}`)},
	{name: "unavailable", class: metrics.ErrHTTP5xx, script: answer("503 Service Unavailable", "text/html", "<h1>no healthy upstream</h1>")},
	{name: "web-page", class: metrics.ErrParse, script: answer("200 OK", "text/html", "<!doctype html><h1>It works!</h1>")},

	{name: "silence-in-mid-stream", class: metrics.ErrTimeoutIdle, script: stream(token, swallow)},
	{name: "narrow-line", class: metrics.ErrTimeoutTotal, toxic: &toxic{Type: "bandwidth", Attributes: map[string]int{"rate": 1}}},
	{name: "cut-in-mid-stream", class: metrics.ErrTruncated, toxic: &toxic{Type: "limit_data", Attributes: map[string]int{"bytes": 2000}}},
	{name: "end-without-marker", class: metrics.ErrTruncated, script: stream(token+token, hangUp)},
	{name: "half-an-event", class: metrics.ErrParse, script: stream(token+"data: {\"choices\":[{\n\n", hangUp)},
	{name: "error-in-the-stream", class: metrics.ErrStream, script: stream(token+`data: {"error":{"message":"CUDA out of memory","code":500}}`+"\n\n", hangUp)},
	{name: "no-token", class: metrics.ErrEmpty, script: stream(role+last, hangUp)},
	{name: "huge-event", class: metrics.ErrResponseTooLarge, script: stream("data: ", flood)},
	{name: "endless-stream", class: metrics.ErrResponseTooLarge, script: stream(token, babble)},

	{name: "latency", toxic: &toxic{Type: "latency", Attributes: map[string]int{"latency": 300, "jitter": 50}}},
	{name: "slow-line", toxic: &toxic{Type: "bandwidth", Attributes: map[string]int{"rate": 30}}},
	{name: "bytes-in-slices", toxic: &toxic{Type: "slicer", Attributes: map[string]int{"average_size": 20, "size_variation": 10, "delay": 100}}},
	{name: "slow-close", toxic: &toxic{Type: "slow_close", Attributes: map[string]int{"delay": 1500}}},
}

// Groups that are never ill: they reach the server at once, and through a proxy that does nothing.
const (
	direct  = "direct"
	proxied = "proxied"
)

// healthyShare is the part of all targets that is never ill; a quarter of it goes through the proxy.
const healthyShare = .4

// member is a target.
type member struct {
	group string
	name  string
	ill   *fault // nil = never
	// strict: has the limits of those that may be ill, all the same.
	strict bool
}

// firsts are the first member of each group.
func firsts(fleet []member) []member {
	return slices.CompactFunc(slices.Clone(fleet), func(a, b member) bool { return a.group == b.group })
}

// fleet distributes targets over the groups. Each fault has as many as the others.
func fleet(targets int) []member {
	each := max(1, int((1-healthyShare)*float64(targets))/len(faults))
	var all []member
	add := func(group string, n int, ill *fault) {
		for range n {
			all = append(all, member{group: group, name: nameOf(group, len(all)), ill: ill})
		}
	}
	for i := range faults {
		add(faults[i].name, each, &faults[i])
	}
	healthy := max(2, targets-len(all))
	add(proxied, max(1, healthy/4), nil)
	add(direct, healthy-max(1, healthy/4), nil)
	return all
}
