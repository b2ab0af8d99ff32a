package main

import (
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/config"
)

func TestConfigurationsAreAccepted(t *testing.T) {
	t.Parallel()
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, requests := range []int{0, s.requests()} {
				file, err := configure(&job{scenario: s, requests: requests, host: "127.0.0.1:8000", folder: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := config.Load(config.Options{Files: []string{file}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
