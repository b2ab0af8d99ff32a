package status

import (
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/discovery"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

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
		for j := range set.Dropped {
			out[i].Dropped = append(out[i].Dropped, dropped(&set.Dropped[j]))
		}
		for j := range effect.Dropped {
			if d := &effect.Dropped[j]; d.Set == set.Name && d.Reason != discovery.Relabelled {
				out[i].Dropped = append(out[i].Dropped, dropped(d))
			}
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
