package endpoint

import (
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
			[]string{`targets[0].endpoint.type: is required, use one of chat, completions`},
		},
		{
			"a type of a later version",
			Config{Type: "messages", MaxTokensField: FieldAuto},
			[]string{`targets[0].endpoint.type: endpoint type "messages" is not available in this version, use one of chat, completions`},
		},
		{
			"a type that nobody has",
			Config{Type: "chta", MaxTokensField: FieldAuto},
			[]string{`targets[0].endpoint.type: unknown endpoint type "chta", use one of chat, completions`},
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
			[]string{`targets[0].endpoint.max_tokens_field: the completions protocol only knows max_tokens`},
		},
		{
			"all mistakes at once",
			Config{Type: "x", Path: "y", MaxTokensField: "z"},
			[]string{
				`targets[0].endpoint.type: unknown endpoint type "x", use one of chat, completions`,
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
	} {
		c.cfg.MaxTokensField = FieldAuto
		if got := newCodec(t, c.cfg).Path("m", true); got != c.want {
			t.Errorf("%v: path is %q, want %q", c.cfg, got, c.want)
		}
	}
}
