package status

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aiperf-exporter/aiperf-exporter/config"
	"github.com/aiperf-exporter/aiperf-exporter/discovery"
)

func TestOfThousandsThatAreDroppedAFewAreListedAndAllAreCounted(t *testing.T) {
	t.Parallel()
	d, err := discovery.New(discovery.Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Apply([]discovery.SetConfig{{Name: "fleet"}, {Name: "quiet"}}); err != nil {
		t.Fatal(err)
	}
	effect := Effect{Config: &config.Config{}}
	for i := range 5000 {
		effect.Dropped = append(effect.Dropped, discovery.Dropped{Set: "fleet", Name: fmt.Sprint(i), Reason: discovery.MaxTargets})
	}
	s := New(Deps{Discovery: d, Effect: func() Effect { return effect }})
	sets := s.Discovery()
	if got := sets[0]; len(got.Dropped) != maxDropped || got.DroppedCount != 5000 {
		t.Errorf("%d of %d are listed, want %d of 5000", len(got.Dropped), got.DroppedCount, maxDropped)
	}
	if got := sets[1]; len(got.Dropped) != 0 || got.DroppedCount != 0 {
		t.Errorf("of the other set %d of %d", len(got.Dropped), got.DroppedCount)
	}
}
