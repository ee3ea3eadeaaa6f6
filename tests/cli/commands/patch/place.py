"""A directory with resources and a patch, and `krm-merge patch` in it."""

from __future__ import annotations

from pathlib import Path

from e2e.in_process import krm_merge

WEB = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1 # few
  template:
    spec:
      containers:
      - name: log
        image: fluent:1.0
      - name: web # the server
        image: 'nginx:1.25'
        env:
        - {name: A, value: "1"}
        - {name: B, value: "2"}
---
# names and zones
apiVersion: v1
kind: Service
metadata:
  name: dns
spec:
  ports:
  - port: 53 # zones
    targetPort: 53
  - port: 53 # names
    targetPort: 53
    protocol: UDP
"""
IMAGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: "nginx:1.27"}]}}}
"""
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: %s\n"


class Place:
    """A directory, and the program in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.write(**{"web.yaml": WEB, "patch.yaml": IMAGE})

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.directory / name).write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.directory / name).read_bytes().decode()

    def run(self, *arguments: str, stdin: str = "", code: int = 0) -> tuple[str, str]:
        """What it writes to stdout and stderr; its exit code must be this one."""
        done = krm_merge("patch", *arguments, cwd=self.directory, stdin=stdin, NO_COLOR="1")
        out, err = done.stdout, done.stderr
        assert done.returncode == code, (out, err)
        assert "Traceback" not in err
        if code:
            assert out == ""
        return out, err


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: zones.example.com}
spec:
  group: example.com
  names: {kind: Zone}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object}}
"""
OLD = WEB.partition("---\n")[0].replace("# the shop\n", "")
