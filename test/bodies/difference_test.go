package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func jsonRequest(body string) request {
	return request{"/v1/x", http.Header{"Content-Type": {"application/json"}, "Content-Length": {"9"}}, []byte(body)}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	form := func(boundary, name, value string) request {
		body := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n--" + boundary + "--\r\n"
		return request{"/v1/x", http.Header{"Content-Type": {"multipart/form-data; boundary=" + boundary}}, []byte(body)}
	}
	withHeader := func(name, value string) request {
		r := jsonRequest(`{}`)
		r.header.Set(name, value)
		return r
	}
	tests := []struct {
		name         string
		theirs, ours request
		want         []difference
	}{
		{"order and white space mean nothing", jsonRequest(`{"a":1,"b":[true,null]}`), jsonRequest(`{"b": [true, null], "a": 1}`), nil},
		{"another value", jsonRequest(`{"a":{"b":1}}`), jsonRequest(`{"a":{"b":1.0}}`), []difference{{field: "body a.b", theirs: "1", ours: "1.0"}}},
		{"a field that one has not", jsonRequest(`{"a":[{"b":"x"}]}`), jsonRequest(`{"a":[{}]}`), []difference{
			{field: "body a[0]", ours: "{}"}, {field: "body a[0].b", theirs: `"x"`},
		}},
		{"a text and a list of it", jsonRequest(`{"a":"x"}`), jsonRequest(`{"a":["x"]}`), []difference{
			{field: "body a", theirs: `"x"`}, {field: "body a[0]", ours: `"x"`},
		}},
		{"boundaries of forms", form("one", "n", "1"), form("another", "n", "1"), nil},
		{"fields of forms", form("one", "n", "1"), form("another", "n", "2"), []difference{{field: "form n", theirs: "1", ours: "2"}}},
		{
			"identifiers", withHeader("X-Request-Id", "97a1f5e2-3c5b-4a51-9b2f-9d3f1a3d8c01"),
			withHeader("X-Request-Id", "00a1f5e2-3c5b-4a51-9b2f-9d3f1a3d8c02"), nil,
		},
		{"a header", withHeader("Accept", "a"), withHeader("Accept", "b"), []difference{{field: "header Accept", theirs: "a", ours: "b"}}},
		{"no JSON", jsonRequest(`x`), jsonRequest(`{}`), []difference{{field: "body", theirs: "x"}, {field: "body ", ours: "{}"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := differences("no such case", []request{tt.theirs}, []request{tt.ours})
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(difference{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNotExplainedIsCounted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	theirs, ours := jsonRequest(`{"a":1,"b":1}`), jsonRequest(`{"a":2}`)
	theirs.header.Set("User-Agent", "theirs")
	if got := write(&out, []result{{"no such case", 1, differences("no such case", []request{theirs}, []request{ours})}}); got != 2 {
		t.Errorf("%d differences without a reason, want 2:\n%s", got, &out)
	}
}

func TestReasonsThatNobodyNeedsAreFound(t *testing.T) {
	t.Parallel()
	if got := unneeded(nil); len(got) != len(reasons) {
		t.Errorf("%d reasons are not needed where there is no difference, want all %d", len(got), len(reasons))
	}
	agent := []result{{"x", 1, []difference{{field: "header User-Agent"}}}}
	if got := unneeded(agent); len(got) != len(reasons)-1 {
		t.Errorf("%d reasons are not needed, want all %d but one", len(got), len(reasons))
	}
}

func TestEachPathOfTheProtocolsHasItsAnswer(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/chat/completions": `"chat.completion"`, "/v1/completions": `"text_completion"`, "/v2/rerank": `"results"`, "/rerank": `"score"`,
		"/v1/images/generations": `"b64_json"`,
	} {
		if got := answerTo(path, false); !strings.Contains(got.body, want) {
			t.Errorf("%s is answered with %s", path, got.body)
		}
	}
	if got := answerTo("/generate_stream", true); got.mediaType != "text/event-stream" {
		t.Errorf("a stream has the type %s", got.mediaType)
	}
}
