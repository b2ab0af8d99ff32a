package endpoint

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestErrorBodiesOfServersAndGateways(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body string
		want ServerError
	}{
		{
			"OpenAI", `{"error":{"message":"Unknown parameter","type":"invalid_request_error","param":"stream_options","code":"unknown_parameter"}}`,
			ServerError{Message: "Unknown parameter", Type: "invalid_request_error", Code: "unknown_parameter", Param: "stream_options"},
		},
		{
			"OpenAI without a code", `{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":null}}`,
			ServerError{Message: "slow down", Type: "rate_limit_error"},
		},
		{
			"vLLM", `{"error":{"message":"The model does not exist.","type":"NotFoundError","param":"model","code":404}}`,
			ServerError{Message: "The model does not exist.", Type: "NotFoundError", Code: "404", Param: "model"},
		},
		{
			"older vLLM, SGLang, TensorRT-LLM", `{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}`,
			ServerError{Message: "boom", Type: "BadRequestError", Code: "400"},
		},
		{
			"llama.cpp", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
			ServerError{Message: "Loading model", Type: "unavailable_error", Code: "503"},
		},
		{
			"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`,
			ServerError{Message: "Overloaded", Type: "overloaded_error"},
		},
		{
			"a failed response", `{"type":"response.failed","response":{"id":"resp_1","error":{"code":"server_error","message":"boom"}}}`,
			ServerError{Message: "boom", Type: "response.failed", Code: "server_error"},
		},
		{
			"an error beside a response", `{"type":"error","error":{"message":"boom"},"response":{"error":{"message":"other"}}}`,
			ServerError{Message: "boom", Type: "error"},
		},
		{
			"TGI and TEI", `{"error":"Model is overloaded","error_type":"overloaded"}`,
			ServerError{Message: "Model is overloaded", Type: "overloaded"},
		},
		{"TEI with a code", `{"message":"m","code":413,"type":"Validation"}`, ServerError{Message: "m", Type: "Validation", Code: "413"}},
		{"Triton", `{"error":"Request for unknown model"}`, ServerError{Message: "Request for unknown model"}},
		{"FastAPI", `{"detail":"Not Found"}`, ServerError{Message: "Not Found"}},
		{
			"FastAPI validation, without what it repeats of the request",
			`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":"secret"},` +
				`{"type":"missing","loc":["body","messages",0],"msg":"Field required"}]}`,
			ServerError{Message: "body.stream_options: Extra inputs are not permitted; body.messages.0: Field required"},
		},
		{"FastAPI with an object", `{"detail":{"message":"busy","code":7}}`, ServerError{Message: "busy"}},
		{
			"NIM", `{"type":"urn:nim:unknown-model","title":"Not Found","status":404,"detail":"unknown model"}`,
			ServerError{Message: "unknown model", Type: "urn:nim:unknown-model"},
		},
		{
			"Mistral, with the detail inside the message",
			`{"object":"error","message":{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`,
			ServerError{Message: "body.x: Extra inputs are not permitted", Type: "invalid_request_error"},
		},
		{
			"a gateway with a word and a sentence", `{"timestamp":1,"status":404,"error":"Not Found","message":"no route","path":"/v1"}`,
			ServerError{Message: "no route", Type: "Not Found"},
		},
		{"a gateway with a flag", `{"error":true,"message":"no route"}`, ServerError{Message: "no route"}},
		{"an error within an error", `{"error":{"error":{"message":"deep","code":1}}}`, ServerError{Message: "deep", Code: "1"}},
		{
			"an HTML page", "<html>\r\n<head><TITLE lang=en>502\n Bad&nbsp;Gateway</TITLE></head><body>secret</body></html>",
			ServerError{Message: "502 Bad Gateway"},
		},
		{"an HTML page without a title", "<p>busy</p>", ServerError{Message: "<p>busy</p>"}},
		{"plain text", " upstream connect error\n", ServerError{Message: "upstream connect error"}},
		{"a JSON string", `"busy"`, ServerError{Message: "busy"}},
		{"a JSON number", `503`, ServerError{Message: "503"}},
		{"an object without words", `{"ok": false}`, ServerError{Message: `{"ok": false}`}},
		{"JSON that was cut", `{"error":{"message":"boo`, ServerError{Message: `{"error":{"message":"boo`}},
		{"two values", `{"error":"a"} {"error":"b"}`, ServerError{Message: `{"error":"a"} {"error":"b"}`}},
		{"nothing", "", ServerError{}},
		{"bad UTF-8", "a\xffb", ServerError{Message: "a\uFFFDb"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(&c.want, DecodeError([]byte(c.body))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLongWordsAreCutAtACharacter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5000)
	got := DecodeError([]byte(`{"error":{"message":"` + long + `","type":"` + long + `","code":"` + long + `","param":"` + long + `"}}`))
	for _, c := range []struct {
		name, word string
		want       int
	}{{"message", got.Message, 4095}, {"type", got.Type, 255}, {"code", got.Code, 255}, {"param", got.Param, 255}} {
		if kept, marked := strings.CutSuffix(c.word, "…"); len(c.word) != c.want || !marked || !utf8.ValidString(kept) || !strings.HasPrefix(long, kept) {
			t.Errorf("%s has %d bytes, marked as cut: %v, want %d of whole characters with a mark", c.name, len(c.word), marked, c.want)
		}
	}
}
