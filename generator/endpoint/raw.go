package endpoint

import "errors"

// Raw sends recorded bodies to the URL as it is.
const Raw Type = "raw"

type raw struct {
	jsonBody
	loose

	path string
}

// limitNames are the fields by which protocols limit the length of an answer.
var limitNames = []string{"max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens"}

// newRaw makes the codec. A path of "/" adds nothing to the URL.
func newRaw(cfg *Config) Codec {
	return &raw{jsonBody{limits: limitNames}, newLoose(cfg, false), cfg.pathOr("/")}
}

// Path implements Codec.
func (r *raw) Path(string, bool) string { return r.path }

// Streams implements Codec.
func (r *raw) Streams(turn *Turn) bool { return r.streamsByPath(turn) }

// Encode implements Codec.
func (r *raw) Encode(dst []byte, turn *Turn) ([]byte, string, error) {
	payload := recorded(turn)
	if payload == nil {
		return dst, "", errors.New("prompt has no recorded body, which the raw protocol sends")
	}
	return append(dst, payload...), jsonType, nil
}
