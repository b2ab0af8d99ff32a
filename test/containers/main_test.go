//go:build containers

package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a test waits for something that takes a moment on an idle machine.
const patience = 2 * time.Minute

// root is the repository as seen from this folder.
const root = "../.."

// rig is what all tests share; none changes it.
var rig struct {
	store  *store
	images map[string]*image // by target of the Dockerfile
}

func TestMain(m *testing.M) {
	code, err := with(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func with(tests func() int) (code int, err error) {
	cache, err := filepath.Abs(filepath.Join(root, ".cache", "containers"))
	if err != nil {
		return 0, err
	}
	if _, err = os.Stat(filepath.Join(cache, "storage")); err != nil {
		return 0, fmt.Errorf("%w (run this by make containers)", err)
	}
	rig.store, rig.images = &store{folder: cache}, map[string]*image{}
	defer rig.store.clean()
	for _, target := range []string{"static", "nvml"} {
		start := time.Now()
		if rig.images[target], err = rig.store.build(target, ""); err != nil {
			return 0, err
		}
		fmt.Printf("%s: built in %v\n", target, time.Since(start).Round(time.Second))
	}
	return tests(), nil
}
