package endpoint

import (
	"fmt"
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/generator/answer"
)

// KServe is the inference protocol of KServe, version 2, over HTTP.
const KServe Type = "kserve"

// Tensors says which inputs a model takes.
type Tensors string

// The choices of tensors.
const (
	TensorsTRTLLM Tensors = "trtllm" // the ensemble of TensorRT-LLM: one tensor for each parameter
	TensorsVLLM   Tensors = "vllm"   // Triton's vLLM backend: all parameters in one string
)

// kserveTop are the members of a request; whatever else authors add is a parameter of the model.
var kserveTop = []string{"id", "inputs", "outputs", "parameters"}

// defaultTRTLLMTokens is what the model is asked for where nobody sets a limit: its tensor is not optional.
const defaultTRTLLMTokens = 256

// kserve speaks POST /v2/models/MODEL/infer, which cannot stream.
type kserve struct {
	wholeCodec

	tensors   Tensors
	ignoreEOS bool
}

func newKServe(cfg *Config) Codec {
	k := &kserve{tensors: cfg.Tensors, ignoreEOS: cfg.IgnoreEOS}
	k.extra, k.limits = cfg.Extra, []string{string(FieldMaxTokens)}
	k.path = func(model string) string { return cfg.pathOr(modelPath(model) + "/infer") }
	k.read = readKServe
	return k
}

// OutputLimit implements Codec. Nothing is known of a recorded request, whose tensors may be anything.
func (k *kserve) OutputLimit(turn *Turn) int {
	if recorded(turn) != nil {
		return 0
	}
	if n := k.jsonBody.OutputLimit(turn); n > 0 || k.tensors == TensorsVLLM {
		return n
	}
	return defaultTRTLLMTokens
}

// Encode implements Codec.
func (k *kserve) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	text, err := askedText(turn.Prompt)
	if err != nil {
		return dst, "", err
	}
	top, parameters := k.split(turn)
	inputs := k.trtllmInputs
	if k.tensors == TensorsVLLM {
		inputs = k.vllmInputs
	}
	tensors, err := inputs(text, k.OutputLimit(turn), parameters)
	if err != nil {
		return dst, "", err
	}
	b := body{{"inputs", tensors}}
	b.merge(top)
	out, err := b.appendTo(dst)
	return out, jsonType, err
}

// split tells the members of the request from the model's parameters in what authors add.
func (k *kserve) split(turn *Turn) (top, parameters map[string]any) {
	top, parameters = map[string]any{}, map[string]any{}
	for _, extra := range []map[string]any{k.extra, turn.Extra} {
		for name, value := range extra {
			if slices.Contains(kserveTop, name) {
				top[name] = value
			} else {
				parameters[name] = value
			}
		}
	}
	return top, parameters
}

// trtllmInputs has one tensor for each parameter, with a dimension for the batch.
func (k *kserve) trtllmInputs(text string, limit int, parameters map[string]any) ([]tensor, error) {
	b := body{{"text_input", text}, {"max_tokens", limit}, {"stream", false}, {"exclude_input_in_output", true}}
	if k.ignoreEOS {
		b.set("min_length", limit)
	}
	b.merge(parameters)
	inputs := make([]tensor, len(b))
	for i, f := range b {
		var err error
		if inputs[i], err = newTensor(f.name, f.value); err != nil {
			return nil, err
		}
	}
	return inputs, nil
}

// vllmInputs puts the parameters into one string of JSON, whose values are strings again.
func (k *kserve) vllmInputs(text string, limit int, parameters map[string]any) ([]tensor, error) {
	sampling := body{}
	if limit > 0 {
		sampling.set("max_tokens", limit)
		if k.ignoreEOS {
			sampling.set("ignore_eos", true)
			sampling.set("min_tokens", limit)
		}
	}
	sampling.merge(parameters)
	for i := range sampling {
		word, err := asText(sampling[i].value)
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", sampling[i].name, err)
		}
		sampling[i].value = word
	}
	inner, err := sampling.appendTo(nil)
	if err != nil {
		return nil, err
	}
	one := []int{1}
	return []tensor{
		{"text_input", one, "BYTES", []any{text}},
		{"stream", one, "BOOL", []any{false}},
		{"exclude_input_in_output", one, "BOOL", []any{true}},
		{"sampling_parameters", one, "BYTES", []any{string(inner)}},
	}, nil
}

// asText writes a value as a text: a string as it is, anything else as JSON.
func asText(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	return toJSON(v)
}

// tensor is one input of a model.
type tensor struct {
	Name     string `json:"name"`
	Shape    []int  `json:"shape"`
	Datatype string `json:"datatype"`
	Data     []any  `json:"data"`
}

// datatypes are those of parameters that people write as other numbers than the model takes: 1 for a temperature of 1.0.
var datatypes = map[string]string{
	"temperature": "FP32", "top_p": "FP32", "min_p": "FP32", "top_p_min": "FP32", "top_p_decay": "FP32", "len_penalty": "FP32",
	"length_penalty": "FP32", "repetition_penalty": "FP32", "presence_penalty": "FP32", "frequency_penalty": "FP32",
	"beam_search_diversity_rate": "FP32", "random_seed": "UINT64", "seed": "UINT64",
}

// newTensor makes a tensor of a parameter: a value, or a list of values of one kind.
func newTensor(name string, value any) (tensor, error) {
	data, isList := value.([]any)
	if !isList {
		data = []any{value}
	}
	t := tensor{Name: name, Shape: []int{1, len(data)}, Data: data}
	for _, v := range data {
		kind := datatypeOf(name, v)
		if kind == "" || t.Datatype != "" && kind != t.Datatype {
			return t, fmt.Errorf("parameter %q: a tensor takes strings, numbers or booleans, of one kind", name)
		}
		t.Datatype = kind
	}
	if len(data) == 0 {
		return t, fmt.Errorf("parameter %q: a tensor must not be empty", name)
	}
	return t, nil
}

// datatypeOf is that of a parameter's value, "" if a tensor cannot hold it. Datasets do not tell 1 from 1.0, so a whole number is one.
func datatypeOf(name string, v any) string {
	switch v.(type) {
	case string:
		return "BYTES"
	case bool:
		return "BOOL"
	case int, int64, uint64, float64:
		if own, ok := datatypes[name]; ok {
			return own
		}
		if _, whole := wholeNumber(v); whole {
			return "INT32"
		}
		return "FP32"
	}
	return ""
}

// readKServe reads the text among the outputs of a model.
func readKServe(data []byte, keep *answer.Transcript, chunk *Chunk) error {
	r := newRoot(data)
	var out text
	known := false
	for ok := r.begin(); ok; ok = r.nextMember() {
		switch name := r.name(); string(name) {
		case "outputs":
			out, known = r.textOutput()
		default:
			r.common(name)
		}
	}
	c := Chunk{Text: !out.empty(), Terminal: true, Model: shortName(r.model)}
	if err := r.finish(c, known, "an object without an output text_output", chunk); err != nil {
		return err
	}
	if keep != nil {
		keep.Text = out.appendTo(keep.Text)
	}
	return nil
}

// textOutput finds the tensor text_output in a list of tensors.
func (s *scanner) textOutput() (out text, known bool) {
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		var name, first text
		found := false
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			switch string(s.name()) {
			case "name":
				name = s.text()
			case "data":
				first, found = s.firstText()
			default:
				s.skip()
			}
		}
		if found && string(name.bytes()) == "text_output" {
			out, known = first, true
		}
	}
	return out, known
}
