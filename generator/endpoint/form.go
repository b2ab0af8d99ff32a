package endpoint

import (
	"fmt"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
)

// formFile is a file in a form.
type formFile struct {
	field, name, mediaType string
	data                   []byte
}

// mergeForm sets what authors add to a form, except for the fields that carry the prompt.
func (j *jsonBody) mergeForm(b *body, turn *Turn, reserved ...string) {
	for _, extra := range []map[string]any{j.extra, turn.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if !slices.Contains(reserved, name) {
				b.set(name, extra[name])
			}
		}
	}
}

// encodeForm appends fields and files as multipart/form-data. The files come last, so that a gateway knows the model before it has read a
// megabyte. A list becomes several fields of its name, null becomes none.
func encodeForm(dst []byte, fields body, files ...formFile) (form []byte, contentType string, err error) {
	out := sink(dst)
	w := multipart.NewWriter(&out)
	for _, f := range fields {
		values, isList := f.value.([]any)
		if !isList {
			values = []any{f.value}
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			word, err := asText(v)
			if err != nil {
				return dst, "", fmt.Errorf("encode field %q: %w", f.name, err)
			}
			_ = w.WriteField(f.name, word) // a sink takes everything
		}
	}
	for i := range files {
		f := &files[i]
		part, _ := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition(f.field, f.name)},
			"Content-Type":        {f.mediaType},
		})
		_, _ = part.Write(f.data)
	}
	_ = w.Close()
	return out, w.FormDataContentType(), nil
}
