package load

// Process is an arrival process: it fixes the instants at which requests are wanted. All its instants are nanoseconds from the anchor, and
// those of Peek never decrease.
type Process interface {
	// Peek gives the instant at which the next arrival is ready; ok is false if there will be none before a request ends.
	Peek() (ready int64, ok bool)
	// Pop takes the arrival of which Peek has just given the instant.
	Pop() Arrival
	// Ended tells that the request of an arrival has begun and ended. One that was dropped has ended when it began. Arrivals that may not
	// be sent, because of Overlap, have no end.
	Ended(a Arrival, began, ended int64)
	// Skip drops the arrivals that are ready before now and returns their number. They count as requests that ended at once. Those that
	// have waited for the request before them are kept, unless all of them are to go.
	Skip(now int64, all bool) int64
}

// heir is a process whose arrivals depend on the requests that run. It takes over those that the load before has begun.
type heir interface {
	// succeed is told of the process before, whose anchor lies shift nanoseconds before that of the heir, and of the number of its arrivals that
	// have not ended. It is called before anything else.
	succeed(before Process, shift int64, open int)
	// inheritedEnded tells the end of one of them.
	inheritedEnded(a Arrival, began, ended int64)
}

// hastener is a process whose first arrival can be made earlier.
type hastener interface {
	// hasten has the next arrival come at the instant at, if that is sooner.
	hasten(at int64)
}

// process is a row of the table of arrival processes.
type process struct {
	start func(*Config, *Origin, Recording) Process
	// share is the part of the configured rate that a shard asks for; nil: the rate depends on the server, or on the recording.
	share func(*Config, *Origin) float64
}

// processes is the table of arrival processes.
var processes = map[Mode]process{
	Constant: {newConstant, evenShare},
	Poisson:  {newPoisson, evenShare},
	Gamma:    {newGamma, evenShare},
	Closed:   {start: newClosed},
	Probe:    {newProbe, evenShare},
	Users:    {newUsers, usersShare},
	Replay:   {start: newReplay},
}

// Origin is where the arrivals of one target begin, and what tells them from those of other targets.
type Origin struct {
	// Anchor is the instant of offset 0, in nanoseconds of the caller's clock.
	Anchor int64
	// Wall is the wall-clock time of Anchor, in nanoseconds since the Unix epoch. It aligns evenly spaced arrivals, so that they fall on
	// the same instants after a restart, and tells the time of day.
	Wall int64
	// Seed is the target's seed.
	Seed uint64
	// Target is the target's name.
	Target string
	// Instance tells exporters apart that run the same targets. Together with Target it gives evenly spaced arrivals their phase, so that
	// targets and exporters do not fire together. If it is empty there is no phase: the first arrival is at Anchor. Shards have one phase
	// in common, by Target alone.
	Instance string
	// Shard is the part of the load that is ours.
	Shard Shard
	// Turns is the mean number of turns of a session of the workload, which spreads the ages of users at the start; 0 is 1.
	Turns float64

	// left is the part of a random interval that the load before has left, taken once; nil = there was none.
	left *float64
}

// never is the process of a shard to which nothing of a load belongs.
type never struct{}

// Peek implements Process.
func (never) Peek() (int64, bool) { return 0, false }

// Pop implements Process.
func (never) Pop() Arrival { panic("load: pop of an arrival that does not exist") }

// Ended implements Process.
func (never) Ended(Arrival, int64, int64) {}

// Skip implements Process.
func (never) Skip(int64, bool) int64 { return 0 }
