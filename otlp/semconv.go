package otlp

import (
	"maps"
	"net"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// convention is a second name of a family, from the semantic conventions of OpenTelemetry.
type convention struct {
	name, unit, help string
	// upDown: the convention adds the value up over series, though it is a gauge here.
	upDown bool
	// labels that become attributes of the convention; others are put behind "aiperf.", if they are not empty.
	labels map[string]attribute.Key
	// always are attributes of every point.
	always []attribute.KeyValue
	// only are labels that a series must have to be taken.
	only map[string]string
}

// instanceLabel is the address of a replica, which the conventions split.
const instanceLabel = "instance_id"

// serverLabels are those of a server's series. What it says of itself is said of all its operations together.
var (
	serverLabels = map[string]attribute.Key{"server": "gen_ai.provider.name", "model": "gen_ai.request.model"}
	serverAlways = []attribute.KeyValue{attribute.String("gen_ai.operation.name", "inference")}
)

// serverConventions are the GenAI conventions for what servers say of themselves, which is not what clients see.
var serverConventions = map[string]convention{
	"aiperf_server_time_to_first_token_seconds": {
		name: "gen_ai.server.time_to_first_token", unit: "s", labels: serverLabels, always: serverAlways,
		help: "Time to generate first token for successful responses, as the server says.",
	},
	"aiperf_server_time_per_output_token_seconds": {
		name: "gen_ai.server.time_per_output_token", unit: "s", labels: serverLabels, always: serverAlways,
		help: "Time per output token generated after the first token for successful responses, as the server says.",
	},
	"aiperf_server_request_duration_seconds": {
		name: "gen_ai.server.request.duration", unit: "s", labels: serverLabels, always: serverAlways,
		help: "Generative AI server request duration, such as time-to-last byte or last output token, as the server says.",
	},
}

var gpuLabels = map[string]attribute.Key{"uuid": "hw.id", "gpu": "hw.name"}

// hardwareConventions are those for GPUs.
var hardwareConventions = map[string]convention{
	"aiperf_gpu_utilization_ratio": {
		name: "hw.gpu.utilization", unit: "1", labels: gpuLabels, always: gpuAlways,
		help: "Fraction of time spent in a specific task.",
	},
	"aiperf_gpu_memory_used_bytes": {
		name: "hw.gpu.memory.usage", unit: "By", upDown: true, labels: gpuLabels, always: gpuAlways,
		help: "GPU memory used.",
	},
	"aiperf_gpu_memory_total_bytes": {
		name: "hw.gpu.memory.limit", unit: "By", upDown: true, labels: gpuLabels, always: gpuAlways,
		help: "Size of the GPU memory.",
	},
	"aiperf_gpu_pcie_transmit_bytes_total": {
		name: "hw.gpu.io", unit: "By", labels: gpuLabels, always: gpuTransmits,
		help: "Received and transmitted bytes by the GPU.",
	},
	"aiperf_gpu_pcie_receive_bytes_total": {
		name: "hw.gpu.io", unit: "By", labels: gpuLabels, always: gpuReceives,
		help: "Received and transmitted bytes by the GPU.",
	},
	"aiperf_gpu_ecc_errors_total": {
		name: "hw.errors", unit: "{error}", labels: map[string]attribute.Key{"uuid": "hw.id", "gpu": "hw.name", "type": "error.type"}, always: gpuAlways,
		only: map[string]string{"scope": "aggregate"}, // the volatile ones are among them
		help: "Number of errors encountered by the component.",
	},
	"aiperf_gpu_xid_errors_total": {
		name: "hw.errors", unit: "{error}", labels: map[string]attribute.Key{"uuid": "hw.id", "gpu": "hw.name", "xid": "error.type"}, always: gpuAlways,
		help: "Number of errors encountered by the component.",
	},
}

var (
	gpuAlways    = []attribute.KeyValue{attribute.String("hw.type", "gpu")}
	gpuTransmits = []attribute.KeyValue{attribute.String("hw.type", "gpu"), attribute.String("network.io.direction", "transmit")}
	gpuReceives  = []attribute.KeyValue{attribute.String("hw.type", "gpu"), attribute.String("network.io.direction", "receive")}
)

// conventions are the second names that a configuration wants.
func conventions(c *Config) map[string]convention {
	out := map[string]convention{}
	for _, wanted := range []struct {
		on    bool
		names map[string]convention
	}{{c.ServerSemconv, serverConventions}, {c.HardwareSemconv, hardwareConventions}} {
		if wanted.on {
			maps.Copy(out, wanted.names)
		}
	}
	return out
}

// rename gives the metric under its second name.
func (c *convention) rename(m metricdata.Metrics) metricdata.Metrics {
	out := metricdata.Metrics{Name: c.name, Description: c.help, Unit: c.unit}
	switch data := m.Data.(type) {
	case metricdata.Gauge[float64]:
		points := renamed(c, data.DataPoints, func(p *metricdata.DataPoint[float64]) *attribute.Set { return &p.Attributes })
		if out.Data = (metricdata.Gauge[float64]{DataPoints: points}); c.upDown {
			out.Data = metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: points}
		}
	case metricdata.Sum[float64]:
		data.DataPoints = renamed(c, data.DataPoints, func(p *metricdata.DataPoint[float64]) *attribute.Set { return &p.Attributes })
		out.Data = data
	case metricdata.Histogram[float64]:
		data.DataPoints = renamed(c, data.DataPoints, func(p *histogramPoint) *attribute.Set { return &p.Attributes })
		out.Data = data
	case metricdata.ExponentialHistogram[float64]:
		data.DataPoints = renamed(c, data.DataPoints, func(p *exponentialPoint) *attribute.Set { return &p.Attributes })
		out.Data = data
	}
	return out
}

