package generator

import (
	"net/http"

	"github.com/google/uuid"
)

// newRequestID makes the value of X-Request-ID: a random UUID, so that a server's log lines can be found from an exemplar.
func newRequestID() string { return uuid.NewString() }

// header makes the headers of one request. The marker lets operators keep this traffic out of product metrics and bills; identity,
// because a decompressing reader would buffer events and lose their instants.
func (t *Target) header(requestID, contentType string, stream bool) http.Header {
	accept := "application/json"
	if stream {
		accept = "text/event-stream"
	}
	return http.Header{
		"User-Agent":        {t.deps.UserAgent},
		"X-Request-Id":      {requestID},
		"X-Aiperf-Exporter": {t.config.Name},
		"Accept":            {accept},
		"Accept-Encoding":   {"identity"},
		"Content-Type":      {contentType},
	}
}
