{{- define "herald.podMetadata" -}}
{{- $pod := include "herald.podValues" . | fromYaml }}
labels:
  {{- include "herald.labels" . | nindent 2 }}
  {{- with $pod.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $pod.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What every pod has in common, by its component. A constraint of the spread without a selector means these pods. */}}
{{- define "herald.pod" -}}
{{- $pod := include "herald.podValues" . | fromYaml }}
{{- $own := dict "labelSelector" (dict "matchLabels" (include "herald.labels" . | fromYaml)) }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "herald.podSecurity" . | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $name := list "serviceAccountName" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $pod $name }}
{{ $name }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- if and $pod.topologySpreadConstraints (ne .component "migrate") }}
topologySpreadConstraints:
  {{- range $pod.topologySpreadConstraints }}
  - {{- toYaml (hasKey . "labelSelector" | ternary . (merge (dict) . $own)) | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What a disruption budget says of a component. */}}
{{- define "herald.disruption" -}}
maxUnavailable: 1
# One that can't work holds up no drain of its node.
unhealthyPodEvictionPolicy: AlwaysAllow
selector:
  matchLabels:
    {{- include "herald.labels" . | nindent 4 }}
{{- end }}

{{- define "herald.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: metrics }
  periodSeconds: 2
  failureThreshold: 30
# Not /readyz: no restart brings a database back.
livenessProbe:
  httpGet: { path: /healthz, port: metrics }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: metrics }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* A container of the herald command. Its environment comes last, so that more can be added to it. */}}
{{- define "herald.commandContainer" -}}
- name: {{ .name }}
  image: {{ include "herald.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: {{- toYaml .args | nindent 4 }}
  securityContext:
    {{- include "herald.containerSecurity" .root | nindent 4 }}
  resources: {{- toYaml .root.Values.migrate.resources | nindent 4 }}
  {{- include "herald.mounts" (dict "root" .root "component" "migrate" "cas" .cas) | nindent 2 }}
  {{- include "herald.envFrom" (dict "root" .root "component" "migrate") | nindent 2 }}
  env:
    {{- include "herald.databaseEnv" .database | nindent 4 }}
    {{- include "herald.caEnv" (dict "root" .root "cas" .cas) | nindent 4 }}
    {{- include "herald.settingsEnv" (dict "own" .settings "common" .root.Values.settings) | nindent 4 }}
{{- end }}

{{/*
DATABASE_URL from an existing Secret: from one key that holds it, or from keys of its parts. pg reads the password from PGPASSWORD
where the URL has none, so it need not be encoded for a URL.
*/}}
{{- define "herald.databaseEnv" -}}
{{- if .keys }}
{{- $secret := . }}
{{- range $part, $env := dict "username" "PGUSER" "password" "PGPASSWORD" "host" "PGHOST" "port" "PGPORT" "dbname" "PGDATABASE" }}
- name: {{ $env }}
  {{- if hasKey $secret.keys $part }}
  valueFrom: { secretKeyRef: { name: {{ $secret.name | quote }}, key: {{ get $secret.keys $part | quote }} } }
  {{- else }}
  value: {{ get $secret $part | toString | quote }}
  {{- end }}
{{- end }}
- { name: DATABASE_URL, value: "postgres://$(PGUSER)@$(PGHOST):$(PGPORT)/$(PGDATABASE)" }
{{- else }}
{{- include "herald.secretEnv" (dict "env" "DATABASE_URL" "secret" .) }}
{{- end }}
{{- end }}

{{/* The files of certificate authorities that are set, of those that a pod reads: the setting and the folder of each. */}}
{{- define "herald.cas" -}}
{{- $settings := dict "database" "DATABASE_CA_FILE" "broker" "AMQP_CA_FILE" "receivers" "EXTRA_CA_FILE" }}
{{- range $name := .cas }}
{{- $ca := get $.root.Values.caFiles $name }}
{{- if or $ca.secret $ca.configMap }}
- { name: {{ $name }}, setting: {{ get $settings $name }}, secret: {{ $ca.secret | quote }}, configMap: {{ $ca.configMap | quote }}, key: {{ $ca.key | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{- define "herald.caEnv" -}}
{{- range include "herald.cas" . | fromYamlArray }}
- { name: {{ .setting }}, value: "/etc/herald/ca/{{ .name }}/{{ .key }}" }
{{- end }}
{{- end }}

{{- define "herald.envFrom" -}}
{{- with (include "herald.podValues" . | fromYaml).extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "herald.mounts" -}}
{{- $cas := include "herald.cas" . | fromYamlArray }}
{{- $extra := (include "herald.podValues" . | fromYaml).extraVolumeMounts }}
{{- if or $cas $extra }}
volumeMounts:
  {{- range $cas }}
  - { name: ca-{{ .name }}, mountPath: /etc/herald/ca/{{ .name }}, readOnly: true }
  {{- end }}
  {{- with $extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "herald.volumes" -}}
{{- $cas := include "herald.cas" . | fromYamlArray }}
{{- $extra := (include "herald.podValues" . | fromYaml).extraVolumes }}
{{- if or $cas $extra }}
volumes:
  {{- range $cas }}
  {{- if .secret }}
  - { name: ca-{{ .name }}, secret: { secretName: {{ .secret }}, items: [{ key: {{ .key }}, path: {{ .key }} }] } }
  {{- else }}
  - { name: ca-{{ .name }}, configMap: { name: {{ .configMap }}, items: [{ key: {{ .key }}, path: {{ .key }} }] } }
  {{- end }}
  {{- end }}
  {{- with $extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}
