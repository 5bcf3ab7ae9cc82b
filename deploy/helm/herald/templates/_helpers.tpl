{{- define "herald.labels" -}}
app.kubernetes.io/name: herald
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "herald.metadata" -}}
name: {{ .root.Release.Name }}-{{ .component }}
labels:
  {{- include "herald.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "herald.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* An environment variable from an existing Secret. */}}
{{- define "herald.secretEnv" -}}
- name: {{ .env }}
  valueFrom: { secretKeyRef: { name: {{ .secret.name | quote }}, key: {{ .secret.key | quote }} } }
{{- end }}

{{/* Settings of all services and then those of one, which win. */}}
{{- define "herald.settingsEnv" -}}
{{- /* Not merge: to that, false is no value. */}}
{{- $settings := dict }}
{{- range $name, $value := .common }}{{ $_ := set $settings $name $value }}{{ end }}
{{- range $name, $value := .own }}{{ $_ := set $settings $name $value }}{{ end }}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  {{- /* Large whole numbers would come out as 1e+06. */}}
  value: {{ if kindIs "float64" $value }}{{ if eq $value (floor $value) }}{{ $value | int64 | toString | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end }}

{{/* The cluster's own public ranges, for those who judge receivers' addresses. */}}
{{- define "herald.deniedEnv" -}}
{{- with .Values.networkPolicy.clusterRanges }}
- { name: DENIED_NETWORKS, value: {{ join "," . | quote }} }
{{- end }}
{{- end }}

