package main

import "strings"

// explanation is why a field may differ.
type explanation struct {
	cases string // beginning of the names of the cases; "" = all
	field string // as in difference; a * stands for anything
	why   string
}

// Reasons that several protocols have.
const (
	encodedAnew = "AIPerf encodes a picture of a local file anew, here the file is sent as it is"
	plainPart   = "a part without a type is plain text, and neither browsers nor curl give one"
)

// reasons are all that are accepted.
var reasons = []explanation{
	{"", "header User-Agent", "each says what it is"},
	{"", "header X-Aiperf-Exporter", "lets operators keep a canary's requests out of product metrics and bills"},
	{"", "header Accept-Encoding", "identity: what decompresses an answer holds events back, and so loses their instants"},
	{"", "header X-Session-Affinity", "a canary must not stick to one replica unless it is told to (affinity_headers)"},
	{"", "header Connection", "a connection for each request shows faults of DNS, load balancers and certificates (reuse: keepalive is there)"},
	{"responses", "body stream_options.include_usage", "such a stream ends with usage in any case, and the protocol does not know the field"},
	{"responses, conversations", "body input[1].content*", "an earlier answer needs its id and status if it comes in parts, as a string it does not"},
	{"huggingface_generate", "body parameters.details", "asks for the number of tokens, which AIPerf counts with a tokenizer of its own"},
	{"chat, images", "body messages[0].content[3].image_url.url", encodedAnew},
	{"responses, images", "body input[0].content[3].image_url", encodedAnew},
	{"messages, images", "body messages[0].content[3].source.data", encodedAnew},
	{"nim_embeddings", "body input[1]", encodedAnew},
	{"image_retrieval", "body input[1].url", encodedAnew},
	{"image_edit", "form image", encodedAnew},
	{"image_edit", "form * type", plainPart},
	{"audio_transcription", "form * type", plainPart},
}

// reason is why a field of a case differs; "" = nobody knows.
func reason(trial, field string) string {
	for i := range reasons {
		if reasons[i].holds(trial, field) {
			return reasons[i].why
		}
	}
	return ""
}

func (e *explanation) holds(trial, field string) bool {
	before, after, open := strings.Cut(e.field, "*")
	fits := field == e.field
	if open {
		fits = len(field) >= len(before)+len(after) && strings.HasPrefix(field, before) && strings.HasSuffix(field, after)
	}
	return fits && strings.HasPrefix(trial, e.cases)
}

// everywhere tells whether a field is one of those that differ in all cases.
func everywhere(field string) bool {
	for i := range reasons {
		if reasons[i].cases == "" && reasons[i].holds("", field) {
			return true
		}
	}
	return false
}

// unneeded are the reasons of differences that there are not.
func unneeded(all []result) []explanation {
	var out []explanation
	for i := range reasons {
		if !reasons[i].needed(all) {
			out = append(out, reasons[i])
		}
	}
	return out
}

func (e *explanation) needed(all []result) bool {
	for _, r := range all {
		for _, d := range r.differences {
			if e.holds(r.name, d.field) {
				return true
			}
		}
	}
	return false
}
