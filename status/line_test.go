package status

import (
	"errors"
	"testing"

	"github.com/aiperf-exporter/aiperf-exporter/reload"
	"github.com/aiperf-exporter/aiperf-exporter/web/view"
)

func TestALineTellsWhatIsWorstFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		healths []view.Health
		last    *reload.Result
		want    string
	}{
		"nothing to do": {nil, nil, "0 targets"},
		"one target":    {[]view.Health{view.Healthy}, nil, "1 target: 1 healthy"},
		"every health": {
			[]view.Health{view.Healthy, view.Idle, view.Failing, view.Unknown, view.Degraded, view.Failing},
			nil,
			"6 targets: 2 failing, 1 degraded, 1 unknown, 1 idle, 1 healthy",
		},
		"a reload that went well": {[]view.Health{view.Idle, view.Idle}, &reload.Result{}, "2 targets: 2 idle"},
		"a reload that did not": {
			[]view.Health{view.Healthy},
			&reload.Result{Err: errors.New("a.yml:3:5: url: no host\na.yml:7:1: extra: unknown key")},
			"1 target: 1 healthy; the files were not taken: a.yml:3:5: url: no host",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := line(test.healths, test.last); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
