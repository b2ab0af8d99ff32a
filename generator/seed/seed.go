// Package seed derives independent random seeds from the one seed of a target, so that arrivals, lengths and texts can each be reproduced
// without one disturbing the others.
package seed

import (
	"crypto/sha256"
	"strconv"
)

// Derive is the SHA-256 of "<root>:<identifier>:<target>". The identifier names what the seed is for ("load.poisson") and has no colon, so
// that different triples never read the same.
func Derive(root uint64, identifier, target string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.FormatUint(root, 10) + ":" + identifier + ":" + target))
}
