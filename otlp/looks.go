package otlp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// maxNoted bounds the looks that are kept until the next export.
const maxNoted = 1000

// look is what there was to be sent at one instant.
type look struct {
	at          time.Time
	families    []*dto.MetricFamily
	instruments []metricdata.Metrics
}

// looks takes them, one after the other, so that a later one is never handed out before an earlier one. Safe for concurrent use.
type looks struct {
	gatherer    prometheus.Gatherer
	instruments func(context.Context) (now, gone []metricdata.Metrics, err error) // nil = there are none
	now         func() time.Time

	mu    sync.Mutex
	noted []look // since the last one that was taken
}

// take looks at everything. before are the looks at series that may be gone by now. What could be gathered is given with the error about the rest.
func (l *looks) take(ctx context.Context) (before []look, now look, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.noted = l.noted, nil
	families, err := l.gatherer.Gather()
	now = look{at: l.now(), families: families}
	if l.instruments != nil {
		made, gone, failure := l.instruments(ctx)
		now.instruments, err = made, errors.Join(err, failure)
		before = append(before, look{at: now.at, instruments: gone})
	}
	return before, now, err
}

// note looks at the series of targets that are about to go.
func (l *looks) note(targets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	families, _ := l.gatherer.Gather() // the next export tells what is wrong
	noted := look{at: l.now()}
	for _, f := range families {
		of := slices.DeleteFunc(slices.Clone(f.Metric), func(m *dto.Metric) bool { return !slices.Contains(targets, targetOf(m)) })
		if len(of) > 0 {
			noted.families = append(noted.families, &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit, Metric: of})
		}
	}
	if l.noted = append(l.noted, noted); len(l.noted) > maxNoted {
		l.noted = slices.Clone(l.noted[1:])
	}
}

func targetOf(m *dto.Metric) string {
	for _, label := range m.Label {
		if label.GetName() == "target" {
			return label.GetValue()
		}
	}
	return ""
}
