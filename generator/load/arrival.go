package load

// Arrival is one instant at which a request is wanted.
type Arrival struct {
	// Sched is that instant, fixed by the load before anything about the server is known.
	Sched int64
	// Ready is when it could be sent at the earliest: Sched, or later where the same user's request before was still running.
	Ready int64
	// User is the number of the user who asks, from 1; 0 = the load has no users.
	User uint64
	// Entry is the key of the recorded turn that is wanted; 0 = any.
	Entry uint64
	// Overlap: the request before it was still running, and it must not be sent beside that one. It ends as dropped.
	Overlap bool
	// Epoch numbers the schedules of a target that follow each other, from 0: which one wanted it.
	Epoch int
}

// Recorded is a turn of a recording, as far as the load has to know it.
type Recorded struct {
	Key     uint64 // of the turn, from 1
	Session uint64 // turns of one session run one after the other; 0 = it stands alone
	// At is when it was asked, in nanoseconds from the recording's own zero; only if HasAt. Otherwise it is asked Delay nanoseconds after
	// the end of the session's turn before.
	At    int64
	HasAt bool
	Delay int64
	// Joins are the sessions of sub-agents whose turns before this one must have ended. Parent is the session that began this one as a
	// sub-agent, so that both belong to one shard; 0 = none did.
	Joins  []uint64
	Parent uint64
}

// Recording hands out the turns of a trace in the order of the file, which is that of time.
type Recording interface {
	// Next gives the next turn; io.EOF at the end of the recording, after which it begins anew.
	Next() (Recorded, error)
	// Forget tells that the turn of this key will not become an arrival.
	Forget(key uint64)
}
