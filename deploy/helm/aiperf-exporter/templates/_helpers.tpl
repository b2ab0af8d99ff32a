{{/* app.kubernetes.io/name, which is the job in Prometheus, too */}}
{{- define "aiperf-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 59 | trimSuffix "-" }}
{{- end }}

{{/* The DaemonSet has another name, so that no selector of the one takes the other's pods. */}}
{{- define "aiperf-exporter.gpuName" -}}
{{ include "aiperf-exporter.name" . }}-gpu
{{- end }}

{{/* 49 leaves room for the longest end that an object's name gets, and what controllers put behind the name of pods. */}}
{{- define "aiperf-exporter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 49 | trimSuffix "-" }}
{{- else if contains (include "aiperf-exporter.name" .) .Release.Name }}
{{- .Release.Name | trunc 49 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "aiperf-exporter.name" .) | trunc 49 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "aiperf-exporter.namespace" -}}
{{ default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{/* What selectors are made of. They cannot be changed later: no version is in them, and nothing that a value could change but the names. */}}
{{- define "aiperf-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "aiperf-exporter.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "aiperf-exporter.gpuSelectorLabels" -}}
app.kubernetes.io/name: {{ include "aiperf-exporter.gpuName" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "aiperf-exporter.commonLabels" -}}
app.kubernetes.io/part-of: aiperf-exporter
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "aiperf-exporter.labels" -}}
{{ include "aiperf-exporter.selectorLabels" . }}
{{ include "aiperf-exporter.commonLabels" . }}
{{- end }}

{{- define "aiperf-exporter.gpuLabels" -}}
{{ include "aiperf-exporter.gpuSelectorLabels" . }}
{{ include "aiperf-exporter.commonLabels" . }}
{{- end }}

{{/* What prometheus-operator selects Services and pods by: those with metrics, of the exporter and of the DaemonSet. */}}
{{- define "aiperf-exporter.scrapedLabels" -}}
app.kubernetes.io/part-of: aiperf-exporter
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: metrics
{{- end }}

{{- define "aiperf-exporter.image" -}}
{{- $image := .Values.image }}
{{- $name := ternary (printf "%s/%s" $image.registry $image.repository) $image.repository (ne $image.registry "") }}
{{- if $image.digest }}{{ $name }}@{{ $image.digest }}{{ else }}{{ $name }}:{{ default .Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{- define "aiperf-exporter.gpuImage" -}}
{{- $image := .Values.image }}
{{- $name := ternary (printf "%s/%s" $image.registry $image.repository) $image.repository (ne $image.registry "") }}
{{- if .Values.gpuAgent.image.digest }}{{ $name }}@{{ .Values.gpuAgent.image.digest }}
{{- else }}{{ $name }}:{{ default (printf "%s-nvml" .Chart.AppVersion) .Values.gpuAgent.image.tag }}{{ end }}
{{- end }}

{{- define "aiperf-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "aiperf-exporter.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "aiperf-exporter.sharded" -}}
{{- if gt (int .Values.sharding.replicas) 1 }}true{{ end }}
{{- end }}

{{/* A text, or a map that becomes one. */}}
{{- define "aiperf-exporter.config" -}}
{{- if kindIs "string" .Values.config }}{{ .Values.config }}{{ else if .Values.config }}{{ toYaml .Values.config }}{{ else }}{}{{ end }}
{{- end }}

{{- define "aiperf-exporter.ownConfig" -}}
{{- if not (or .Values.existingConfigMap .Values.configExistingSecretName) }}true{{ end }}
{{- end }}

{{- define "aiperf-exporter.webConfig" -}}
{{- if or .Values.webConfig.existingSecret .Values.webConfig.tlsSecret }}true{{ end }}
{{- end }}

{{/* http or https: how the port is asked. */}}
{{- define "aiperf-exporter.scheme" -}}
{{- if include "aiperf-exporter.webConfig" . }}{{ lower .Values.webConfig.scheme }}{{ else }}http{{ end }}
{{- end }}

{{/* The namespaces in which discovery may look. */}}
{{- define "aiperf-exporter.discoveryNamespaces" -}}
{{- toJson (default (list (include "aiperf-exporter.namespace" .)) .Values.discovery.namespaces) }}
{{- end }}

{{/* list and watch, of what docs/discovery.md lists: never secrets, and nothing can be changed. */}}
{{- define "aiperf-exporter.discoveryRules" -}}
- apiGroups: [""]
  resources: [pods, services]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
- apiGroups: [inference.networking.k8s.io, inference.networking.x-k8s.io]
  resources: [inferencepools]
  verbs: [list, watch]
{{- end }}

{{/* How a probe asks: a list of the root and the values of the probe and its page. */}}
{{- define "aiperf-exporter.probe" -}}
{{- $root := index . 0 }}{{- $probe := index . 1 }}{{- $page := index . 2 }}
{{- $own := or (hasKey $probe "httpGet") (hasKey $probe "exec") (hasKey $probe "tcpSocket") (hasKey $probe "grpc") }}
{{- if and (not $own) $root.Values.webConfig.existingSecret $root.Values.webConfig.probeClient }}
exec:
  command:
    - /usr/bin/aiperf-exporter
    - check
    - health
    - --url={{ include "aiperf-exporter.scheme" $root }}://localhost:{{ $root.Values.containerPort }}
    - --http.config.file=/etc/aiperf-exporter/web/client.yml
    {{- if eq $page "ready" }}
    - --ready
    {{- end }}
{{- else if not $own }}
httpGet:
  path: /-/{{ $page }}
  port: http-metrics
  scheme: {{ upper (include "aiperf-exporter.scheme" $root) }}
{{- end }}
{{- with $probe }}
{{ toYaml . }}
{{- end }}
{{- end }}
