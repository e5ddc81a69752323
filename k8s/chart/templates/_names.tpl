{{/* Names begin with the release, so that two installations share a cluster. The release "anneal" gives anneal-api. */}}
{{- define "anneal.fullname" -}}
{{- $name := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-anneal" .Release.Name) (contains "anneal" .Release.Name)) -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "anneal.runsNamespace" -}}
{{- .Values.runs.namespace | default (printf "%s-runs" .Release.Namespace) -}}
{{- end }}

{{/* Arguments: root, name (what stands after the release's name, or ""), component */}}
{{- define "anneal.labels" -}}
app.kubernetes.io/name: {{ include "anneal.fullname" .root }}{{ with .name }}-{{ . }}{{ end }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: anneal
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Arguments as for anneal.labels, and more: annotations of this object alone */}}
{{- define "anneal.metadata" -}}
labels:
  {{- include "anneal.labels" . | nindent 2 }}
{{- with merge (dict) (.more | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An image by digest, or by tag. */}}
{{- define "anneal.image" -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag }}{{- end -}}
{{- end }}

{{- define "anneal.serviceImage" -}}
{{- include "anneal.image" (merge (dict "tag" (.Values.image.tag | default .Chart.AppVersion)) .Values.image) -}}
{{- end }}

{{- define "anneal.secretName" -}}
{{- if .Values.trial.enabled }}{{ include "anneal.fullname" . }}-trial{{ else }}{{ .Values.secrets.name }}{{ end -}}
{{- end }}

{{- define "anneal.podTemplatesName" -}}
{{- .Values.podTemplates.existingConfigMap | default (printf "%s-pod-templates" (include "anneal.fullname" .)) -}}
{{- end }}

{{/* The queue of Kueue: one that exists, or the chart's own. */}}
{{- define "anneal.queue" -}}
{{- .Values.kueue.queue | default (include "anneal.fullname" .) -}}
{{- end }}
