package status

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

// maxDropped is how many targets of a set are listed that could not be used: beyond max_targets there may be thousands. Of those that relabelling drops
// the set itself keeps a few.
const maxDropped = 100

// Discovery implements view.Daemon. What the sets have found is known to the discovery; what became of it, to the configuration in effect.
func (s *Status) Discovery() []view.DiscoverySet {
	found, effect := s.deps.Discovery.Found(), s.deps.Effect()
	out := make([]view.DiscoverySet, len(found))
	for i := range found {
		set := &found[i]
		out[i] = view.DiscoverySet{Name: set.Name, Targets: []string{}, Dropped: []view.Dropped{}, Groups: set.Groups, Error: set.LastError}
		if set.Complete {
			out[i].Last = new(set.LastRefresh.UTC())
		}
		for j := range effect.Config.Targets {
			if t := &effect.Config.Targets[j]; t.Source == set.Name && t.Enabled {
				out[i].Targets = append(out[i].Targets, t.Name)
			}
		}
		// What was meant to be used comes before what relabelling drops.
		for j := range effect.Dropped {
			d := &effect.Dropped[j]
			if d.Set != set.Name || d.Reason == discovery.Relabelled {
				continue
			}
			if out[i].DroppedCount++; out[i].DroppedCount <= maxDropped {
				out[i].Dropped = append(out[i].Dropped, dropped(d))
			}
		}
		out[i].DroppedCount += set.Relabelled
		for j := range set.Dropped {
			out[i].Dropped = append(out[i].Dropped, dropped(&set.Dropped[j]))
		}
	}
	return out
}

func dropped(d *discovery.Dropped) view.Dropped {
	return view.Dropped{Address: d.Address, Labels: d.Labels, Reason: string(d.Reason), Detail: d.Detail}
}

// told is an instant, nil if there was none.
func told(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return new(at.UTC())
}

// seconds is how long something took, nil if it was not done.
func seconds(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(d.Seconds())
}
