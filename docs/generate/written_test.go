//go:build !k8s_sd

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pages are written by the build without Kubernetes, whose mechanisms have keys of their own.
func TestPagesAreWhatTheSourceSays(t *testing.T) {
	t.Parallel()
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := page()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("..", name)
			if name == "schema.json" {
				file = filepath.Join(root, "config", name)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("run make gen (-want +got):\n%s", diff)
			}
		})
	}
}
