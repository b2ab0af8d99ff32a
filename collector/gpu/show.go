package gpu

import (
	"slices"

	"github.com/aiperf-exporter/aiperf-exporter/collector"
)

// scope are the values of the labels of a series about a device.
func (id *Identity) scope(source SourceName, more ...string) []string {
	return append([]string{id.Index, id.UUID, id.Hostname, id.Instance, string(source)}, more...)
}

// show adds what a device tells, and what is known of it.
func (s *sighting) show(b *collector.Builder, podLabels bool) {
	for i := range s.Samples {
		sample := &s.Samples[i]
		b.Add(sample.Name, sample.Value, s.scope(s.source, sample.Labels...)...)
	}
	pod := [3]string{}
	if podLabels {
		pod = [3]string{s.Info.Namespace, s.Info.Pod, s.Info.Container}
	}
	preferred := "0"
	if s.preferred {
		preferred = "1"
	}
	b.Add(seriesInfo, 1, s.scope(
		s.source, s.Info.Model, s.Info.PCIBusID, s.Info.Vendor, s.Info.Profile, s.Info.DriverVersion, s.Info.CUDAVersion, s.Info.VBIOSVersion,
		pod[0], pod[1], pod[2], preferred,
	)...)
	b.Add(seriesUp, 1, s.scope(s.source)...)
}

// showDown adds the devices that a source no longer sees, on none of its pages.
func (c *Collector) showDown(b *collector.Builder, views []view, all []sighting) {
	shown := make(map[place]bool, len(all))
	for i := range all {
		shown[place{all[i].source, all[i].key()}] = true
	}
	for i, f := range c.feeds {
		for _, id := range views[i].down {
			if at := (place{f.name, id.key()}); !shown[at] {
				shown[at] = true
				b.Add(seriesUp, 0, id.scope(f.name)...)
			}
		}
	}
}

// showOwned adds which devices serve which target, whatever sources see them.
func (c *Collector) showOwned(b *collector.Builder, all []sighting) {
	shown := map[[2]string]bool{}
	for i := range all {
		s := &all[i]
		id := [2]string{s.UUID, s.Instance}
		if s.UUID == "" || shown[id] {
			continue
		}
		if target := c.owners.of(s.Device, s.gpu); target != "" {
			shown[id] = true
			b.Add(seriesTargetGPU, 1, target, s.UUID, s.Instance)
		}
	}
}

// showStates adds how the sources are doing.
func (c *Collector) showStates(b *collector.Builder, views []view, all []sighting) {
	for _, source := range SourceNames {
		devices := 0
		for i := range all {
			if all[i].source == source {
				devices++
			}
		}
		b.Add(seriesDevices, float64(devices), string(source))
		is := c.state(source, views)
		for _, state := range States {
			b.Add(seriesState, boolean(state == is), string(source), string(state))
		}
	}
}

// state is the one of a source: the worst of its pages. One that has not been looked at yet has no devices so far.
func (c *Collector) state(source SourceName, views []view) State {
	var states []State
	for i, f := range c.feeds {
		if f.name == source {
			states = append(states, views[i].state)
		}
	}
	if len(states) == 0 {
		return Disabled
	}
	for _, s := range states {
		if s != "" && s != OK && s != NoDevices {
			return s
		}
	}
	if slices.Contains(states, OK) {
		return OK
	}
	return NoDevices
}
