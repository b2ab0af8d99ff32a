{{/* The pod of the exporter, in a Deployment or a StatefulSet. No version is in its labels: it restarts when something about it has changed. */}}
{{- define "aiperf-exporter.pod" -}}
metadata:
  labels:
    {{- include "aiperf-exporter.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/part-of: aiperf-exporter
    app.kubernetes.io/component: metrics
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "aiperf-exporter.serviceAccountName" . | quote }}
  automountServiceAccountToken: {{ .Values.discovery.enabled }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  enableServiceLinks: false
  dnsPolicy: {{ .Values.dnsPolicy }}
  {{- if .Values.hostNetwork }}
  hostNetwork: true
  {{- end }}
  {{- $spec := pick .Values "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" "dnsConfig" "hostAliases" }}
  {{- $_ := set $spec "securityContext" .Values.podSecurityContext }}
  {{- $_ := set $spec "initContainers" .Values.extraInitContainers }}
  {{- range $key, $value := $spec }}
  {{- with $value }}
  {{ $key }}:{{ if kindIs "string" . }} {{ . | quote }}{{ else }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- end }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    {{- $selector := include "aiperf-exporter.selectorLabels" $ | fromYaml }}
    - {{ toYaml (merge (deepCopy .) (ternary (dict) (dict "labelSelector" (dict "matchLabels" $selector)) (hasKey . "labelSelector"))) | nindent 6 | trim }}
    {{- end }}
  {{- end }}
  containers:
    - name: aiperf-exporter
      {{- include "aiperf-exporter.container" . | nindent 6 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "aiperf-exporter.volumes" . | nindent 4 }}
{{- end }}

{{- define "aiperf-exporter.container" -}}
image: {{ include "aiperf-exporter.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - serve
  - --config.file=/etc/aiperf-exporter/aiperf-exporter.yml
  - --config.auto-reload-interval={{ .Values.configReloadInterval }}
  - --budget.state-file=/var/lib/aiperf-exporter/budget.json
  - --web.listen-address=:{{ .Values.containerPort }}
  {{- if include "aiperf-exporter.sharded" . }}
  - --shard=$(POD_INDEX)/{{ .Values.sharding.replicas }}
  {{- end }}
  {{- if include "aiperf-exporter.webConfig" . }}
  - --web.config.file=/etc/aiperf-exporter/web/web-config.yml
  {{- end }}
  {{- range .Values.extraArgs }}
  - {{ . | quote }}
  {{- end }}
{{- $request := dig "requests" "cpu" "" (default (dict) .Values.resources) }}
{{- if or $request .Values.extraEnv (include "aiperf-exporter.sharded" .) }}
env:
  {{- if $request }}
  - name: GOMAXPROCS
    valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: "1"}}
  {{- end }}
  {{- if include "aiperf-exporter.sharded" . }}
  - name: POD_INDEX
    valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: http-metrics
    containerPort: {{ .Values.containerPort }}
    protocol: TCP
livenessProbe:
  {{- include "aiperf-exporter.probe" (list . .Values.livenessProbe "healthy") | trim | nindent 2 }}
readinessProbe:
  {{- include "aiperf-exporter.probe" (list . .Values.readinessProbe "ready") | trim | nindent 2 }}
{{- range $key, $value := pick .Values "resources" "lifecycle" "securityContext" }}
{{- with $value }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
volumeMounts:
  - name: config
    mountPath: /etc/aiperf-exporter
    readOnly: true
  {{- if .Values.existingSecrets }}
  - name: secrets
    mountPath: /etc/aiperf-exporter/secrets
    readOnly: true
  {{- end }}
  {{- with include "aiperf-exporter.webMounts" . | trim }}{{ . | nindent 2 }}{{ end }}
  - name: state
    mountPath: /var/lib/aiperf-exporter
  {{- range concat .Values.extraConfigmapMounts .Values.extraSecretMounts }}
  - {{ toYaml (merge (pick . "name" "mountPath" "subPath") (dict "readOnly" (dig "readOnly" true .))) | nindent 4 | trim }}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What --web.config.file needs, in the DaemonSet, too. */}}
{{- define "aiperf-exporter.webMounts" -}}
{{- if include "aiperf-exporter.webConfig" . -}}
- name: web
  mountPath: /etc/aiperf-exporter/web
  readOnly: true
{{- end }}
{{- if .Values.webConfig.tlsSecret }}
- name: tls
  mountPath: /etc/aiperf-exporter/tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "aiperf-exporter.webVolumes" -}}
{{- if .Values.webConfig.existingSecret -}}
- name: web
  secret: {secretName: {{ .Values.webConfig.existingSecret | quote }}, defaultMode: 0440}
{{- else if .Values.webConfig.tlsSecret -}}
- name: web
  configMap: {name: {{ include "aiperf-exporter.fullname" . }}-web}
{{- end }}
{{- with .Values.webConfig.tlsSecret }}
- name: tls
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* Secrets can be read by the group only, which is that of the pod: fsGroup. */}}
{{- define "aiperf-exporter.volumes" -}}
- name: config
  {{- if .Values.configExistingSecretName }}
  secret: {secretName: {{ .Values.configExistingSecretName | quote }}, defaultMode: 0440}
  {{- else if and .Values.secretConfig (include "aiperf-exporter.ownConfig" .) }}
  secret: {secretName: {{ include "aiperf-exporter.fullname" . | quote }}, defaultMode: 0440}
  {{- else }}
  configMap: {name: {{ default (include "aiperf-exporter.fullname" .) .Values.existingConfigMap | quote }}}
  {{- end }}
{{- if .Values.existingSecrets }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range .Values.existingSecrets }}
      - secret: {name: {{ . | quote }}}
      {{- end }}
{{- end }}
{{- with include "aiperf-exporter.webVolumes" . | trim }}{{ . | nindent 0 }}{{ end }}
{{- if .Values.persistence.existingClaim }}
- name: state
  persistentVolumeClaim: {claimName: {{ .Values.persistence.existingClaim | quote }}}
{{- else if not .Values.persistence.enabled }}
- name: state
  emptyDir: {sizeLimit: 16Mi}
{{- else if not (include "aiperf-exporter.sharded" .) }}
- name: state
  persistentVolumeClaim: {claimName: {{ include "aiperf-exporter.fullname" . | quote }}}
{{- end }}
{{- range .Values.extraConfigmapMounts }}
- name: {{ .name | quote }}
  configMap:
    {{- toYaml (merge (dict "name" .configMap) (pick . "defaultMode")) | nindent 4 }}
{{- end }}
{{- range .Values.extraSecretMounts }}
- name: {{ .name | quote }}
  secret:
    {{- toYaml (merge (dict "secretName" .secretName) (pick . "defaultMode") (dict "defaultMode" 288)) | nindent 4 }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
