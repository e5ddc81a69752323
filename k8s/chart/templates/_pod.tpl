{{- define "anneal.podSecurity" -}}
runAsNonRoot: true
{{- if not .Values.leaveUserToPlatform }}
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "anneal.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/*
A container that runs one command and ends. It gets the settings and the extras of its part: files of certificates, variables
of a password command. Arguments: root, name, command, values (of the part)
*/}}
{{- define "anneal.once" -}}
- name: {{ .name }}
  image: {{ include "anneal.serviceImage" .root }}
  {{- with .root.Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  args: {{ toJson (prepend .command "src/cli.ts") }}
  envFrom:
    {{- include "anneal.settingsFrom" . | nindent 4 }}
    {{- if eq .name "migrate" }}
    # The user who may change the schema. No other container gets this Secret, which may be absent.
    - secretRef:
        name: {{ .root.Values.secrets.migrateName }}
        optional: true
    {{- end }}
  {{- with .values.extraEnv }}
  env:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml .root.Values.migrate.resources | nindent 4 }}
  securityContext:
    {{- include "anneal.containerSecurity" . | nindent 4 }}
  volumeMounts:
    - name: tmp
      mountPath: /tmp
    {{- with .values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Where a container of a part takes its settings from. Arguments: root, values (of the part) */}}
{{- define "anneal.settingsFrom" -}}
- configMapRef:
    name: {{ include "anneal.fullname" .root }}-config
- secretRef:
    name: {{ include "anneal.secretName" .root }}
{{- with .values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Where pods may run. Arguments: root, values (of the part) */}}
{{- define "anneal.scheduling" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "dnsConfig" }}
{{- with index $.values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- range $field := list "priorityClassName" "runtimeClassName" }}
{{- with index $.values $field }}
{{ $field }}: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Fields that api and worker share. Arguments: root, values (of the part), name */}}
{{- define "anneal.placement" -}}
{{- include "anneal.scheduling" . }}
{{- if .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: {{ include "anneal.fullname" $.root }}-{{ $.name }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end }}

{{/* Labels and annotations of a pod. A changed setting restarts the pods. Arguments: root, values, name */}}
{{- define "anneal.podMetadata" -}}
labels:
  {{- include "anneal.labels" (dict "root" .root "name" .name "component" .name) | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/settings: {{ include "anneal.settings" .root | sha256sum }}
  {{- if .root.Values.catalogue }}
  checksum/catalogue: {{ toJson .root.Values.catalogue | sha256sum }}
  {{- end }}
  {{- if and (eq .name "worker") (not .root.Values.podTemplates.existingConfigMap) }}
  checksum/pod-templates: {{ include "anneal.podTemplates" .root | sha256sum }}
  {{- end }}
  {{- with merge (dict) .values.podAnnotations .root.Values.commonAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Environment and image of the main container. Arguments: root, values */}}
{{- define "anneal.main" -}}
image: {{ include "anneal.serviceImage" .root }}
{{- with .root.Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
envFrom:
  {{- include "anneal.settingsFrom" . | nindent 2 }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
securityContext:
  {{- include "anneal.containerSecurity" . | nindent 2 }}
{{- end }}

{{/* Volumes and mounts that both have. Arguments: root, values */}}
{{- define "anneal.mounts" -}}
{{- if .root.Values.catalogue }}
- name: catalogue
  mountPath: /etc/anneal/catalogue
  readOnly: true
{{- end }}
{{- if .root.Values.store.webIdentity.enabled }}
- name: web-identity
  mountPath: /etc/anneal/web-identity
  readOnly: true
{{- end }}
{{- with .values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "anneal.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .values.temporarySize }}
{{- if .root.Values.catalogue }}
- name: catalogue
  configMap:
    name: {{ include "anneal.fullname" .root }}-catalogue
{{- end }}
{{- with .root.Values.store.webIdentity }}
{{- if .enabled }}
# A token of the pod's ServiceAccount for the STS. The kubelet renews it.
- name: web-identity
  projected:
    sources:
      - serviceAccountToken:
          path: token
          audience: {{ .audience }}
          expirationSeconds: {{ .expirationSeconds | int }}
{{- end }}
{{- end }}
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "anneal.disruption" -}}
{{- if .values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "anneal.fullname" .root }}-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  {{- include "anneal.metadata" (dict "root" .root "name" .name "component" .name) | nindent 2 }}
spec:
  # Allows a drain even with one replica.
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ include "anneal.fullname" .root }}-{{ .name }}
{{- end }}
{{- end }}
