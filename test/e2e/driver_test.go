//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// A driver that was not there when the exporter started, GPUs that are divided or come back: they are looked for once a minute.
func TestDriversThatChangeAreSeenWithoutARestart(t *testing.T) {
	t.Parallel()
	library := driver(t)
	tests := []*struct {
		name, before, after string // what the driver says
		state               string // before
		devices             [2]float64

		words, path string
		running     exporter
	}{
		{name: "a GPU is divided", after: "mig=1", state: "ok", devices: [2]float64{2, 4}},
		{name: "it is whole again", before: "mig=1", state: "ok", devices: [2]float64{4, 2}},
		{name: "the kernel gets a driver", before: "init=9", state: "driver_not_loaded", devices: [2]float64{0, 2}},
		{name: "the library is installed", state: "library_not_found", devices: [2]float64{0, 2}},
		{name: "a lost GPU comes back", before: "lost=1", state: "ok", devices: [2]float64{1, 2}},
	}
	for _, test := range tests {
		test.words, test.path = file(t, "words", test.before), library
		if test.state == "library_not_found" {
			test.path = filepath.Join(t.TempDir(), filepath.Base(library))
		}
		test.running = serveIn(t, []string{"NVMLSTUB_FILE=" + test.words}, fmt.Sprintf(graphics, "nvml", test.path))
	}
	for _, test := range tests {
		inState(t, test.running, "nvml", test.state, test.devices[0])
	}
	content, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		if test.path != library {
			err = errors.Join(err, os.WriteFile(test.path, content, 0o700))
		}
		err = errors.Join(err, os.WriteFile(test.words, []byte(test.after), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		eventually(t, 2*patience, func() error {
			f := test.running.scrape(t)
			state, err := stateOf(f, "nvml")
			devices, up := f.Sum("aiperf_gpu_devices", scrape.Labels{"source": "nvml"}), f.Sum("aiperf_gpu_up", nil)
			if err == nil && (state != "ok" || devices != test.devices[1] || up != devices) {
				err = fmt.Errorf("%s: state %s, %v devices, %v up, want %v", test.name, state, devices, up, test.devices[1])
			}
			return err
		})
		endsWell(t, test.running)
	}
}
