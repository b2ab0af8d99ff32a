package endpoint

import "testing"

func TestContextOverflowIsTheServersWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"OpenAI, by code", 400, `{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}`, true},
		{"OpenAI, without a code", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}}`, true},
		{"OpenAI, newer", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens."}}`, true},
		{"OpenAI, another", 400, `{"error":{"message":"Your input exceeds the context window of this model."}}`, true},
		{"Groq", 413, `{"error":{"message":"Please reduce the length of the messages or completion."}}`, true},
		{
			"vLLM", 400,
			`{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 tokens and your request has 4000 input tokens."}}`,
			true,
		},
		{
			"vLLM, newer", 400,
			`{"error":{"message":"You passed 4097 input tokens and requested 16 output tokens. However, the model's context length is only 4096 tokens.","param":"input_tokens"}}`,
			true,
		},
		{"vLLM, engine", 400, `{"error":{"message":"The decoder prompt (length 8357) is longer than the maximum model length of 8192."}}`, true},
		{"SGLang, input", 400, `{"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens)."}`, true},
		{"SGLang, total", 400, `{"object":"error","message":"Requested token count exceeds the model's maximum context length of 4096 tokens."}`, true},
		{"SGLang, scheduler", 400, `{"object":"error","message":"Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens)."}`, true},
		{
			"TGI", 422,
			"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000\",\"error_type\":\"validation\"}", true,
		},
		{"TEI", 413, "{\"error\":\"`inputs` must have less than 512 tokens. Given: 600\",\"error_type\":\"Validation\"}", true},
		{"llama.cpp, by type", 400, `{"error":{"code":400,"message":"m","type":"exceed_context_size_error","n_ctx":4096}}`, true},
		{"llama.cpp, older", 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing it"}}`, true},
		{"TensorRT-LLM", 400, `{"object":"error","message":"The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)"}`, true},
		{"TensorRT-LLM, rest", 400, "{\"object\":\"error\",\"message\":\"`default_max_tokens` (-152) must be greater than 0\"}", true},
		{"TensorRT-LLM, ids", 400, "{\"object\":\"error\",\"message\":\"`prompt_token_ids` length (9) is greater than `max_seq_len` (8)\"}", true},
		{"TensorRT-LLM, C++", 400, `{"error":"Prompt length (200) exceeds maximum input length (100)"}`, true},
		{"TensorRT-LLM, C++, older", 400, `{"error":"Prompt length (200) exceeds maximum sequence length (100)"}`, true},
		{"Anthropic, input", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, true},
		{
			"Anthropic, total", 400,
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 1 + 2 > 2\"}}",
			true,
		},
		{"Anthropic, through Bedrock", 400, `{"message":"Input is too long for requested model."}`, true},
		{"Gemini", 400, `{"error":{"code":400,"message":"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, true},
		{"Cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."}`, true},
		{"OpenAI, responses", 400, `{"error":{"message":"m","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, true},
		{"a body that is too large is not one", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, false},
		{"a limit that is too large is not one", 400, `{"error":{"message":"max_tokens is too large: 9. This model supports at most 8 completion tokens."}}`, false},
		{"another status is not one", 500, `{"error":{"message":"maximum context length","code":"context_length_exceeded"}}`, false},
		{"rate limits are not one", 429, `{"error":{"message":"Please reduce the length of the messages"}}`, false},
		{"any other refusal is not one", 400, `{"error":{"message":"messages: field required"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := DecodeError([]byte(c.body))
			if got := ContextOverflow(c.status, e); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if c.want && RefusesField(c.status, e, "max_tokens") {
				t.Error("is taken as the refusal of a field, too")
			}
		})
	}
	if ContextOverflow(400, nil) {
		t.Error("no words are an overflow")
	}
}

func TestRefusedFieldIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"in the message", 400, `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`, true},
		{"in quotes", 400, `{"error":"\"stream_options\" is not allowed"}`, true},
		{"with a member", 400, `{"error":{"message":"stream_options.include_usage: unknown field"}}`, true},
		{"as the parameter", 400, `{"error":{"message":"Unknown parameter.","param":"stream_options"}}`, true},
		{"by FastAPI", 422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, true},
		{
			"by pydantic in a message", 400,
			`{"error":{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'no', 'input': {'include_usage': True}}]"}}`, true,
		},
		{
			"not by a repeated request", 400,
			`{"error":{"message":"[{'type': 'missing', 'loc': ('body', 'model'), 'msg': 'no', 'input': {'stream_options': {}}}]"}}`, false,
		},
		{"not as a part of another word", 400, `{"error":{"message":"my_stream_options and stream_options2 are unknown"}}`, false},
		{"not with another status", 500, `{"error":{"message":"stream_options"}}`, false},
		{"not when another field is named", 400, `{"error":{"message":"max_tokens must be positive"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := RefusesField(c.status, DecodeError([]byte(c.body)), "stream_options"); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if RefusesField(400, nil, "stream_options") {
		t.Error("no words refuse a field")
	}
}
