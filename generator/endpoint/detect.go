package endpoint

import "strings"

// finding is what an answer of an unknown protocol carries of what may have been asked for.
type finding struct {
	known           bool // there is a place for it, if only an empty one
	items           int  // vectors or documents
	text, reasoning string
	finish          string
}

// detect looks for what a JSON value carries, in the places in which most protocols have it: vectors first, then ranked documents, then
// text.
func detect(value any) finding {
	object, ok := value.(map[string]any)
	if !ok {
		return carried(value)
	}
	if n, ok := detectVectors(object); ok {
		return finding{known: true, items: n}
	}
	for _, name := range []string{"rankings", "results"} {
		if list, ok := object[name].([]any); ok {
			if n := objectsIn(list); n == len(list) {
				return finding{known: true, items: n}
			}
		}
	}
	return detectText(object)
}

// detectVectors finds vectors in the form of OpenAI and in plain ones.
func detectVectors(object map[string]any) (n int, ok bool) {
	list, _ := object["data"].([]any)
	for _, e := range list {
		o, _ := e.(map[string]any)
		if v, is := o["embedding"]; is {
			ok = true
			n += min(vectorsIn(v), 1)
		}
	}
	for _, name := range []string{"embeddings", "embedding"} {
		if _, isList := object[name].([]any); isList && !ok {
			n, ok = vectorsIn(object[name]), true
		}
	}
	return n, ok
}

// detectText finds text and reasoning, of the first choice if there are several.
func detectText(object map[string]any) finding {
	choices, _ := object["choices"].([]any)
	var choice map[string]any
	if len(choices) > 0 {
		choice, _ = choices[0].(map[string]any)
	}
	message, _ := choice["message"].(map[string]any)
	delta, _ := choice["delta"].(map[string]any)

	var f finding
	for _, place := range []any{
		object["text"], object["content"], object["response"], object["output"], object["result"], choice["text"], message["content"], delta["content"],
	} {
		text, ok := textIn(place)
		f.known = f.known || ok
		if f.text == "" {
			f.text = text
		}
	}
	for _, place := range []map[string]any{object, message, delta} {
		for _, name := range []string{"reasoning_content", "reasoning"} {
			text, _ := place[name].(string)
			f.known = f.known || text != ""
			if f.reasoning == "" {
				f.reasoning = text
			}
		}
	}
	f.finish, _ = choice["finish_reason"].(string)
	return f
}

// carried tells what a value is that somebody has pointed at, or that is the whole answer: text, vectors, or documents. Anything else is
// text as it stands.
func carried(value any) finding {
	if value == nil {
		return finding{}
	}
	f := finding{known: true}
	if text, ok := textIn(value); ok {
		f.text = text
		return f
	}
	list, ok := value.([]any)
	if !ok {
		f.text, _ = asText(value)
		return f
	}
	if f.items = vectorsIn(list); f.items == 0 {
		f.items = objectsIn(list)
	}
	return f
}

// textIn reads a string, or a list of them as one.
func textIn(value any) (text string, ok bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case []any:
		var joined strings.Builder
		for _, e := range value {
			piece, ok := e.(string)
			if !ok {
				return "", false
			}
			joined.WriteString(piece)
		}
		return joined.String(), len(value) > 0
	}
	return "", false
}

// vectorsIn counts the vectors that a value is, as scanner.vectors does.
func vectorsIn(value any) int {
	switch value := value.(type) {
	case string:
		if value != "" && len(value)%4 == 0 {
			return 1
		}
	case []any:
		numbers, nested := 0, 0
		for _, e := range value {
			if _, ok := e.(float64); ok {
				numbers++
				continue
			}
			n := vectorsIn(e)
			if n == 0 {
				return 0
			}
			nested += n
		}
		if numbers > 0 && nested > 0 {
			return 0
		}
		return min(numbers, 1) + nested
	}
	return 0
}

// objectsIn counts the objects in a list.
func objectsIn(list []any) int {
	n := 0
	for _, e := range list {
		if _, ok := e.(map[string]any); ok {
			n++
		}
	}
	return n
}
