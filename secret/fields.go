package secret

import "bytes"

// maxFieldName is the longest name of a field that is looked at.
const maxFieldName = 64

// BlotFields writes over texts in the JSON of a request whose names say that they are secrets: what users pass on to the server may hold a
// credential that nobody declared as one. In a prompt quotes are escaped, so that it holds no fields.
func BlotFields(body []byte) {
	for at := 0; ; {
		next := bytes.Index(body[at:], []byte(`":"`)) // as this program writes it
		if next < 0 {
			return
		}
		end := at + next
		at = end + len(`":"`)
		begin := bytes.LastIndexByte(body[max(0, end-maxFieldName-1):end], '"')
		if begin < 0 {
			continue
		}
		name := body[max(0, end-maxFieldName-1)+begin+1 : end]
		if !SensitiveHeader(string(name)) {
			continue
		}
		for at < len(body) && body[at] != '"' {
			if body[at] == '\\' && at+1 < len(body) {
				body[at] = blot
				at++
			}
			body[at] = blot
			at++
		}
	}
}
