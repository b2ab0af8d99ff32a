//go:build containers

package containers

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// emulator runs programs for the other processor; it is one static file.
const emulator = "qemu-aarch64-static"

// The images for the other processor are built as everybody builds them, without emulation, and their programs then run in an emulator.
func TestImagesForTheOtherProcessor(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("there is an emulator of arm64 only")
	}
	qemu, err := exec.LookPath(emulator)
	if err != nil {
		t.Fatalf("%v (run this by make containers)", err)
	}
	for target := range rig.images {
		i, err := rig.store.build(target, foreign)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(target, func(t *testing.T) {
			file, err := elf.Open(filepath.Join(i.files, program))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if i.Architecture != "arm64" || file.Machine != elf.EM_AARCH64 {
				t.Errorf("an image for %s has a program for %v", i.Architecture, file.Machine)
			}
			libraries, err := file.ImportedLibraries()
			if err != nil || (len(libraries) > 0) != (target == "nvml") {
				t.Errorf("the program wants %v, %v", libraries, err)
			}
			w := i.of("demo")
			w.args = append([]string{"/qemu"}, w.args...)
			w.mounts = append(w.mounts, bind(qemu, "/qemu", "ro"))
			c := start(t, w)
			inside := visitor(c.network(t))
			shows(t, inside, "http://127.0.0.1:9749/metrics", fmt.Sprintf(answered, "steady"))
			if out, code := c.exec(append([]string{"/qemu"}, i.Config.Healthcheck.Test[1:]...)...); code != 0 {
				t.Errorf("health check: exit code %d: %s", code, out)
			}
			if page, err := ask(t, inside, "http://127.0.0.1:9749/metrics"); err != nil || !strings.Contains(page, `goarch="arm64"`) {
				t.Errorf("the page of metrics does not tell of arm64: %v", err)
			}
		})
	}
}
