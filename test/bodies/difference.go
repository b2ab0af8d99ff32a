package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// difference is a field of a request that is not the same in both programs.
type difference struct {
	field        string // "header Accept", "body messages[0].role", "form prompt", "path"
	theirs, ours string // "" = it is not there
	why          string // "" = nobody knows
}

// differences compares requests pair by pair. A field that differs in several pairs is named once.
func differences(trial string, theirs, ours []request) []difference {
	var out []difference
	known := map[string]bool{}
	for i := range theirs {
		a, b := theirs[i].fields(), ours[i].fields()
		all := maps.Clone(a)
		maps.Copy(all, b)
		for _, field := range slices.Sorted(maps.Keys(all)) {
			if a[field] == b[field] || known[field] {
				continue
			}
			known[field] = true
			out = append(out, difference{field, a[field], b[field], reason(trial, field)})
		}
	}
	return out
}

// fields are what a request consists of, by a name for each. What is another for each request is left out, or only said to be there.
func (r *request) fields() map[string]string {
	out := map[string]string{"path": r.path}
	for name, values := range r.header {
		if name != "Content-Length" {
			out["header "+name] = opaque(strings.Join(values, ", "))
		}
	}
	media, parameters, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" {
		out["header Content-Type"] = media
		r.formFields(parameters["boundary"], out)
		return out
	}
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		out["body"] = string(r.body)
		return out
	}
	flatten("body ", value, out)
	return out
}

// flatten adds the leaves of a JSON value.
func flatten(at string, value any, out map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			flatten(strings.TrimSuffix(at, ".")+separator(at)+name+".", member, out)
		}
		if len(value) == 0 {
			out[strings.TrimSuffix(at, ".")] = "{}"
		}
	case []any:
		for i, element := range value {
			flatten(fmt.Sprintf("%s[%d].", strings.TrimSuffix(at, "."), i), element, out)
		}
		if len(value) == 0 {
			out[strings.TrimSuffix(at, ".")] = "[]"
		}
	default:
		text, _ := json.Marshal(value) // it came out of JSON
		out[strings.TrimSuffix(at, ".")] = string(text)
	}
}

func separator(at string) string {
	if strings.HasSuffix(at, ".") {
		return "."
	}
	return ""
}

// formFields adds the parts of a form.
func (r *request) formFields(boundary string, out map[string]string) {
	reader := multipart.NewReader(bytes.NewReader(r.body), boundary)
	for {
		part, err := reader.NextRawPart()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				out["body"] = err.Error()
			}
			return
		}
		content, err := io.ReadAll(part)
		if err != nil {
			out["body"] = err.Error()
			return
		}
		name := "form " + part.FormName()
		out[name] += string(content)
		out[name+" type"] = part.Header.Get("Content-Type")
		if part.FileName() != "" {
			out[name+" file"] = part.FileName()
		}
	}
}

// identifier is what programs make up.
var identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}`)

func opaque(value string) string { return identifier.ReplaceAllString(value, "<id>") }

// write prints the results and counts the differences without a reason.
func write(out io.Writer, all []result) (unexplained int) {
	for _, r := range all {
		bodies := 0
		for _, d := range r.differences {
			if !strings.HasPrefix(d.field, "header ") {
				bodies++
			}
		}
		same := "identical bodies"
		if bodies > 0 {
			same = fmt.Sprintf("differences in bodies: %d", bodies)
		}
		fmt.Fprintf(out, "%-32s requests: %d, %s, in headers: %d\n", r.name, r.requests, same, len(r.differences)-bodies)
		for _, d := range r.differences {
			if everywhere(d.field) {
				continue
			}
			why := d.why
			if why == "" {
				why = "NO REASON IS KNOWN"
				unexplained++
			}
			fmt.Fprintf(out, "    %s: AIPerf %s, here %s: %s\n", d.field, shown(d.theirs), shown(d.ours), why)
		}
	}
	fmt.Fprintln(out, "in all of them:")
	for _, r := range reasons {
		if r.cases == "" {
			fmt.Fprintf(out, "    %s: %s\n", r.field, r.why)
		}
	}
	return unexplained
}

// shown is a value in few words.
func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	end := ""
	if len(value) > 60 {
		value, end = value[:60], "…"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return !strconv.IsPrint(r) }) {
		value = strconv.Quote(value)
	}
	return value + end
}
