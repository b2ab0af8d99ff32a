package probe

import (
	"fmt"
	"net/http"
)

// Reason says why a probe was refused.
type Reason string

// The reasons.
const (
	ReasonBadQuery       Reason = "bad_query"       // the query cannot be read, or has keys that nobody knows
	ReasonMissingTarget  Reason = "missing_target"  // there is no target
	ReasonUnknownTarget  Reason = "unknown_target"  // the target is neither configured nor a URL
	ReasonMissingModule  Reason = "missing_module"  // the target is a URL, and there is no module
	ReasonUnknownModule  Reason = "unknown_module"  // there is no module of that name
	ReasonBadTarget      Reason = "bad_target"      // the URL is one that nobody needs and attackers like
	ReasonScrapeTimeout  Reason = "scrape_timeout"  // the scraper waits less than a second
	ReasonDebugDisabled  Reason = "debug_disabled"  // debug=true without --web.enable-admin-api
	ReasonNotAllowed     Reason = "not_allowed"     // no entry of allowed_targets is for the URL
	ReasonAddressRefused Reason = "address_refused" // the name stands for addresses to which no entry of allowed_targets leads
	ReasonConcurrency    Reason = "concurrency"     // as many probes run as may
	ReasonGlobalLimit    Reason = "global_limit"    // global.max_in_flight or global.max_rate
	ReasonBudget         Reason = "budget"          // what may be spent is spent
	ReasonInternal       Reason = "internal"        // the request could not be made, by a fault of this program or of a file that it needs
)

// reasons is the closed list, with the status that an answer has.
var reasons = []struct {
	reason Reason
	status int
}{
	{ReasonBadQuery, http.StatusBadRequest},
	{ReasonMissingTarget, http.StatusBadRequest},
	{ReasonUnknownTarget, http.StatusBadRequest},
	{ReasonMissingModule, http.StatusBadRequest},
	{ReasonUnknownModule, http.StatusBadRequest},
	{ReasonBadTarget, http.StatusBadRequest},
	{ReasonScrapeTimeout, http.StatusBadRequest},
	{ReasonDebugDisabled, http.StatusForbidden},
	{ReasonNotAllowed, http.StatusForbidden},
	{ReasonAddressRefused, http.StatusForbidden},
	{ReasonConcurrency, http.StatusTooManyRequests},
	{ReasonGlobalLimit, http.StatusTooManyRequests},
	{ReasonBudget, http.StatusTooManyRequests},
	{ReasonInternal, http.StatusInternalServerError},
}

// Rejection is why nothing was sent. Its words quote nothing of the request.
type Rejection struct { //nolint:errname // a refusal is what the caller asked for, not a failure
	Reason Reason
	Detail string
}

func reject(reason Reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (r *Rejection) Error() string { return string(r.Reason) + ": " + r.Detail }

// Status is the one of HTTP to answer with.
func (r *Rejection) Status() int {
	for _, known := range reasons {
		if known.reason == r.Reason {
			return known.status
		}
	}
	return http.StatusInternalServerError
}
