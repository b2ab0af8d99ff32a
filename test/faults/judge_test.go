package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

func TestEachPhaseHasItsOwnClasses(t *testing.T) {
	t.Parallel()
	cut := &member{group: "cut", ill: &fault{class: metrics.ErrTruncated, edges: []metrics.ErrorClass{metrics.ErrConnect}}}
	slow := &member{group: "slow", ill: &fault{}}
	healthy := &member{group: "healthy"}
	failed := func(class metrics.ErrorClass) count { return count{failed: map[metrics.ErrorClass]float64{class: 1}} }
	both := failed(metrics.ErrTruncated)
	both.succeeded = 1
	for name, test := range map[string]struct {
		of    *member
		in    phase
		count count
		wrong bool
	}{
		"a fault has its class":                      {cut, ill, failed(metrics.ErrTruncated), false},
		"and no other one":                           {cut, ill, failed(metrics.ErrConnect), true},
		"nothing succeeds with it":                   {cut, ill, both, true},
		"something has to fail":                      {cut, ill, count{}, true},
		"its edges have more classes":                {cut, onset, failed(metrics.ErrConnect), false},
		"but not all":                                {cut, relief, failed(metrics.ErrParse), true},
		"what ran at its edges may succeed":          {cut, relief, both, false},
		"it is over when it is over":                 {cut, well, both, true},
		"and then requests succeed":                  {cut, well, count{}, true},
		"what is only slow does not fail":            {slow, ill, failed(metrics.ErrTimeoutTotal), true},
		"it succeeds":                                {slow, ill, count{succeeded: 1}, false},
		"what is well never fails":                   {healthy, onset, both, true},
		"arrivals are not dropped":                   {healthy, well, count{succeeded: 1, dropped: map[metrics.DropReason]float64{metrics.DropInFlight: 1}}, true},
		"only where this machine has not kept up is": {healthy, well, count{succeeded: 1, dropped: map[metrics.DropReason]float64{metrics.DropSchedulerLate: 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &seen{}
			s.judgeGroup(test.of, test.in, &test.count, false)
			if got := len(s.wrong) > 0; got != test.wrong {
				t.Errorf("wrong: %v, want %v", errors.Join(s.wrong...), test.wrong)
			}
		})
	}
}

func TestAMachineThatStandsStillExcusesLimitsOnly(t *testing.T) {
	t.Parallel()
	ill, healthy := &member{group: "cut", ill: &fault{class: metrics.ErrTruncated}}, &member{group: direct}
	for class, want := range map[metrics.ErrorClass][2]bool{metrics.ErrTimeoutIdle: {true, false}, metrics.ErrConnect: {false, false}} {
		for i, m := range []*member{ill, healthy} {
			s := &seen{}
			s.judgeGroup(m, onset, &count{failed: map[metrics.ErrorClass]float64{class: 1}}, true)
			if excused := s.wrong == nil; excused != want[i] {
				t.Errorf("%s of %s: excused is %v", class, m.group, excused)
			}
		}
	}
	late := map[string]*count{direct: {dropped: map[metrics.DropReason]float64{metrics.DropSchedulerLate: 1}}}
	if !stoodStill(late) || stoodStill(map[string]*count{direct: {}, "cut": {failed: map[metrics.ErrorClass]float64{metrics.ErrParse: 1}}}) {
		t.Error("it is not seen whether the machine stood still")
	}
}

func TestAPulseTellsWhatStoodStillSinceTheLastLook(t *testing.T) {
	t.Parallel()
	var p pulse
	start := time.Now()
	at := start.Add
	look := func(after time.Duration, want bool) {
		t.Helper()
		if got := p.stood(at(after)); got != want {
			t.Errorf("after %v: stood still: %v, want %v", after, got, want)
		}
	}
	look(0, false)
	for beats := range 10 {
		p.begin(at(time.Duration(beats) * 150 * time.Millisecond))
	}
	look(1500*time.Millisecond, false)
	look(2500*time.Millisecond, true) // the last beat goes on
	p.begin(at(2500 * time.Millisecond))
	p.begin(at(2600 * time.Millisecond))
	look(2700*time.Millisecond, true) // it has ended after the last look
	look(2800*time.Millisecond, false)
	p.begin(at(4 * time.Second))
	p.begin(at(4100 * time.Millisecond))
	look(4200*time.Millisecond, true)
}

func TestATargetThatIsWellWaitsForNobody(t *testing.T) {
	t.Parallel()
	for late, wrong := range map[float64]bool{1.9: false, 2: true} {
		s := &seen{latest: map[string]float64{direct: .1, proxied: late}}
		s.judgeLateness()
		if got := len(s.wrong) > 0; got != wrong {
			t.Errorf("%v s late is wrong: %v, want %v", late, got, wrong)
		}
	}
}

func TestTheFleetHasAllFaultsAndTargetsThatAreWell(t *testing.T) {
	t.Parallel()
	const targets = 300
	of := map[string]int{}
	for _, m := range fleet(targets) {
		of[m.group]++
		if groupOf(m.name) != m.group {
			t.Errorf("%s is of group %s", m.name, m.group)
		}
	}
	sum := 0
	for _, n := range of {
		sum += n
	}
	if sum != targets || len(of) != len(faults)+2 || of[direct] < targets/5 || of[proxied] == 0 {
		t.Errorf("%d targets: %v", sum, of)
	}
}

func TestEachClassThatANetworkOrAServerCanCauseIsOfAFault(t *testing.T) {
	t.Parallel()
	// What answers say is checked elsewhere, and this program's own faults are none of the network.
	covered := map[metrics.ErrorClass]bool{metrics.ErrContentCheck: true, metrics.ErrClientInternal: true}
	for i := range faults {
		covered[faults[i].class] = true
	}
	var missing []string
	for _, class := range metrics.ErrorClasses {
		if !covered[class] {
			missing = append(missing, string(class))
		}
	}
	if missing != nil {
		t.Errorf("no fault gives %s", strings.Join(missing, ", "))
	}
}
