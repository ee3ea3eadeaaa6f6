"""Kubernetes resources as kpt hands them to a function, one list item each; made from numbers alone."""

from __future__ import annotations

import json

WORDS = ("cart", "catalog", "checkout", "identity", "invoice", "mail", "payment", "search", "stock", "tracking")
TEAMS = ("orders", "platform", "storefront")


def app_name(app: int) -> str:
    """The name of an application."""
    return f"{WORDS[app % len(WORDS)]}-{app}"


def kpt_annotations(path: str, number: int) -> str:
    """The annotations that kpt adds to the item with this number, below `metadata`; ids count from 1."""
    return f"""\
  annotations:
    config.kubernetes.io/index: '0'
    config.kubernetes.io/path: '{path}'
    internal.config.kubernetes.io/index: '0'
    internal.config.kubernetes.io/path: '{path}'
    internal.config.kubernetes.io/seqindent: 'compact'
    internal.config.kubernetes.io/annotations-migration-resource-id: '{number}'
    internal.config.kubernetes.io/id: '{number + 1}'
    config.k8s.io/id: '{number + 1}'"""


def kptfile_item(local: str) -> str:
    """The Kptfile; `local` has a place for its annotations."""
    return as_item(local.format(annotations=kpt_annotations("Kptfile", 0)))


def as_item(document: str) -> str:
    """A document as an item of a list at column 0."""
    lines = document.splitlines(keepends=True)
    return "- " + lines[0] + "".join(f"  {line}" if line != "\n" else line for line in lines[1:])


def deployment(app: int, number: int) -> str:
    """A Deployment with comments, setters and two containers."""
    name, team = app_name(app), TEAMS[app % len(TEAMS)]
    return as_item(f"""\
# {name} belongs to team {team}; don't scale it by hand.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: shop # kpt-set: ${{namespace}}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: shop
    team: {team}
{kpt_annotations(f"apps/{name}/deployment.yaml", number)}
spec:
  replicas: {2 + app % 5} # kpt-set: ${{{WORDS[app % len(WORDS)]}-replicas}}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 25%
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "{9000 + app % 100}"
    spec:
      serviceAccountName: {name}
      securityContext: {{runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001}}
      containers:
      - name: server
        image: registry.example.com/shop/{name}:v1.{app % 30}.{app % 7} # kpt-set: ${{registry}}/{name}:${{tag}}
        args: ["--listen=:8080", "--log-format=json", '--feature=it''s-on']
        ports:
        - name: http
          containerPort: 8080
        - name: metrics
          containerPort: {9000 + app % 100}
        env:
        - name: GREETING
          value: "Welcome to the shop's \\"{name}\\" service\\nHave a nice day\\n"
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: {name}-database
              key: url
        # Measured in spring; the limit is twice the peak.
        resources:
          requests:
            cpu: {100 + app % 9 * 50}m
            memory: {128 + app % 5 * 64}Mi
          limits:
            memory: {512 + app % 5 * 64}Mi
        readinessProbe:
          httpGet:
            path: /ready
            port: http
          periodSeconds: 5
        volumeMounts:
        - name: settings
          mountPath: /etc/{name}
          readOnly: true
      - name: proxy
        image: registry.example.com/mesh/proxy:v2.{app % 4}.0
        command:
        - /bin/sh
        - -c
        - |
          # Waits for the server, then serves.
          until wget -q -O- http://localhost:8080/ready; do
            echo "server isn't ready yet"; sleep 1
          done
          exec proxy --upstream=localhost:8080
      volumes:
      - name: settings
        configMap:
          name: {name}-settings
""")


def service(app: int, number: int) -> str:
    """A Service."""
    name = app_name(app)
    return as_item(f"""\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: shop # kpt-set: ${{namespace}}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: shop
{kpt_annotations(f"apps/{name}/service.yaml", number)}
spec:
  type: ClusterIP
  selector:
    app.kubernetes.io/name: {name}
  ports:
  - name: http
    port: 80
    targetPort: http
    protocol: TCP
  - name: metrics
    port: {9000 + app % 100}
    targetPort: metrics
    protocol: TCP
""")


