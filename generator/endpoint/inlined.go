package endpoint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// typeOfMedium is what the data of a part is; the data itself tells if nothing else does.
func typeOfMedium(p *prompt.Part) string {
	if p.MediaType != "" {
		return p.MediaType
	}
	found, _, _ := strings.Cut(http.DetectContentType(p.Data), ";")
	if found == "audio/wave" {
		return "audio/wav"
	}
	return found
}

// errElsewhere tells that a medium would have to be fetched.
var errElsewhere = errors.New("must be inline, this one is elsewhere")

// inlined gives the bytes and the type of a medium that the prompt holds, as such or in a data URI.
func inlined(p *prompt.Part) (data []byte, media string, err error) {
	if p.URL == "" {
		return p.Data, typeOfMedium(p), nil
	}
	rest, found := cutPrefixFold(p.URL, "data:")
	if !found {
		return nil, "", errElsewhere
	}
	head, body, found := strings.Cut(rest, ",")
	if !found {
		return nil, "", errors.New("data URI has no comma")
	}
	if head, found = strings.CutSuffix(head, ";base64"); found {
		data, err = base64.StdEncoding.DecodeString(body)
	} else {
		var plain string
		plain, err = url.PathUnescape(body)
		data = []byte(plain)
	}
	if err != nil {
		return nil, "", fmt.Errorf("data URI: %w", err)
	}
	media, _, _ = strings.Cut(head, ";")
	return data, typeOfMedium(&prompt.Part{MediaType: media, Data: data}), nil
}

// isElsewhere tells whether a medium is not in the prompt but behind a URL.
func isElsewhere(p *prompt.Part) bool {
	_, isData := cutPrefixFold(p.URL, "data:")
	return p.URL != "" && !isData
}

// cutPrefixFold is strings.CutPrefix for a prefix in any case, such as a scheme.
func cutPrefixFold(s, prefix string) (after string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
