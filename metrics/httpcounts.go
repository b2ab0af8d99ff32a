package metrics

import "strconv"

// maxCodes bounds the values of the label code.
const maxCodes = 60

// IPFamily is the version of IP of a connection.
type IPFamily string

// The versions.
const (
	IPv4 IPFamily = "4"
	IPv6 IPFamily = "6"
)

// IPFamilies is the closed list.
var IPFamilies = []IPFamily{IPv4, IPv6}

// countTransport counts how a request travelled.
func (t *Target) countTransport(r *Record) {
	if r.Status != 0 {
		at := t.code(r.Status) // may move the values
		t.values[at]++
	}
	if r.ConnObtained {
		t.values[t.at.reused[r.ConnReused]]++
		t.values[t.at.connections[r.ConnReused]]++
		for family, at := range t.at.ipFamily {
			t.values[at] = boolValue(family == r.IPFamily)
		}
		t.values[t.at.requestBytes] += float64(r.RequestBytes)
	}
	t.values[t.at.responseBytes] += float64(r.ResponseBytes)
	t.values[t.at.keepAlives] += float64(r.KeepAlives)
	t.values[t.at.parseErrors] += float64(r.ParseErrors)
	t.values[t.at.fallbacks] += float64(r.StampFallbacks)
	if r.Unstreamed && r.Outcome == Success {
		t.values[t.at.unstreamed]++
	}
	if r.RetryAfter.Defined {
		t.values[t.at.retryAfter] = r.RetryAfter.V
	}
	if r.Status != 0 {
		t.values[t.at.stampSource["kernel"]] = boolValue(r.KernelStamps)
		t.values[t.at.stampSource["read"]] = boolValue(!r.KernelStamps)
	}
}

// code finds or makes the child of a status code; that of 0 stands for all that have no room any more.
func (b *board) code(status int) slot {
	if at, ok := b.codes[status]; ok {
		return at
	}
	if len(b.codes) >= maxCodes {
		status = 0
	}
	return b.addCode(status)
}

func (b *board) addCode(status int) slot {
	at, ok := b.codes[status]
	if !ok {
		word := "other"
		if status != 0 {
			word = strconv.Itoa(status)
		}
		at = b.add("aiperf_http_responses_total", Counter, word)
		b.codes[status] = at
	}
	return at
}
