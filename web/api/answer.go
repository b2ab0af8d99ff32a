package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// success and failure are the two envelopes of answers.
type success struct {
	Status string `json:"status"`
	Data   any    `json:"data"`
}

type failure struct {
	Status string `json:"status"`
	Type   string `json:"errorType"`
	Error  string `json:"error"`
}

// refusal is an error that is the asker's, or that passes: its text is for who asked.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

func badData(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &refusal{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// Refuse answers with an error in the envelope.
func Refuse(w http.ResponseWriter, code int, text string) {
	kind := "bad_data"
	switch {
	case code == http.StatusNotFound:
		kind = "not_found"
	case code == http.StatusServiceUnavailable:
		kind = "unavailable"
	case code >= http.StatusInternalServerError:
		kind = "internal"
	}
	write(w, code, failure{Status: "error", Type: kind, Error: text})
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(encode(body)) // a reader that has gone away is nobody's fault
}

// checkQuery refuses a query that nobody would understand as it was meant: keys that are not in the list, or that come twice.
func checkQuery(raw string, keys []string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return badData("query: %v", err)
	}
	for key, values := range query {
		switch {
		case !slices.Contains(keys, key):
			return badData("query: unknown key %q", key)
		case len(values) > 1:
			return badData("query: %s is given %d times", key, len(values))
		}
	}
	return nil
}

// Keys of the query of records.
const (
	limitKey   = "limit"
	outcomeKey = "outcome"
)

// selection says which records are asked for.
type selection struct {
	limit   int             // 0 = all
	outcome metrics.Outcome // "" = any
}

func parseSelection(query url.Values) (selection, error) {
	var s selection
	if query.Has(limitKey) {
		n, err := strconv.Atoi(query.Get(limitKey))
		if err != nil || n < 1 {
			return s, badData("limit: must be a number above 0, got %q", query.Get(limitKey))
		}
		s.limit = n
	}
	if query.Has(outcomeKey) {
		s.outcome = metrics.Outcome(query.Get(outcomeKey))
		if !slices.Contains(metrics.Outcomes, s.outcome) {
			return s, badData("outcome: must be one of %v, got %q", metrics.Outcomes, s.outcome)
		}
	}
	return s, nil
}
