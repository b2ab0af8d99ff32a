package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	texttemplate "text/template"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// Template sends bodies that a template of the author makes.
const Template Type = "template"

// namedTemplates are those that can be given by their name.
var namedTemplates = map[string]string{
	"nv-embedqa": `{"text": {{toJson .texts}}}`, // NVIDIA's older embedding models
}

type template struct {
	jsonBody
	loose

	path string
	made *texttemplate.Template
}

// newTemplate makes the codec of a validated configuration.
func newTemplate(cfg *Config) Codec {
	t := &template{jsonBody{extra: cfg.Extra}, newLoose(cfg, true), cfg.pathOr("/"), nil}
	t.made, _ = parseTemplate(cfg.Template)
	if strings.Contains(cfg.Template, ".max_tokens") {
		t.limits = []string{string(FieldMaxTokens)}
	}
	return t
}

// parseTemplate reads a template, or takes the one of this name.
func parseTemplate(source string) (*texttemplate.Template, error) {
	if named, ok := namedTemplates[source]; ok {
		source = named
	}
	return texttemplate.New("body").Option("missingkey=error").Funcs(texttemplate.FuncMap{"toJson": toJSON}).Parse(source)
}

// toJSON writes a value as JSON, for templates.
func toJSON(v any) (string, error) {
	var out sink
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSuffix(out, []byte("\n"))), err
}

// Path implements Codec.
func (t *template) Path(string, bool) string { return t.path }

// Encode implements Codec.
func (t *template) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	if payload := recorded(turn); payload != nil {
		return append(dst, payload...), jsonType, nil
	}
	var out sink
	if err := t.made.Execute(&out, t.variables(turn)); err != nil {
		return dst, "", fmt.Errorf("render template: %w", err)
	}
	if !json.Valid(out) {
		return dst, "", errors.New("template does not render to JSON, write values as {{toJson .text}}")
	}
	if len(t.extra) == 0 && len(turn.Extra) == 0 {
		return append(dst, bytes.TrimSpace(out)...), jsonType, nil
	}
	b, err := members(out)
	if err != nil {
		return dst, "", err
	}
	t.merge(&b, turn)
	body, err := b.appendTo(dst)
	return body, jsonType, err
}

// members are the fields of a JSON object as they stand.
func members(object []byte) (body, error) {
	s := scanner{data: object}
	if !s.object() {
		return nil, errors.New("template renders to something else than an object, extra has no place in it")
	}
	b := body{}
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		name := string(s.name())
		b.set(name, json.RawMessage(s.raw()))
	}
	return b, s.end()
}

// variables are what a template can use.
func (t *template) variables(turn *Turn) map[string]any {
	p := turn.Prompt
	last := p.Last()
	queries := append(last.Named(prompt.Query), last.Named("queries")...)
	passages := append(last.Named(prompt.Passages), last.Named("passage")...)
	var limit any // null unless there is one
	if turn.MaxOutputTokens > 0 {
		limit = turn.MaxOutputTokens
	}
	v := map[string]any{
		"model": turn.Model, "max_tokens": limit, "stream": t.Streams(turn), "system": p.System,
		"query": first(queries), "queries": list(queries), "passage": first(passages), "passages": list(passages),
	}
	addContents(v, last)
	turns := make([]map[string]any, len(p.Messages))
	for i := range p.Messages {
		turns[i] = map[string]any{}
		addContents(turns[i], &p.Messages[i])
	}
	v["turns"] = turns
	return v
}

// addContents adds what a message consists of: its role, and by kind all parts, the first one, and those that have a name.
func addContents(v map[string]any, m *prompt.Message) {
	v["role"] = string(roleOf(m))
	for kind, name := range map[prompt.Kind]string{
		prompt.Text: "text", prompt.Image: "image", prompt.Audio: "audio", prompt.Video: "video",
	} {
		all, byName := []string{}, map[string][]string{}
		for _, p := range m.Of(kind) {
			content := p.Text
			if kind != prompt.Text {
				content = mediaURL(p)
			}
			all = append(all, content)
			if p.Name != "" {
				byName[p.Name] = append(byName[p.Name], content)
			}
		}
		v[name], v[name+"s"], v[name+"s_by_name"] = first(all), all, byName
	}
}

// first is the first of several texts, null if there is none.
func first(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	return texts[0]
}

// list is never null.
func list(texts []string) []string { return append([]string{}, texts...) }
