package chart

import (
	"encoding/json"
	"maps"
	"strings"
)

// schema is one of JSON.
type schema map[string]any

const (
	durations = `^([0-9]+(ms|[smhdwy]))*$`
	digests   = `^(sha256:[0-9a-f]{64})?$`
)

func enum(values ...any) schema { return schema{"enum": values} }

func items(of schema) schema { return schema{"items": of} }

func port() schema { return schema{"type": "integer", "minimum": 1, "maximum": 65535} }

// mount is an entry of extraConfigmapMounts or extraSecretMounts; source is the key that names the object.
func mount(source string) schema {
	text := schema{"type": "string", "minLength": 1}
	return schema{
		"type": "object", "additionalProperties": false, "required": []string{"name", "mountPath", source},
		"properties": schema{
			"name": text, "mountPath": text, source: text, "subPath": text,
			"readOnly": schema{"type": "boolean"}, "defaultMode": schema{"type": "integer"},
		},
	}
}

// details say more of a key than its default does: by the whole path, or by the last key of it.
func details() map[string]schema {
	texts, objects := items(schema{"type": "string"}), items(schema{"type": "object"})
	words := schema{"additionalProperties": schema{"type": "string"}}
	switches := schema{"type": []string{"boolean", "null"}}
	return map[string]schema{
		"config":                        {"type": []string{"object", "string", "null"}},
		"replicas":                      {"minimum": 0, "maximum": 1},
		"gpuAgent.config":               {"type": "object"},
		"sharding.replicas":             {"minimum": 1, "maximum": 10000},
		"image.repository":              {"minLength": 1},
		"image.pullPolicy":              enum("Always", "IfNotPresent", "Never"),
		"digest":                        {"pattern": digests},
		"webConfig.scheme":              enum("HTTP", "HTTPS"),
		"configReloadInterval":          {"pattern": durations, "minLength": 2},
		"interval":                      {"pattern": durations},
		"scrapeTimeout":                 {"pattern": durations},
		"persistence.size":              {"minLength": 1},
		"persistence.accessModes":       items(enum("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany")),
		"containerPort":                 port(),
		"service.port":                  port(),
		"service.type":                  enum("ClusterIP", "NodePort", "LoadBalancer"),
		"internalTrafficPolicy":         enum("Cluster", "Local"),
		"scrapeNativeHistograms":        switches,
		"scrapeClassicHistograms":       switches,
		"maxUnavailable":                {"type": []string{"integer", "string"}},
		"terminationGracePeriodSeconds": {"minimum": 1},
		"networkPolicy.targetPorts":     items(port()),
		"verticalPodAutoscaler.controlledResources": items(enum("cpu", "memory")),
		"dnsPolicy":            enum("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
		"extraConfigmapMounts": items(mount("configMap")),
		"extraSecretMounts":    items(mount("secretName")),
		"existingSecrets":      texts, "extraArgs": texts, "disabledGroups": texts, "disabledAlerts": texts, "discovery.namespaces": texts,
		"annotations": words, "podAnnotations": words, "labels": words, "podLabels": words, "additionalLabels": words, "nodeSelector": words,
		"imagePullSecrets": objects, "extraEnv": objects, "envFrom": objects, "extraVolumes": objects, "extraVolumeMounts": objects,
		"extraContainers": objects, "extraInitContainers": objects, "relabelings": objects, "metricRelabelings": objects, "rules": objects,
		"tolerations": objects, "ingress": objects, "egress": objects, "topologySpreadConstraints": objects, "hostAliases": objects,
	}
}

// valuesSchema is the values.schema.json of the chart.
func valuesSchema(values []value) (string, error) {
	root := owned(values, details())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	properties := root["properties"].(schema)
	// Not of this chart: of one that has it as a dependency.
	properties["global"] = schema{"type": "object", "description": "What a chart says to all of its dependencies."}
	properties["enabled"] = schema{"type": "boolean", "description": "The condition under which another chart depends on this one."}
	text, err := json.MarshalIndent(root, "", "  ")
	return string(text) + "\n", err
}

// owned is of a map whose keys are the chart's: it has no others.
func owned(values []value, details map[string]schema) schema {
	properties := schema{}
	for _, v := range values {
		properties[v.name()] = of(&v, details)
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

func of(v *value, details map[string]schema) schema {
	out := schema{"type": v.kind}
	if v.kind == "object" && !v.foreign {
		out = owned(v.keys, details)
	}
	maps.Copy(out, details[v.path[strings.LastIndex(v.path, ".")+1:]])
	maps.Copy(out, details[v.path])
	if v.about != "" {
		out["description"] = v.about
	}
	return out
}
