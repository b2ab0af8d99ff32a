package endpoint

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateFindsEachMistake(t *testing.T) {
	t.Parallel()
	const endpointPath = "targets[0].endpoint"
	for _, c := range []struct {
		name string
		cfg  Config
		want []string
	}{
		{"chat is valid", Config{Type: Chat, MaxTokensField: FieldAuto}, nil},
		{"completions is valid", Config{Type: Completions, MaxTokensField: FieldMaxTokens, Path: "/api/generate"}, nil},
		{"chat may have either field", Config{Type: Chat, MaxTokensField: FieldMaxCompletionTokens, Path: "/"}, nil},
		{
			"a type is required", DefaultConfig(),
			[]string{`targets[0].endpoint.type: is required, use one of ` + typeNames()},
		},
		{
			"a type of a later version",
			Config{Type: "video_generation", MaxTokensField: FieldAuto},
			[]string{`targets[0].endpoint.type: endpoint type "video_generation" is not available in this version, use one of ` + typeNames()},
		},
		{
			"a type that nobody has",
			Config{Type: "chta", MaxTokensField: FieldAuto},
			[]string{`targets[0].endpoint.type: unknown endpoint type "chta", use one of ` + typeNames()},
		},
		{
			"a path without a slash",
			Config{Type: Chat, MaxTokensField: FieldAuto, Path: "v1/chat"},
			[]string{`targets[0].endpoint.path: must start with "/", got "v1/chat"`},
		},
		{
			"a path with a query",
			Config{Type: Chat, MaxTokensField: FieldAuto, Path: "/v1?x=1"},
			[]string{`targets[0].endpoint.path: must not have a query or a fragment, a query belongs to the target's url`},
		},
		{
			"a path with white space",
			Config{Type: Chat, MaxTokensField: FieldAuto, Path: "/v1/ chat"},
			[]string{`targets[0].endpoint.path: must not have white space or control characters, got "/v1/ chat"`},
		},
		{
			"a path with a bad escape",
			Config{Type: Chat, MaxTokensField: FieldAuto, Path: "/v1/%zz"},
			[]string{`targets[0].endpoint.path: invalid URL escape "%zz"`},
		},
		{
			"an unknown limit field",
			Config{Type: Chat, MaxTokensField: "max_len"},
			[]string{`targets[0].endpoint.max_tokens_field: must be one of auto, max_tokens, max_completion_tokens, got "max_len"`},
		},
		{
			"completions has only one limit field",
			Config{Type: Completions, MaxTokensField: FieldMaxCompletionTokens},
			[]string{`targets[0].endpoint.max_tokens_field: the completions protocol does not know max_completion_tokens, leave it at auto`},
		},
		{
			"messages have a limit field of their own",
			Config{Type: Messages, MaxTokensField: FieldMaxCompletionTokens},
			[]string{`targets[0].endpoint.max_tokens_field: the messages protocol does not know max_completion_tokens, leave it at auto`},
		},
		{
			"responses have no choice of a limit field",
			Config{Type: Responses, MaxTokensField: FieldMaxTokens},
			[]string{`targets[0].endpoint.max_tokens_field: the responses protocol does not know max_tokens, leave it at auto`},
		},
		{
			"chat has all abilities", Config{Type: Vision, MaxTokensField: FieldMaxTokens, ContinuousUsage: true, IgnoreEOS: true}, nil,
		},
		{
			"other protocols do not have them",
			Config{Type: Messages, MaxTokensField: FieldAuto, ContinuousUsage: true, IgnoreEOS: true},
			[]string{
				`targets[0].endpoint.continuous_usage: the messages protocol cannot ask for that`,
				`targets[0].endpoint.ignore_eos: the messages protocol cannot ask for that`,
			},
		},
		{
			"headers, parameters and fields",
			Config{
				Type: Chat, MaxTokensField: FieldAuto, Extra: map[string]any{"temperature": 0}, URLParams: map[string]string{"api-version": "2025-01-01"},
				Headers: map[string]string{"X-Team": "sre", "Authorization": "Basic x"}, KeyHeader: "api-key", SessionHeader: "X-Session",
				AffinityHeaders: []string{"X-Session-Affinity", "X-SMG-Routing-Key"},
			},
			nil,
		},
		{
			"headers that cannot be sent",
			Config{
				Type: Chat, MaxTokensField: FieldAuto, KeyHeader: "a b", SessionHeader: "accept", AffinityHeaders: []string{"X-A", ""},
				Headers: map[string]string{"X Team": "x", "Content-Type": "x", "X-Line": "a\nb", "x-team": "1", "X-Team": "2"},
			},
			[]string{
				`targets[0].endpoint.headers.Content-Type: cannot be set, it says how the request is sent`,
				`targets[0].endpoint.headers.X Team: is not the name of a header: "X Team"`,
				`targets[0].endpoint.headers.X-Line: must not have line feeds or other control characters`,
				`targets[0].endpoint.headers.x-team: is the same header as X-Team`,
				`targets[0].endpoint.key_header: is not the name of a header: "a b"`,
				`targets[0].endpoint.session_header: cannot be set, it says how the request is sent`,
				`targets[0].endpoint.affinity_headers[1]: is not the name of a header: ""`,
			},
		},
		{
			"fields and parameters that cannot be sent",
			Config{
				Type: Chat, MaxTokensField: FieldAuto, Extra: map[string]any{"x": math.NaN()}, URLParams: map[string]string{"": "x", "a": "\n"},
			},
			[]string{
				`targets[0].endpoint.url_params.: must have a name, and no control characters`,
				`targets[0].endpoint.url_params.a: must have a name, and no control characters`,
				`targets[0].endpoint.extra: cannot be sent as JSON: json: unsupported value: NaN`,
			},
		},
		{
			"all mistakes at once",
			Config{Type: "x", Path: "y", MaxTokensField: "z"},
			[]string{
				`targets[0].endpoint.type: unknown endpoint type "x", use one of ` + typeNames(),
				`targets[0].endpoint.path: must start with "/", got "y"`,
				`targets[0].endpoint.max_tokens_field: must be one of auto, max_tokens, max_completion_tokens, got "z"`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range c.cfg.Validate(endpointPath) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if _, err := New(c.cfg); (err != nil) != (c.want != nil) {
				t.Errorf("New returns error %v", err)
			}
		})
	}
}

func TestPlannedTypesAreNotRegistered(t *testing.T) {
	t.Parallel()
	for _, name := range planned {
		cfg := Config{Type: name, MaxTokensField: FieldAuto}
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "not available in this version") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestPathIsTheProtocolsUnlessConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Type: Chat}, "/v1/chat/completions"},
		{Config{Type: Completions}, "/v1/completions"},
		{Config{Type: Chat, Path: "/chat"}, "/chat"},
		{Config{Type: Completions, Path: "/"}, "/"},
		{Config{Type: Responses}, "/v1/responses"},
		{Config{Type: Messages}, "/v1/messages"},
		{Config{Type: Multimodal}, "/v1/chat/completions"},
		{Config{Type: Vision}, "/v1/chat/completions"},
	} {
		c.cfg.MaxTokensField = FieldAuto
		if got := newCodec(t, c.cfg).Path("m", true); got != c.want {
			t.Errorf("%v: path is %q, want %q", c.cfg, got, c.want)
		}
	}
}

func TestMessagesBringTheirOwnHeaders(t *testing.T) {
	t.Parallel()
	got := newCodec(t, Config{Type: Messages, MaxTokensField: FieldAuto}).Traits()
	want := Traits{KeyHeader: "X-Api-Key", Header: http.Header{"Anthropic-Version": {"2023-06-01"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
