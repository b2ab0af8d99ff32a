package exposition

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// maxLabelBytes bounds the value of a label.
const maxLabelBytes = 200

// Clip bounds the value of a label: what is too long is cut and gets a tail that tells it from others that begin like it.
func Clip(v string) string {
	if len(v) <= maxLabelBytes && utf8.ValidString(v) {
		return v
	}
	if valid := strings.ToValidUTF8(v, "\uFFFD"); len(valid) <= maxLabelBytes {
		return valid
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(v))
	tail := fmt.Sprintf("~%08x", h.Sum32())
	head := strings.ToValidUTF8(v, "\uFFFD")[:maxLabelBytes-len(tail)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + tail
}
