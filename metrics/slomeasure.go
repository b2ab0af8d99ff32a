package metrics

// SLOMetric is a measure that an SLO may limit, under the name that AIPerf has for it.
type SLOMetric string

// The measures that an SLO may limit.
const (
	SLOTimeToFirstToken       SLOMetric = "time_to_first_token"
	SLOTimeToFirstOutputToken SLOMetric = "time_to_first_output_token"
	SLOTimeToSecondToken      SLOMetric = "time_to_second_token"
	SLOInterTokenLatency      SLOMetric = "inter_token_latency"
	SLORequestLatency         SLOMetric = "request_latency"
	SLOEffectiveLatency       SLOMetric = "effective_latency"
	SLOPerUserThroughput      SLOMetric = "output_token_throughput_per_user"
	SLOE2EThroughput          SLOMetric = "e2e_output_token_throughput"
)

// sloMeasure is what there is to know about one of them.
type sloMeasure struct {
	metric   SLOMetric
	rate     bool // a rate has a lower limit, in tokens per second; a latency an upper one
	streamed bool // only a streamed answer has it
	perToken bool // an answer under two tokens does not have it, and that is no fault
	of       func(*Measures) Value
	limit    func(*SLOConfig) float64 // as in Threshold, 0 = not set
}

// sloMeasures is the table, in the order of the fields of SLOConfig.
var sloMeasures = []sloMeasure{
	{
		metric: SLOTimeToFirstToken, streamed: true,
		of: func(m *Measures) Value { return m.TTFT }, limit: func(c *SLOConfig) float64 { return float64(c.TimeToFirstToken) },
	},
	{
		metric: SLOTimeToFirstOutputToken, streamed: true,
		of: func(m *Measures) Value { return m.TTFO }, limit: func(c *SLOConfig) float64 { return float64(c.TimeToFirstOutputToken) },
	},
	{
		metric: SLOTimeToSecondToken, streamed: true,
		of: func(m *Measures) Value { return m.TTST }, limit: func(c *SLOConfig) float64 { return float64(c.TimeToSecondToken) },
	},
	{
		metric: SLOInterTokenLatency, streamed: true, perToken: true,
		of: func(m *Measures) Value { return m.ITL }, limit: func(c *SLOConfig) float64 { return float64(c.InterTokenLatency) },
	},
	{
		metric: SLORequestLatency,
		of:     func(m *Measures) Value { return m.RequestLatency }, limit: func(c *SLOConfig) float64 { return float64(c.RequestLatency) },
	},
	{
		metric: SLOEffectiveLatency,
		of:     func(m *Measures) Value { return m.EffectiveLatency }, limit: func(c *SLOConfig) float64 { return float64(c.EffectiveLatency) },
	},
	{
		metric: SLOPerUserThroughput, rate: true, streamed: true, perToken: true,
		of: func(m *Measures) Value { return m.PerUserRate }, limit: func(c *SLOConfig) float64 { return c.OutputTokenThroughputPerUser },
	},
	{
		metric: SLOE2EThroughput, rate: true,
		of: func(m *Measures) Value { return m.E2ERate }, limit: func(c *SLOConfig) float64 { return c.E2EOutputTokenThroughput },
	},
}

// measure finds the line of the table; a metric that is not there has no values, so nothing keeps its limit.
func (m SLOMetric) measure() *sloMeasure {
	for i := range sloMeasures {
		if sloMeasures[i].metric == m {
			return &sloMeasures[i]
		}
	}
	return &sloMeasure{metric: m, of: func(*Measures) Value { return Value{} }}
}

// Rate tells whether the measure is a rate, which has a lower limit; all others are latencies.
func (m SLOMetric) Rate() bool { return m.measure().rate }

// Streamed tells whether only a streamed answer has the measure.
func (m SLOMetric) Streamed() bool { return m.measure().streamed }
