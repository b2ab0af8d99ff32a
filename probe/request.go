package probe

import (
	"net/url"
)

// Request is what a scraper wants.
type Request struct {
	RawQuery string // target, module, debug
	// ScrapeTimeout is the value of the header X-Prometheus-Scrape-Timeout-Seconds, "" = there is none.
	ScrapeTimeout string
	// MayDebug: who asks may see how the probe went.
	MayDebug bool
}

// query is what stands in the URL.
type query struct {
	target, module string
	debug          bool
}

func parse(r *Request) (*query, *Rejection) {
	values, err := url.ParseQuery(r.RawQuery)
	if err != nil {
		return nil, reject(ReasonBadQuery, "the query cannot be read")
	}
	var q query
	var debug string
	known := map[string]*string{"target": &q.target, "module": &q.module, "debug": &debug}
	for key, given := range values {
		into, ok := known[key]
		switch {
		case !ok:
			return nil, reject(ReasonBadQuery, "the query may have target, module and debug, and nothing else")
		case len(given) != 1:
			return nil, reject(ReasonBadQuery, "%s is given more than once", key)
		}
		*into = given[0]
	}
	switch debug {
	case "", "false":
	case "true":
		q.debug = true
	default:
		return nil, reject(ReasonBadQuery, "debug must be true or false")
	}
	switch {
	case q.debug && !r.MayDebug:
		return nil, reject(ReasonDebugDisabled, "debug=true needs --web.enable-admin-api")
	case q.target == "":
		return nil, reject(ReasonMissingTarget, "the query must name a target")
	}
	return &q, nil
}
