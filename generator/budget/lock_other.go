//go:build !unix

package budget

import "os"

// lockFile only opens the file: there is no lock here that ends with the process.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }
