package seed_test

import (
	"encoding/hex"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/generator/seed"
)

func TestDerive(t *testing.T) {
	t.Parallel()
	// The value is that of: printf '7:load.poisson:llama-prod' | sha256sum
	const want = "57e651035d5da6e8ffc867cf8eed278bbfd0376b7f5fe68c6fea2874cc5be758"
	got := seed.Derive(7, "load.poisson", "llama-prod")
	if hex.EncodeToString(got[:]) != want {
		t.Errorf("Derive = %x, want %s", got, want)
	}
}

func TestDeriveTellsEveryPartApart(t *testing.T) {
	t.Parallel()
	base := seed.Derive(7, "load.poisson", "a")
	for name, other := range map[string][32]byte{
		"another root":                             seed.Derive(8, "load.poisson", "a"),
		"another identifier":                       seed.Derive(7, "load.gamma", "a"),
		"another target":                           seed.Derive(7, "load.poisson", "b"),
		"a target that continues with a colon":     seed.Derive(7, "load.poisson", "a:"),
		"a target that looks like the other parts": seed.Derive(7, "load.poisson", "load.poisson:a"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if other == base {
				t.Errorf("same seed %x", base)
			}
		})
	}
}
