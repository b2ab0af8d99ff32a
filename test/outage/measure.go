package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/test/received"
	"github.com/aiperf-exporter/aiperf-exporter/test/scrape"
)

// sampleEvery is the time between two looks at memory.
const sampleEvery = 5 * time.Second

// prefix begins the names of the series that are compared, ownPrefix those of the exporter's own state, which never rests, serverPrefix those of
// the server, which had counted before it was looked at.
const (
	prefix       = "aiperf_"
	ownPrefix    = "aiperf_exporter_"
	serverPrefix = "aiperf_server_"
)

// measure runs the three phases and prints what they were like.
func measure(ctx context.Context, o *options, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	folder, err := os.MkdirTemp("", "aiperf-exporter-outage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	r, err := build(ctx, o, folder)
	if err != nil {
		return err
	}
	phases := []phase{{name: "there", lasts: o.before}, {name: "away", lasts: o.away}, {name: "back", lasts: o.after}}
	for i := range phases {
		switch phases[i].name {
		case "away":
			err = r.killCollector(ctx)
		case "back":
			err = r.startCollector(ctx)
		}
		if err == nil {
			err = phases[i].watch(ctx, r)
		}
		if err != nil {
			return fmt.Errorf("while the collector is %s: %w", phases[i].name, err)
		}
	}
	if err := table(stdout, phases, float64(o.targets)*o.rate); err != nil {
		return err
	}
	return r.compare(ctx, stdout)
}

// watch looks at the exporter and its twin until a phase is over.
func (p *phase) watch(ctx context.Context, r *rig) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for began := time.Now(); ; {
		for url, v := range map[string]*view{r.url: &p.told, r.twin: &p.twin} {
			f, err := scrape.Get(ctx, url+"/metrics")
			if err != nil {
				return err
			}
			*v = append(*v, sample{time.Now(), f})
		}
		if time.Since(began) >= p.lasts {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// compare holds all that the collector got against what is shown.
func (r *rig) compare(ctx context.Context, stdout io.Writer) error {
	if err := r.pause(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	held, err := received.Hold(ctx, r.page(), r.folder)
	if err != nil {
		return err
	}
	c := held.State.Compare(held.Before, held.After, received.Rules{
		LeftOut: func(family string) bool {
			return !strings.HasPrefix(family, prefix) || strings.HasPrefix(family, serverPrefix)
		},
		Restless: func(family string) bool { return strings.HasPrefix(family, ownPrefix) },
	})
	series := 0
	for _, n := range c.Compared {
		series += n
	}
	fmt.Fprintf(stdout, "%d series of %d requests: %d differ from a scrape, %d are torn\n",
		series, int(held.After.Sum("aiperf_requests_total", nil)), len(c.Wrong), len(held.State.Torn))
	if len(c.Wrong)+len(held.State.Torn) > 0 {
		return errors.Join(append(c.Wrong, held.State.Torn...)...)
	}
	return nil
}
