{{/* The settings in the ConfigMap. docs/kubernetes.md has the list; `config` wins over what other values say. */}}
{{- define "anneal.settings" -}}
{{- $name := include "anneal.fullname" . -}}
{{- $trial := .Values.trial.enabled -}}
{{- $settings := dict
  "ANNEAL_COMPUTE" "kubernetes"
  "ANNEAL_KUBERNETES_INSTANCE" .Release.Name
  "ANNEAL_KUBERNETES_NAMESPACE" (include "anneal.runsNamespace" .)
  "ANNEAL_POD_TEMPLATES" "/etc/anneal/templates/pod-templates.yaml"
  "ANNEAL_INTERNAL_URL" (printf "http://%s-internal.%s.svc.%s:8081" $name .Release.Namespace .Values.clusterDomain)
  "TEMPORAL_NAMESPACE" (.Values.temporal.namespace | default $name)
  "LOG_LEVEL" "info"
-}}
{{- range $key, $value := dict
  "TEMPORAL_ADDRESS" (ternary (printf "%s-temporal:7233" $name) .Values.temporal.address $trial)
  "TEMPORAL_UI_URL" .Values.temporal.uiUrl
  "S3_ENDPOINT" (ternary (printf "http://%s-s3.%s.svc.%s:7070" $name .Release.Namespace .Values.clusterDomain) .Values.store.endpoint $trial)
  "S3_REGION" (ternary "us-east-1" .Values.store.region $trial)
  "S3_BUCKET" (ternary "anneal" .Values.store.bucket $trial)
  "S3_PUBLIC_ENDPOINT" .Values.store.publicEndpoint
-}}
{{- if $value }}{{- $_ := set $settings $key $value }}{{- end }}
{{- end -}}
{{- with .Values.store.webIdentity }}{{- if .enabled }}
{{- $_ := set $settings "AWS_WEB_IDENTITY_TOKEN_FILE" "/etc/anneal/web-identity/token" }}
{{- range $key, $value := dict "AWS_ROLE_ARN" .roleArn "AWS_ENDPOINT_URL_STS" .stsEndpoint }}{{- if $value }}{{- $_ := set $settings $key $value }}{{- end }}{{- end }}
{{- end }}{{- end -}}
{{- if .Values.catalogue }}{{- $_ := set $settings "ANNEAL_CATALOGUE" "/etc/anneal/catalogue/models.json" }}{{- end -}}
{{- with .Values.slots }}{{- $_ := set $settings "ANNEAL_SLOTS" (include "anneal.text" .) }}{{- end -}}
{{- if .Values.kueue.enabled }}
{{- $_ := set $settings "ANNEAL_KUEUE_QUEUE" (include "anneal.queue" .) -}}
{{- $_ := set $settings "ANNEAL_KUEUE_PRIORITY_CLASSES" (printf "%s-low,%s-normal,%s-high" $name $name $name) -}}
{{- end -}}
{{- range $key, $value := .Values.config }}{{- $_ := set $settings $key (include "anneal.text" $value) }}{{- end -}}
{{- toYaml $settings }}
{{- end }}

{{/* A number as it was written: Go would print 1000000 as 1e+06. */}}
{{- define "anneal.text" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end }}

{{/* The file of pod templates: `podTemplates.templates`, with the image of the runtime where no other is named. */}}
{{- define "anneal.podTemplates" -}}
{{- $templates := deepCopy .Values.podTemplates.templates -}}
{{- $image := include "anneal.image" (merge (dict "tag" (.Values.runtimeImage.tag | default .Chart.AppVersion)) .Values.runtimeImage) -}}
{{- range $program, $module := dict "trainer" "anneal_runtime.trainer" "model-server" "anneal_runtime.server" -}}
{{- $template := index $templates $program | default dict -}}
{{- $spec := $template.spec | default dict -}}
{{- $main := dict "name" $program "image" $image "command" (list "tini" "--" "python3" "-m" $module) -}}
{{- $others := list -}}
{{- range $spec.containers }}
{{- if eq .name $program }}{{- $main = merge (deepCopy .) $main }}{{- else }}{{- $others = append $others . }}{{- end }}
{{- end -}}
{{- $_ := set $spec "containers" (prepend $others $main) -}}
{{- with $.Values.imagePullSecrets }}{{- if not $spec.imagePullSecrets }}{{- $_ := set $spec "imagePullSecrets" . }}{{- end }}{{- end -}}
{{- $_ := set $template "spec" $spec -}}
{{- $_ := set $templates $program $template -}}
{{- end -}}
{{- /* null removes a field of Anneal's own pods. */ -}}
{{- if $.Values.leaveUserToPlatform }}
{{- range $program := list "trainer" "model-server" "python-grader" -}}
{{- $left := dict "spec" (dict "securityContext" (dict "runAsUser" nil "runAsGroup" nil "fsGroup" nil)) -}}
{{- $_ := set $templates $program (mergeOverwrite $left (index $templates $program | default dict)) -}}
{{- end }}
{{- end -}}
{{- toYaml $templates }}
{{- end }}
