package gpu

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Method is how an energy was found.
type Method string

// The methods.
const (
	ByCounter Method = "counter"    // the GPU counts its joules
	ByPower   Method = "integrated" // it does not: its power was added up over time
)

// DeviceEnergy is what a GPU used in a window.
type DeviceEnergy struct {
	Source SourceName
	Identity
	Info   Info
	Target string // which it serves, "" = none or unknown
	// Known tells whether there were samples near enough to both ends of the window; without them Joules and Watts are 0 and say nothing.
	Known  bool
	Joules float64
	Watts  float64 // mean over the window
	Method Method
}

// TotalEnergy adds up what is known. partial: of some GPUs nothing is, so that the sum is too small.
func TotalEnergy(devices []DeviceEnergy) (joules float64, partial bool) {
	for i := range devices {
		joules += devices[i].Joules
		partial = partial || !devices[i].Known
	}
	return joules, partial
}

// maxPoints is how many samples of a GPU are remembered: a day and a half, once a second.
const maxPoints = 1 << 17

// EnergyMeter remembers what GPUs have used, to tell how much of it was used within a window. It counts whole GPUs, each once, however many sources
// see it. Safe for concurrent use.
type EnergyMeter struct {
	config Config
	owners owners

	mu     sync.Mutex
	meters map[place]*deviceMeter
	looked map[SourceName]int64 // instant of the last reading
	noted  chan struct{}        // closed at the next reading
}

// deviceMeter is what is remembered of a GPU at a source.
type deviceMeter struct {
	source   SourceName
	identity Identity
	info     Info
	target   string
	// counter has no two samples alike that follow each other: a GPU always uses something, so its exporter has not measured in between.
	counter []point
	again   int64 // when the last one was told again; 0 = it was not
	power   []point
}

// NewEnergyMeter makes one for the readings of a collector with this configuration. Errors are those of selectors that are no regular expressions.
func NewEnergyMeter(c Config, targets map[string]Selector) (*EnergyMeter, error) {
	owned, err := newOwners(targets)
	if err != nil {
		return nil, err
	}
	return &EnergyMeter{config: c, owners: owned, meters: map[place]*deviceMeter{}, looked: map[SourceName]int64{}, noted: make(chan struct{})}, nil
}

// Observe takes in a reading. It is what Deps.Observe is for.
func (m *EnergyMeter) Observe(r *Reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked[r.Source] = max(m.looked[r.Source], r.At)
	for i := range r.Devices {
		d := &r.Devices[i]
		if d.Instance != "" || d.Lost {
			continue
		}
		at := place{r.Source, d.key()}
		meter, ok := m.meters[at]
		if !ok {
			meter = &deviceMeter{source: r.Source, identity: d.Identity, target: m.owners.of(d, d.UUID)}
			m.meters[at] = meter
		}
		meter.info = d.Info
		for _, s := range d.Samples {
			switch s.Name {
			case seriesEnergy:
				meter.count(r.At, s.Value)
			case seriesPower:
				meter.power = appendPoint(meter.power, point{at: r.At, value: s.Value})
			}
		}
	}
	close(m.noted)
	m.noted = make(chan struct{})
}

// count takes in a value of the counter.
func (d *deviceMeter) count(at int64, joules float64) {
	if n := len(d.counter); n > 0 && d.counter[n-1].value == joules {
		d.again = at
		return
	}
	d.counter = appendPoint(d.counter, point{at: at, value: joules, again: d.again})
	d.again = 0
}

// appendPoint keeps the order of time, and forgets the older half when there is too much.
func appendPoint(points []point, p point) []point {
	if n := len(points); n > 0 && p.at <= points[n-1].at {
		return points
	}
	if len(points) >= maxPoints {
		points = slices.Clone(points[maxPoints/2:])
	}
	return append(points, p)
}

// Energy gives what each GPU used from t0 to t1, in the order of host, index and UUID. Where several sources see a GPU the preferred one that
// knows is taken.
func (m *EnergyMeter) Energy(t0, t1 int64) []DeviceEnergy {
	m.mu.Lock()
	defer m.mu.Unlock()
	best := map[Identity]DeviceEnergy{}
	for _, source := range SourceNames {
		for at, meter := range m.meters {
			if at.source != source {
				continue
			}
			e := meter.energy(t0, t1, int64(m.config.interval(source)))
			if had, ok := best[at.id]; !ok || e.Known && !had.Known {
				best[at.id] = e
			}
		}
	}
	out := make([]DeviceEnergy, 0, len(best))
	for _, e := range best {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b DeviceEnergy) int {
		return cmp.Or(
			cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(len(a.Index), len(b.Index)), cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID),
		)
	})
	return out
}

func (d *deviceMeter) energy(t0, t1, interval int64) DeviceEnergy {
	e := DeviceEnergy{Source: d.source, Identity: d.identity, Info: d.info, Target: d.target, Method: ByCounter}
	if len(d.counter) > 0 {
		e.Joules, e.Known = counted(d.counter, t0, t1, interval)
	} else {
		e.Method = ByPower
		e.Joules, e.Known = integrated(d.power, t0, t1, interval)
	}
	if e.Known {
		e.Watts = e.Joules / (float64(t1-t0) / 1e9)
	}
	return e
}

// Await waits until all sources were asked and all GPUs seen at or after an instant, so that a window may begin or end there, or until ctx ends.
func (m *EnergyMeter) Await(ctx context.Context, at int64) {
	for {
		reached, noted := m.reached(at)
		if reached {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-noted:
		}
	}
}

// reached tells whether all is seen at or after an instant. The channel is closed at the next reading.
func (m *EnergyMeter) reached(at int64) (bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	names, _ := m.config.sources()
	for _, name := range names {
		if looked, ok := m.looked[name]; !ok || looked < at {
			return false, m.noted
		}
	}
	for _, meter := range m.meters {
		if !meter.reaches(at) {
			return false, m.noted
		}
	}
	return true, m.noted
}

// reaches tells whether there is a sample at or after an instant.
func (d *deviceMeter) reaches(at int64) bool {
	points := d.counter
	if len(points) == 0 {
		points = d.power
	}
	return len(points) == 0 || points[len(points)-1].at >= at
}