// joined adds a metric to others, to the one of its name if that is a counter too: a convention may make one of several families.
func joined(all []metricdata.Metrics, m metricdata.Metrics) []metricdata.Metrics {
	more, ok := m.Data.(metricdata.Sum[float64])
	at := slices.IndexFunc(all, func(other metricdata.Metrics) bool { return other.Name == m.Name })
	if at < 0 || !ok {
		return append(all, m)
	}
	if sum, same := all[at].Data.(metricdata.Sum[float64]); same {
		sum.DataPoints = append(sum.DataPoints, more.DataPoints...)
		all[at].Data = sum
		return all
	}
	return append(all, m)
}

// renamed are copies of the points that are taken, with the attributes of the convention.
func renamed[P any](c *convention, points []P, attributes func(*P) *attribute.Set) []P {
	out := make([]P, 0, len(points))
	for _, p := range points {
		set := attributes(&p)
		if c.takes(set) {
			*set = c.attributes(set)
			out = append(out, p)
		}
	}
	return out
}

func (c *convention) takes(set *attribute.Set) bool {
	for label, want := range c.only {
		if got, _ := set.Value(attribute.Key(label)); got.AsString() != want {
			return false
		}
	}
	return true
}

func (c *convention) attributes(labels *attribute.Set) attribute.Set {
	out := slices.Clone(c.always)
	for _, l := range labels.ToSlice() {
		value := l.Value.AsString()
		switch key, ok := c.labels[string(l.Key)]; {
		case value == "" || c.only[string(l.Key)] != "":
		case ok:
			out = append(out, key.String(value))
		case l.Key == instanceLabel:
			out = append(out, address(value)...)
		default:
			out = append(out, attribute.String("aiperf."+string(l.Key), value))
		}
	}
	return attribute.NewSet(out...)
}

// address splits host and port; the name of a pod has none.
func address(instance string) []attribute.KeyValue {
	host, text, err := net.SplitHostPort(instance)
	port, notNumber := strconv.Atoi(text)
	if err != nil || notNumber != nil {
		return []attribute.KeyValue{attribute.String("server.address", instance)}
	}
	return []attribute.KeyValue{attribute.String("server.address", host), attribute.Int("server.port", port)}
}
