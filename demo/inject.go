package demo

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// injectable are the faults that can be asked for over HTTP. They hit every request, unless a share is asked for.
var injectable = []Fault{
	{Kind: Slow, Factor: 8},
	{Kind: RateLimit, Probability: 1, RetryAfter: 5 * time.Second},
	{Kind: ServerError, Probability: 1},
	{Kind: CutStream, Probability: 1, AfterTokens: 8},
	{Kind: StreamError, Probability: 1, AfterTokens: 8},
	{Kind: Stall, Probability: 1, AfterTokens: 8},
	{Kind: HTML, Probability: 1},
	{Kind: Empty, Probability: 1},
}

const (
	usualInjection   = 30 * time.Second
	longestInjection = time.Hour
)

// injection is a fault that somebody asked for, until then.
type injection struct {
	fault Fault
	until time.Time
}

// injected is the fault that somebody has asked for and that is not over, nil if there is none.
func (m *model) injected() *Fault {
	if i := m.injection.Load(); i != nil && time.Now().Before(i.until) {
		return &i.fault
	}
	return nil
}

// inject is POST /faults?model=…&kind=…&for=30s&share=0.2: the model misbehaves from now on, for that share of its requests (without it, all of
// them), and recovers by itself. kind=none ends it.
func (s *Server) inject(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	refuse := func(format string, args ...any) {
		writeError(w, http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...))
	}
	m := s.model(query.Get("model"))
	if m == nil {
		refuse("the model %q does not exist", query.Get("model"))
		return
	}
	kind := query.Get("kind")
	if kind == "none" {
		m.injection.Store(nil)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	i := slices.IndexFunc(injectable, func(f Fault) bool { return string(f.Kind) == kind })
	if i < 0 {
		refuse("kind must be one of %s, none, got %q", strings.Join(kinds(), ", "), kind)
		return
	}
	lasts := usualInjection
	if text := query.Get("for"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil || lasts <= 0 || lasts > longestInjection {
			refuse("for must be a duration of at most %v, got %q", longestInjection, text)
			return
		}
	}
	fault := injectable[i]
	if text := query.Get("share"); text != "" {
		share, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || !(share > 0 && share <= 1):
			refuse("share must be above 0 and at most 1, got %q", text)
			return
		case fault.Kind == Slow:
			refuse("slow has no share: the engine is slow, hence all of its requests")
			return
		}
		fault.Probability = share
	}
	m.injection.Store(&injection{fault, time.Now().Add(lasts)})
	w.WriteHeader(http.StatusNoContent)
}

func kinds() []string {
	out := make([]string, len(injectable))
	for i := range injectable {
		out[i] = string(injectable[i].Kind)
	}
	return out
}
