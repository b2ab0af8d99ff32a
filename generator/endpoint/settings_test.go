package endpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsBelongToTheirTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  Config
		want []string
	}{
		{"each type takes its own", Config{Type: TritonGenerate, Cumulative: CumulativeAlways}, nil},
		{"so does another name of a type", Config{Type: Generate, Cumulative: CumulativeNever}, nil},
		{"tensors of vLLM", Config{Type: KServe, Tensors: TensorsVLLM}, nil},
		{"a template and a field", Config{Type: Template, Template: `{"a": {{toJson .text}}}`, ResponseField: "a[0].b || c"}, nil},
		{"a template by its name", Config{Type: Template, Template: "nv-embedqa"}, nil},
		{"a field of a raw answer", Config{Type: Raw, ResponseField: "a"}, nil},
		{
			"other types do not",
			Config{Type: Embeddings, Cumulative: CumulativeAuto, Tensors: TensorsVLLM, Template: "{}", ResponseField: "a"},
			[]string{
				"endpoint.cumulative: is only for endpoint type triton_generate and generate",
				"endpoint.tensors: is only for endpoint type kserve",
				"endpoint.template: is only for endpoint type template",
				"endpoint.response_field: is only for endpoint type raw and template",
			},
		},
		{
			"a word that is none of them",
			Config{Type: TritonGenerate, Cumulative: "true"},
			[]string{`endpoint.cumulative: must be one of auto, always, never, got "true"`},
		},
		{
			"tensors of nobody",
			Config{Type: KServe, Tensors: "tgi"},
			[]string{`endpoint.tensors: must be one of trtllm, vllm, got "tgi"`},
		},
		{
			"a template type needs a template",
			Config{Type: Template},
			[]string{"endpoint.template: is required, it makes the bodies of the requests"},
		},
		{
			"a template that cannot be read",
			Config{Type: Template, Template: "{{.text"},
			[]string{"endpoint.template: template: body:1: unclosed action"},
		},
		{
			"a field that is no JMESPath",
			Config{Type: Raw, ResponseField: "a["},
			[]string{"endpoint.response_field: is not a JMESPath: syntax error at character 3"},
		},
		{
			"a character at which the library panics",
			Config{Type: Raw, ResponseField: "a\u0080"},
			[]string{"endpoint.response_field: must not have control characters"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.MaxTokensField = FieldAuto
			var got []string
			for _, err := range c.cfg.Validate("endpoint") {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
