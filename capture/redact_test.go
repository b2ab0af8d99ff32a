package capture

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
	"github.com/aiperf-exporter/aiperf-exporter/secret"
)

func TestACaptureHoldsNoSecretWhereverOneStood(t *testing.T) {
	t.Parallel()
	const planted = "planted-secret-value"
	redactor := &secret.Redactor{}
	redactor.Add(secret.Literal("key", planted))
	ring := New(enabled(), Deps{Clock: metrics.NewSystemClock(), Redactor: redactor, Version: "1.2.3"})
	r := request("r", metrics.ErrStream, 1e9, 0)
	r.Detail = "no such key " + planted
	half := len("data: planted-s")
	r.Tape = &metrics.Tape{
		Method: "POST", URL: "http://h/" + planted + "/v1",
		RequestHeader: map[string][]string{
			"Authorization": {"Bearer planted"}, "X-Api-Key": {"planted"}, "Cookie": {"a=planted"}, "X-Note": {"see " + planted}, "Accept": {"text/plain"},
		},
		RequestBody: []byte(`{"api_key":"planted\"x","password":"planted","prompt":"say \"token\":\"hello\"","n":"` + planted + `"}`),
		Status:      200,
		Header: map[string][]string{
			"Set-Cookie": {"planted=1", "b=planted"}, "Location": {"https://user:planted@h/p?key=planted"}, "X-Echo": {planted},
		},
		Body:  []byte("data: " + planted + " and\n\ndata: Basic cGxhbnRlZDpwbGFudGVk\n\n"),
		Reads: []metrics.TapeRead{{At: 4, End: half}, {At: 5, End: 40}, {At: 6, End: 66}},
		End:   metrics.EndReset,
	}
	before := len(r.Tape.Body)
	ring.finish("t", r)

	var file bytes.Buffer
	if found, err := ring.Write(&file, "r"); !found || err != nil {
		t.Fatal(found, err)
	}
	c, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{file.String(), string(c.RequestBody), string(c.Body), c.URL, c.Detail}
	for _, header := range []map[string][]string{c.RequestHeader, c.Header} {
		for _, values := range header {
			texts = append(texts, values...)
		}
	}
	for _, text := range texts {
		if strings.Contains(text, "planted") || strings.Contains(text, "cGxhbnRlZ") {
			t.Errorf("a secret is in %q", text)
		}
	}
	if want := `{"api_key":"**********","password":"*******","prompt":"say \"token\":\"hello\"","n":"********************"}`; string(c.RequestBody) != want {
		t.Errorf("request %s\nwant %s", c.RequestBody, want)
	}
	if want := "data: ******************** and\n\ndata: Basic ********************\n\n"; string(c.Body) != want {
		t.Errorf("body %q, want %q", c.Body, want)
	}
	if len(c.Body) != before || c.Reads[0].End != half || len(c.Reads) != 3 {
		t.Errorf("%d bytes in %v, want what they were", len(c.Body), c.Reads)
	}
	if got := c.RequestHeader["Authorization"]; len(got) != 1 || got[0] != secret.Mask || c.RequestHeader["Accept"][0] != "text/plain" {
		t.Errorf("headers %v", c.RequestHeader)
	}
}
