package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

// maxTape bounds what is kept of the bodies of an exchange for the page, in bytes.
const maxTape = 64 << 10

// WritePage writes for people how the probe went: what was asked, when what happened, and the series. Neither prompt nor answer is there.
func (r *Result) WritePage(to io.Writer) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, "module %s, %s, model %s, %s\n", r.module, r.endpoint, r.model, r.url)
	fmt.Fprintf(&page, "%s after %v of %v", r.outcome(), r.duration.Round(time.Microsecond), r.timeout)
	if r.record.Class != "" {
		fmt.Fprintf(&page, ": %s, %s", r.record.Class, strconv.QuoteToGraphic(r.redact(r.record.Detail)))
	}
	page.WriteString("\n\n# timeline\n")
	for _, at := range r.timeline() {
		fmt.Fprintf(&page, "%12.3f ms  %s\n", float64(at.ns-r.record.Time.Start)/float64(time.Millisecond), at.what)
	}
	page.WriteString("\n# exchange\n" + cmp.Or(r.exchange, "nothing was sent\n") + "\n# series\n")
	families, err := r.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		if _, err = expfmt.MetricFamilyToText(&page, family); err != nil {
			return err
		}
	}
	_, err = to.Write(page.Bytes())
	return err
}

// moment is an instant of the probe.
type moment struct {
	ns   int64
	what string
}

// timeline are the moments that there were, in their order.
func (r *Result) timeline() []moment {
	t := &r.record.Time
	all := []moment{
		{t.Issue, "admitted"},
		{t.Start, "start"},
		{t.DNSStart, "look-up of the name begins"},
		{t.DNSDone, "name is looked up"},
		{t.ConnectStart, "connection begins"},
		{t.ConnectDone, "connected"},
		{t.TLSStart, "TLS handshake begins"},
		{t.TLSDone, "TLS handshake is done"},
		{t.Sent, "request is written"},
		{t.FirstByte, "first byte of the answer"},
		{t.Header, "header of the answer"},
		{t.FirstEvent, "first event"},
		{t.FirstOutput, "first token that is not reasoning"},
		{t.End, "end"},
	}
	if n := len(r.content); n > 0 {
		all = append(all, moment{r.content[0], "first token"}, moment{r.content[n-1], fmt.Sprintf("last of %d events with tokens", n)})
	}
	all = slices.DeleteFunc(all, func(m moment) bool { return m.ns == 0 })
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.ns, b.ns) })
	return all
}

// describe writes an exchange without what may be secret or is none of the reader's business: values of headers that are secret by their name, users
// and queries of URLs, and the texts in the bodies.
func describe(t *metrics.Tape) string {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s %s\n", t.Method, t.URL)
	writeHeader(&b, "> ", t.RequestHeader)
	fmt.Fprintf(&b, "> %s\n", outline(t.RequestBody))
	if t.Status == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "< %d\n", t.Status)
	writeHeader(&b, "< ", t.Header)
	fmt.Fprintf(&b, "< %d bytes in %d reads, %s\n", len(t.Body), len(t.Reads), t.End)
	return b.String()
}

func writeHeader(to *strings.Builder, mark string, header map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			fmt.Fprintf(to, "%s%s: %s\n", mark, name, strconv.QuoteToGraphic(secret.RedactHeader(name, value)))
		}
	}
}

// outline tells what a body has at its top, texts by their length only.
func outline(body []byte) string {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return fmt.Sprintf("%d bytes", len(body))
	}
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%q: %s", name, size(fields[name])))
	}
	return fmt.Sprintf("{%s} in %d bytes", strings.Join(parts, ", "), len(body))
}

func size(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("text of %d bytes", len(v))
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("map of %d", len(v))
	}
	return fmt.Sprint(v)
}
