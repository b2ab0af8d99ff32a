package metrics

// sweepPhase is a part of a request's life whose curves are swept.
type sweepPhase uint8

const (
	phasePrefill sweepPhase = iota // from the start to the first content event
	phaseDecode                    // from the first to the last content event
	phaseTotal                     // from the start to the end
)

// SweepPhases are the values of the label phase, in the order of sweepPhase.
var SweepPhases = []string{"prefill", "decode", "total"}

// step is a change of the curves at an instant.
type step struct {
	at       int64
	rate     int64   // change of the throughput of phase, millionths of a token per second
	tokens   int64   // change of the tokens in flight, millionths
	requests [3]int8 // change of the concurrency, by phase
	phase    sweepPhase
}

// steps holds changes that are not settled yet, as a binary heap with the earliest at index 0. container/heap would box each of them.
type steps []step

func (h *steps) push(s step) {
	*h = append(*h, s)
	list := *h
	i := len(list) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if list[parent].at <= s.at {
			break
		}
		list[i] = list[parent]
		i = parent
	}
	list[i] = s
}

// pop takes the earliest; there must be one.
func (h *steps) pop() step {
	list := *h
	earliest := list[0]
	n := len(list) - 1
	moved := list[n]
	list = list[:n]
	*h = list
	if n == 0 {
		return earliest
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if other := child + 1; other < n && list[other].at < list[child].at {
			child = other
		}
		if list[child].at >= moved.at {
			break
		}
		list[i] = list[child]
		i = child
	}
	list[i] = moved
	return earliest
}
