package progress

import (
	"math"
	"time"
)

// A sketch knows quantiles of positive values to within one percent, from 10 µs to some hours if they are seconds, in constant memory: it counts
// them in buckets whose boundaries grow by two percent.
type sketch struct {
	counts [buckets]uint32
	total  uint64
}

const (
	growth  = 1.02
	lowest  = 1e-5
	buckets = 1047 // lowest × growth^buckets is a little more than 10 000
)

func (s *sketch) add(v float64) {
	i := int(math.Log(max(v, lowest)/lowest) / math.Log(growth))
	s.counts[min(max(i, 0), buckets-1)]++
	s.total++
}

func (s *sketch) merge(other *sketch) {
	if other.total == 0 {
		return
	}
	for i, n := range other.counts {
		s.counts[i] += n
	}
	s.total += other.total
}

// quantile is the middle of the bucket with the value of rank q·(N−1); false: there is no value.
func (s *sketch) quantile(q float64) (v float64, known bool) {
	if s.total == 0 {
		return 0, false
	}
	rank, seen := uint64(math.Round(q*float64(s.total-1))), uint64(0)
	for i, n := range s.counts {
		if seen += uint64(n); seen > rank {
			return lowest * math.Pow(growth, float64(i)+0.5), true
		}
	}
	return 0, false // cannot happen: the counts add up to total
}

// recent remembers how many requests had ended at some times, for the rate of the last ten seconds. The run began at 0 with none.
type recent struct {
	marks [memory/markEvery + 1]mark
	next  int // the oldest
}

type mark struct {
	at    time.Duration
	ended int64
}

const (
	memory    = 10 * time.Second
	markEvery = time.Second
)

// rate gives the requests per second that ended lately, at a time when there have been so many.
func (r *recent) rate(at time.Duration, ended int64) float64 {
	since, newest := mark{}, mark{}
	for _, m := range r.marks {
		if m.at > since.at && m.at <= at-memory {
			since = m
		}
		if m.at > newest.at {
			newest = m
		}
	}
	if at-newest.at >= markEvery {
		r.marks[r.next] = mark{at, ended}
		r.next = (r.next + 1) % len(r.marks)
	}
	if at <= since.at {
		return 0
	}
	return float64(ended-since.ended) / (at - since.at).Seconds()
}
