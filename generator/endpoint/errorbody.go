package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxMessageBytes = 4 << 10
	maxWordBytes    = 256 // type, code, param
)

// DecodeError reads what a server says about a failure: the body of an answer that is not 2xx, or an event that tells an error. It
// knows the forms of OpenAI, vLLM, SGLang, llama.cpp and TensorRT-LLM (error object, or the object is the error), Anthropic, TGI and
// TEI (error_type), Triton (a bare string), FastAPI and NIM (detail), failed responses, and takes the title of a gateway's HTML page.
// Anything else is its own message. The result is never nil.
func DecodeError(body []byte) *ServerError {
	body = bytes.TrimSpace(body)
	var e ServerError
	if root, ok := parseJSON(body); ok {
		if o, ok := root.(map[string]any); ok {
			e = words(o)
		} else {
			e.Message = say(root)
		}
	} else if len(body) > 0 && body[0] == '<' {
		e.Message = pageTitle(body)
	}
	if e.Message == "" {
		e.Message = string(body)
	}
	e.Message = abridged(strings.ToValidUTF8(e.Message, "\uFFFD"), maxMessageBytes)
	for _, word := range []*string{&e.Type, &e.Code, &e.Param} {
		*word = abridged(*word, maxWordBytes)
	}
	return &e
}

// parseJSON reads one JSON value; numbers stay as they stand.
func parseJSON(body []byte) (value any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return value, errors.Is(err, io.EOF)
}

// words reads the failure that an object tells. What the error object inside says goes before what stands around it.
func words(o map[string]any) ServerError {
	var e ServerError
	inner := o["error"]
	if object, ok := inner.(map[string]any); ok {
		e = words(object)
		inner = nil
	} else if response, ok := o["response"].(map[string]any); ok {
		e = words(response)
	}
	fill(&e.Message, o["message"])
	fill(&e.Message, o["detail"])
	if word, ok := inner.(string); ok && e.Message != "" {
		fill(&e.Type, word) // {"error": "Not Found", "message": …} of gateways
	}
	fill(&e.Message, inner)
	fill(&e.Type, o["error_type"])
	fill(&e.Type, o["type"])
	fill(&e.Code, o["code"])
	fill(&e.Param, o["param"])
	return e
}

// fill sets word to what v says, unless it is set already.
func fill(word *string, v any) {
	if *word == "" {
		*word = say(v)
	}
}

// say puts a JSON value into words.
func say(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		said := make([]string, len(v))
		for i := range v {
			said[i] = say(v[i])
		}
		return strings.Join(said, "; ")
	case map[string]any:
		if msg, ok := v["msg"].(string); ok {
			return location(v["loc"]) + msg
		}
		return words(v).Message
	}
	return "" // true and false say nothing
}

// location writes where FastAPI found a fault, ["body", "stream_options"], as "body.stream_options: ".
func location(loc any) string {
	steps, _ := loc.([]any)
	if len(steps) == 0 {
		return ""
	}
	said := make([]string, len(steps))
	for i := range steps {
		said[i] = say(steps[i])
	}
	return strings.Join(said, ".") + ": "
}

var titleTag = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// pageTitle returns the title of an HTML page, "" if it has none.
func pageTitle(page []byte) string {
	found := titleTag.FindSubmatch(page)
	if found == nil {
		return ""
	}
	return strings.Join(strings.Fields(html.UnescapeString(string(found[1]))), " ")
}

// abridged shortens s like cut, and marks it: whoever removes secrets looks for the beginning of one before the mark.
func abridged(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	return cut(s, n-len(mark)) + mark
}

// cut shortens s to at most n bytes, at a character's boundary. A shortened copy does not keep the long original alive.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