{{- define "herald.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "herald.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What the values say of the pods of a component: the pod of all, with what the component's own has in its place. */}}
{{- define "herald.podValues" -}}
{{- $pod := dict }}
{{- $key := ternary "managementApi" (.component | splitList "-" | first) (eq .component "management-api") }}
{{- range list .root.Values.pod (index .root.Values $key).pod }}
{{- range $name, $value := . }}{{ $_ := set $pod $name $value }}{{ end }}
{{- end }}
{{- toYaml $pod }}
{{- end }}

{{/* Every problem with the values at once, in words. */}}
{{- define "herald.checkValues" -}}
{{- $problems := list }}
{{- $databases := dict "databaseOwner" .Values.secrets.databaseOwner }}
{{- $secrets := dict
  "databaseOwner" (list .Values.secrets.databaseOwner "the URL of PostgreSQL for the migration, as the tables' owner")
  "secretKeys" (list .Values.secrets.secretKeys "the private keys that open the signing secrets (SECRET_KEYS)") }}
{{- range $service := list "managementApi" "publisher" "dispatcher" }}
{{- $own := index $.Values.secrets $service }}
{{- $_ := set $databases (printf "%s.database" $service) $own.database }}
{{- $_ := set $secrets (printf "%s.database" $service) (list $own.database "the URL of PostgreSQL, as the user of this service (postgres://...)") }}
{{- $_ := set $secrets (printf "%s.broker" $service) (list $own.broker "the URL of RabbitMQ, as the user of this service (amqp://...)") }}
{{- end }}
{{- range $name, $secret := $secrets }}
{{- if not (first $secret).name }}
{{- $problems = append $problems (printf "secrets.%s.name: name an existing Secret that holds %s" $name (last $secret)) }}
{{- end }}
{{- end }}
{{- range $name, $secret := $databases }}
{{- if $secret.keys }}
{{- if not (and (hasKey $secret.keys "username") (hasKey $secret.keys "password")) }}
{{- $problems = append $problems (printf "secrets.%s.keys: name the keys of username and password" $name) }}
{{- end }}
{{- if not (or (hasKey $secret.keys "host") $secret.host) }}
{{- $problems = append $problems (printf "secrets.%s.host: say where PostgreSQL is, or name the key of the host under keys" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $ca := .Values.caFiles }}
{{- if and $ca.secret $ca.configMap }}
{{- $problems = append $problems (printf "caFiles.%s: name a Secret or a ConfigMap, and not both" $name) }}
{{- end }}
{{- end }}
{{- $api := merge (dict) .Values.managementApi.settings .Values.settings }}
{{- if not (or (get $api "AUTH_JWKS_URL") (get $api "AUTH_PUBLIC_KEY") .Values.secrets.authJwtSecret.name) }}
{{- $problems = append $problems "managementApi.settings: set AUTH_JWKS_URL (with AUTH_ISSUER and AUTH_AUDIENCE) or AUTH_PUBLIC_KEY, to verify tokens with; or name secrets.authJwtSecret for a trial" }}
{{- end }}
{{- if not (get $api "SECRET_SEALING_KEY") }}
{{- $problems = append $problems "managementApi.settings.SECRET_SEALING_KEY: say the public key of the newest of SECRET_KEYS; herald keys make prints both" }}
{{- end }}
{{- if not (or (get $api "PUBLIC_ORIGIN") (eq (toString (get $api "HERALD_ENV")) "development")) }}
{{- $problems = append $problems "managementApi.settings.PUBLIC_ORIGIN: say where browsers see the admin page, as https://herald.example.com" }}
{{- end }}
{{- range $name := list "DATABASE_URL" "AMQP_URL" "SECRET_KEYS" "AUTH_JWT_SECRET" "OTEL_EXPORTER_OTLP_HEADERS" }}
{{- range $place, $settings := dict "settings" $.Values.settings "managementApi.settings" $.Values.managementApi.settings "publisher.settings" $.Values.publisher.settings "dispatcher.settings" $.Values.dispatcher.settings }}
{{- if hasKey $settings $name }}
{{- $problems = append $problems (printf "%s.%s: a secret doesn't belong into values; put it into a Secret and name that under secrets" $place $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $place, $settings := dict "settings" .Values.settings "managementApi.settings" .Values.managementApi.settings "dispatcher.settings" .Values.dispatcher.settings }}
{{- if hasKey $settings "DENIED_NETWORKS" }}
{{- $problems = append $problems (printf "%s.DENIED_NETWORKS: put these into networkPolicy.clusterRanges, which closes them in the network policies too" $place) }}
{{- end }}
{{- end }}
{{- $relays := list }}
{{- range $index, $outbox := .Values.relay.outboxes }}
{{- if has $outbox.name $relays }}
{{- $problems = append $problems (printf "relay.outboxes[%d].name: another outbox is called %s too" $index $outbox.name) }}
{{- end }}
{{- $relays = append $relays $outbox.name }}
{{- if not (or $outbox.broker $.Values.relay.broker.name) }}
{{- $problems = append $problems (printf "relay.broker.name: name an existing Secret that holds the URL of RabbitMQ, as the user of emitters; or one for %s, by relay.outboxes[%d].broker" $outbox.name $index) }}
{{- end }}
{{- $server := default dict $outbox.networkPolicy }}
{{- if and $.Values.networkPolicy.enabled (not (and $server.peers $server.port)) }}
{{- $problems = append $problems (printf "relay.outboxes[%d].networkPolicy: say by peers and port where the database of %s is, or set networkPolicy.enabled to false" $index $outbox.name) }}
{{- end }}
{{- range $name := list "OUTBOX_DATABASE_URL" "AMQP_URL" }}
{{- if or (hasKey (default dict $outbox.settings) $name) (hasKey $.Values.relay.settings $name) }}
{{- $problems = append $problems (printf "relay: %s is a secret and doesn't belong into settings; put it into a Secret and name that by database or broker of the outbox %s" $name $outbox.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
{{- range $name := list "database" "broker" }}
{{- if not (index $.Values.networkPolicy $name).peers }}
{{- $problems = append $problems (printf "networkPolicy.%s.peers: say where it is (a podSelector, or an ipBlock outside of the cluster), or set networkPolicy.enabled to false" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.apiClients) }}
{{- $problems = append $problems "networkPolicy.apiClients: say who may call the management API, such as the namespace of your ingress controller; { namespaceSelector: {} } is anybody in the cluster" }}
{{- end }}
{{- if and .Values.managementApi.ingress.enabled (not .Values.managementApi.ingress.host) }}
{{- $problems = append $problems "managementApi.ingress.host: say the name by which clients call the API" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled .Values.monitoring.podMonitor.enabled (not .Values.networkPolicy.scrapers) }}
{{- $problems = append $problems "networkPolicy.scrapers: say where Prometheus is, which monitoring.podMonitor has scrape the pods" }}
{{- end }}
{{- if and .Values.managementApi.route.enabled (not (and .Values.managementApi.route.host .Values.managementApi.route.parentRefs)) }}
{{- $problems = append $problems "managementApi.route: say by host the name by which clients call the API, and by parentRefs the gateway" }}
{{- end }}
{{- range $component := list "managementApi" "publisher" "dispatcher" }}
{{- with (index $.Values $component).autoscaling }}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) }}
{{- $problems = append $problems (printf "%s.autoscaling.minReplicas: is more than maxReplicas" $component) }}
{{- end }}
{{- if and .enabled (hasKey . "prometheusUrl") (not .prometheusUrl) }}
{{- $problems = append $problems (printf "%s.autoscaling.prometheusUrl: say which Prometheus knows how much waits" $component) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $problems }}
{{- fail (printf "\nHerald's chart can't be installed with these values:\n  - %s\n" (join "\n  - " $problems)) }}
{{- end }}
{{- end }}
