package probe

import (
	"math"
	"strconv"
	"time"
)

const (
	// minScrapeTimeout is what a scraper must wait at least: of less, nothing would be left for an answer of a model.
	minScrapeTimeout = time.Second
	// maxScrapeTimeout is the longest wait of a scraper that is believed.
	maxScrapeTimeout = time.Hour
	// longest is how long a probe may take that nothing else limits.
	longest = 5 * time.Minute
)

// deadline is how long a probe may take: own, which is the limit of what is asked and 0 if there is none, or what the scraper waits less offset,
// the time that the answer needs to get back to it, whichever is shorter.
func deadline(header string, own, offset time.Duration) (time.Duration, *Rejection) {
	if own <= 0 {
		own = longest
	}
	wait, told := scrapeTimeout(header)
	switch {
	case !told:
		return own, nil
	case wait < minScrapeTimeout:
		return 0, reject(ReasonScrapeTimeout, "the scraper waits %v, a probe needs at least %v", wait, minScrapeTimeout)
	case wait <= offset:
		return 0, reject(ReasonScrapeTimeout, "the scraper waits %v, of which probe.timeout_offset leaves nothing", wait)
	}
	return min(own, wait-offset), nil
}

// scrapeTimeout reads the header. What makes no sense is as good as none.
func scrapeTimeout(header string) (wait time.Duration, told bool) {
	seconds, err := strconv.ParseFloat(header, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > maxScrapeTimeout.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
