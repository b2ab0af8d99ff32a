package load

// Process is an arrival process: the instants at which requests are wanted, fixed before anything about the server is known.
type Process interface {
	// Next gives the offset of the next arrival from the anchor, in nanoseconds. It never decreases and never ends.
	Next() int64
}

// skipper is a Process that can pass over arrivals without drawing each of them.
type skipper interface {
	// skip passes over all arrivals with an offset below before and returns their number. The last arrival drawn lies below before.
	skip(before int64) int64
}

// processes is the table of arrival processes.
var processes = map[Mode]func(*Config, *Origin) Process{
	Constant: newConstant,
	Poisson:  newPoisson,
}

// Origin is where the arrivals of one target begin, and what tells them from those of other targets.
type Origin struct {
	// Anchor is the instant of offset 0, in nanoseconds of the caller's clock.
	Anchor int64
	// Wall is the wall-clock time of Anchor, in nanoseconds since the Unix epoch. It aligns evenly spaced arrivals, so that they fall on
	// the same instants after a restart.
	Wall int64
	// Seed is the target's seed.
	Seed uint64
	// Target is the target's name.
	Target string
	// Instance tells exporters apart that run the same targets. Together with Target it gives evenly spaced arrivals their phase, so that
	// targets and exporters do not fire together. If it is empty there is no phase: the first arrival is at Anchor.
	Instance string
	// Shard is the part of the load that is ours.
	Shard Shard
	// Turns is the mean number of turns of a session of the workload, which spreads the ages of users at the start; 0 is 1.
	Turns float64
}
