package generator

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/endpoint"
	"github.com/aiperf-exporter/aiperf-exporter/generator/load"
	"github.com/aiperf-exporter/aiperf-exporter/generator/workload"
)

// Cost is what a target asks of its server in a day, as far as nothing holds it back.
type Cost struct {
	Requests                  float64
	InputTokens, OutputTokens float64 // the most that answers may have
	USD                       float64 // by the prices of the budget; 0 = there are none
}

const (
	costSamples = 50          // turns whose lengths are averaged
	costStep    = time.Minute // at which rates are looked at
)

// Cost estimates the day that begins at now, of a closed loop the most that its workers can ask. ok is false where a recording sets the rate.
func (c *TargetConfig) Cost(now time.Time) (cost Cost, ok bool, err error) {
	if c.pausedByFile() {
		return Cost{}, true, nil
	}
	if c.Load.Mode == load.Replay {
		return Cost{}, false, nil
	}
	cost.Requests, ok = c.requestsOfADay(now)
	if !ok {
		return Cost{}, false, nil
	}
	codec, err := endpoint.New(c.Endpoint)
	if err != nil {
		return Cost{}, false, err
	}
	asked := c.Workload
	asked.Tokenizer = workload.TokenizerConfig{} // which takes seconds to load, and lengths are as wished without it
	w, err := workload.New(&asked, nil, c.Seed, c.Name)
	if err != nil {
		return Cost{}, false, fmt.Errorf("workload %q: %w", c.WorkloadName, err)
	}
	for range costSamples {
		turn, nextErr := w.Next(workload.Pick{})
		if nextErr != nil {
			err = fmt.Errorf("workload %q: %w", c.WorkloadName, nextErr)
			break
		}
		cost.InputTokens += cost.Requests * float64(turn.InputTokens) / costSamples
		cost.OutputTokens += cost.Requests * float64(codec.OutputLimit(c.wire(turn))) / costSamples
		w.Done(turn, workload.End{OK: true})
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	cost.USD = (cost.InputTokens*c.Budget.USDPerMillionInput + cost.OutputTokens*c.Budget.USDPerMillionOutput) / 1e6
	return cost, err == nil, err
}

// requestsOfADay adds up the rate that the load wants over a day.
func (c *TargetConfig) requestsOfADay(now time.Time) (requests float64, ok bool) {
	if c.Load.Mode == load.Closed {
		workers, each := max(1, c.Load.Concurrency), cmp.Or(c.Load.MinInterval, time.Second)
		return float64(workers) * float64(24*time.Hour) / float64(each), true
	}
	schedule := load.NewSchedule(&c.Load, &load.Origin{Wall: now.UnixNano(), Seed: c.Seed, Target: c.Name}, nil)
	for at := time.Duration(0); at < 24*time.Hour; at += costStep {
		hz, known := schedule.Rate(int64(at))
		if !known {
			return 0, false
		}
		requests += hz * costStep.Seconds()
	}
	return requests, true
}