def config_map(app: int, number: int) -> str:
    """A ConfigMap of files: properties, a web server's configuration, a shell script."""
    name = app_name(app)
    return as_item(f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}-settings
  namespace: shop # kpt-set: ${{namespace}}
{kpt_annotations(f"apps/{name}/settings.yaml", number)}
data:
  LOG_LEVEL: {"debug" if app % 4 == 0 else "info"}
  MAX_CONNECTIONS: "{50 + app % 10 * 10}"
  MOTTO: 'It''s {name}: fast & simple'
  SIGNATURE: "-- \\nThe team of \\"{name}\\"\\n"
  application.properties: |
    # {name}: don't put secrets here
    server.port=8080
    server.title=The shop's "{name}" service
    cache.keys[0]=prices
    cache.ttl={30 + app % 60}s

    feature.discount={"on" if app % 3 else "off"}
    feature.message='Buy one, get one free'
  nginx.conf: |
    # Don't edit on the server.
    upstream backend {{
        server {name}:8080 max_fails=3;
        keepalive 16;
    }}
    server {{
        listen 80;
        server_name {name}.example.com;
        location / {{
            proxy_pass http://backend;
            proxy_set_header Host $host;
            add_header X-Note "it's cached" always;
        }}
        location ~ ^/(health|ready)$ {{
            access_log off;
            return 200 'ok\\n';
        }}
    }}
  start.sh: |-
    #!/bin/sh
    set -eu
    if [ -z "${{DATABASE_URL:-}}" ]; then
      echo "DATABASE_URL isn't set" >&2
      exit 1
    fi
    case "$1" in
      'serve') exec {name} --listen=:8080 ;;
      *) echo 'what''s "'"$1"'"?' >&2; exit 2 ;;
    esac
""")


def dashboard(app: int, number: int) -> str:
    """A ConfigMap with a dashboard: pretty-printed JSON in a block scalar."""
    name = app_name(app)
    metrics = ("requests", "errors", "latency", "queue", "memory", "cpu", "threads", "connections")
    panels = [
        {
            "id": index,
            "title": f"{name}'s {metric}",
            "type": "timeseries",
            "gridPos": {"x": index % 2 * 12, "y": index // 2 * 8, "w": 12, "h": 8},
            "targets": [
                {"expr": f'sum(rate({metric}_total{{app="{name}"}}[5m])) by (code)', "legendFormat": "{{code}}"}
            ],
            "fieldConfig": {"defaults": {"unit": "short", "min": 0}, "overrides": []},
        }
        for index, metric in enumerate(metrics)
    ]
    board = json.dumps({"title": f"Service {name}", "schemaVersion": 39, "panels": panels}, indent=2)
    body = "".join(f"    {line}\n" for line in board.splitlines())
    return as_item(f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}-dashboard
  namespace: monitoring
  labels:
    grafana_dashboard: "1"
{kpt_annotations(f"monitoring/{name}.yaml", number)}
data:
  {name}.json: |
{body}""")


def custom_resource_definition(app: int, number: int) -> str:
    """A CustomResourceDefinition with a deep schema and long descriptions."""
    word = WORDS[app % len(WORDS)]
    kind = f"{word.capitalize()}Policy{app}"
    plural = f"{word}policies{app}"
    fields = "".join(
        _schema_field(field) for field in ("budget", "limits", "rollout", "schedule", "selector", "targets")
    )
    return as_item(f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.shop.example.com
{kpt_annotations(f"crds/{plural}.yaml", number)}
spec:
  group: shop.example.com
  names:
    kind: {kind}
    listKind: {kind}List
    plural: {plural}
    singular: {plural[:-1]}
    shortNames: [sp{app}]
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {{}}
    additionalPrinterColumns:
    - name: Ready
      type: string
      jsonPath: .status.conditions[?(@.type=="Ready")].status
    schema:
      openAPIV3Schema:
        description: {kind} says how the shop's {word} service may use what it shares with others.
        type: object
        required:
        - spec
        properties:
          apiVersion:
            description: 'APIVersion defines the versioned schema of this object: servers convert what they recognize.'
            type: string
          kind:
            description: 'Kind is a string value: it''s the REST resource that this object represents.'
            type: string
          metadata:
            type: object
          spec:
            type: object
            properties:
{fields}""")


def _schema_field(field: str) -> str:
    return f"""\
              {field}:
                description: |-
                  {field.capitalize()} of the policy. It's optional; where it isn't set, the "default" of the cluster
                  holds.

                  More info: https://docs.example.com/{field}
                type: object
                x-kubernetes-preserve-unknown-fields: false
                properties:
                  enabled:
                    description: Whether {field} is looked at.
                    type: boolean
                    default: true
                  mode:
                    description: 'One of "strict" and "relaxed": strict refuses, relaxed warns.'
                    type: string
                    enum:
                    - strict
                    - relaxed
                    default: strict
                  values:
                    type: array
                    maxItems: 64
                    items:
                      type: object
                      required: [name]
                      properties:
                        name:
                          type: string
                          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'
                        weight:
                          type: integer
                          format: int32
                          minimum: 0
                          maximum: 100
"""
