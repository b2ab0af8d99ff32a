package otlp

import (
	"cmp"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// serviceName is who is speaking, unless somebody names it otherwise, and the scope of all series.
const serviceName = "aiperf-exporter"

// places are the variables in which Kubernetes tells a container where it runs, if its manifest asks for that (downward API), by attribute.
// The first one that is set counts.
var places = map[attribute.Key][]string{
	semconv.K8SNamespaceNameKey: {"K8S_NAMESPACE_NAME", "POD_NAMESPACE"},
	semconv.K8SPodNameKey:       {"K8S_POD_NAME", "POD_NAME"},
	semconv.K8SNodeNameKey:      {"K8S_NODE_NAME", "NODE_NAME"},
}

// newResource says who is speaking: what the program knows, over it the environment, over it the configuration.
func newResource(c *Config, deps *Deps, env environment) (*resource.Resource, error) {
	written, err := env.resource()
	if err != nil {
		return nil, err
	}
	attributes := map[attribute.Key]string{
		semconv.ServiceNameKey:       serviceName,
		semconv.ServiceVersionKey:    deps.Version,
		semconv.ServiceInstanceIDKey: deps.Instance,
	}
	if host, err := os.Hostname(); err == nil {
		attributes[semconv.HostNameKey] = host
	}
	for key, variables := range places {
		values := make([]string, 0, len(variables))
		for _, name := range variables {
			values = append(values, env[name])
		}
		attributes[key] = cmp.Or(values...)
	}
	for key, value := range written {
		attributes[attribute.Key(key)] = value
	}
	for key, value := range c.ResourceAttributes {
		attributes[attribute.Key(key)] = value
	}
	pairs := []attribute.KeyValue{ // facts, which nobody can say otherwise
		semconv.TelemetrySDKName("opentelemetry"), semconv.TelemetrySDKLanguageGo, semconv.TelemetrySDKVersion(sdk.Version()),
	}
	for key, value := range attributes {
		if value != "" && !strings.HasPrefix(string(key), "telemetry.sdk.") {
			pairs = append(pairs, key.String(valid(value)))
		}
	}
	return resource.NewSchemaless(pairs...), nil
}
