{{- define "kith.labels" -}}
app.kubernetes.io/name: kith
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kith.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The settings of a pod: no rights, and no token of the cluster. Its argument is the user. */}}
{{- define "kith.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 30
securityContext:
  runAsNonRoot: true
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "kith.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* The settings that backends and edges share. */}}
{{- define "kith.env" -}}
- {name: KITH_DATA, value: /data}
- {name: KITH_OPS_ADDR, value: "0.0.0.0:9090"}
- {name: KITH_MASTER_KEY, valueFrom: {secretKeyRef: {name: {{ .Values.secret | quote }}, key: master-key}}}
{{- if .Values.database.auth }}
- {name: KITH_DATABASE_TOKEN, valueFrom: {secretKeyRef: {name: {{ .Values.secret | quote }}, key: database-token}}}
{{- end }}
{{- if .Values.trustedProxies }}
- {name: KITH_TRUSTED_PROXIES, value: {{ .Values.trustedProxies | quote }}}
{{- end }}
{{- end }}

{{- define "kith.probes" -}}
readinessProbe: {httpGet: {path: /readyz, port: ops}, periodSeconds: 5, timeoutSeconds: 3}
livenessProbe: {httpGet: {path: /healthz, port: ops}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
# The endpoint is removed while the process still accepts connections.
lifecycle: {preStop: {sleep: {seconds: 5}}}
{{- end }}

{{- define "kith.annotations" -}}
prometheus.io/scrape: "true"
prometheus.io/port: "9090"
{{- end }}
