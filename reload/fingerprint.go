package reload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// maxFileBytes bounds what is read of a file: more than a configuration may have.
const maxFileBytes = 8 << 20

// Fingerprint is equal for equal contents of files in their order. They are opened by name each time, so that links are followed anew: the files
// of a ConfigMap are links to a folder that is replaced as a whole. A file that cannot be read has the reason as its content.
func Fingerprint(files []string) string {
	all := sha256.New()
	for _, name := range files {
		one := sha256.New()
		err := hashFile(one, name)
		fmt.Fprintf(all, "%x %v\n", one.Sum(nil), err)
	}
	return hex.EncodeToString(all.Sum(nil))
}

func hashFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(w, io.LimitReader(f, maxFileBytes))
	return err
}
