{{/* The beginning of all names. It leaves room for the longest end within the 63 characters of a label. */}}
{{- define "queens.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $full .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* The labels of a role. They also select its pods: another release in the namespace has other ones. */}}
{{- define "queens.labels" -}}
{app: queens, app.kubernetes.io/instance: "{{ .root.Release.Name }}", role: {{ .role }}}
{{- end }}

{{/* The name of a secret: the given one, or that of the release with this end. */}}
{{- define "queens.secret" -}}
{{- default (printf "%s-%s" (include "queens.fullname" .root) .end) .given -}}
{{- end }}

{{- define "queens.keys" -}}
{{- include "queens.secret" (dict "root" . "given" .Values.coordinator.keys "end" "coordinator-keys") -}}
{{- end }}

{{- define "queens.authority" -}}
{{- include "queens.secret" (dict "root" . "given" .Values.coordinator.authority "end" "coordinator-authority") -}}
{{- end }}

{{- define "queens.store" -}}
{{- include "queens.secret" (dict "root" . "given" .Values.coordinator.store.secret "end" "coordinator-store") -}}
{{- end }}
