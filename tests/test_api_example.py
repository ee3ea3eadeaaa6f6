"""The function that the guide shows, written on `krm_merge.krm`: it runs, and it is the one that the guide shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from checkout import ROOT
from e2e.hosts import SECONDS

NAME = "examples/python/set_namespace.py"

HEAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
"""
UNTOUCHED = """\
- apiVersion: v1
  kind:   Namespace   # no namespace in a namespace
  metadata: {name: prod,   annotations: {config.kubernetes.io/path: 'namespace.yaml'}}
- kind: ConfigMap
  apiVersion: v1
  metadata: { name: there, namespace: "prod" } # already there
"""
ITEMS = f"""\
- # the web server
  apiVersion: apps/v1
  kind: Deployment
  metadata: # who it is
    name: web
    namespace: default   # kpt-set: ${{namespace}}
    annotations:
      internal.config.kubernetes.io/path: 'web.yaml'
  spec:
    replicas: 3 # enough
{UNTOUCHED}\
- apiVersion: v1
  kind: Service
  metadata:
    name: web   # as the Deployment
  spec: {{ports: [{{port: 80}}]}}
"""
CONFIG = """\
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data: {namespace: prod}
"""
EXPECTED = f"""\
- # the web server
  apiVersion: apps/v1
  kind: Deployment
  metadata: # who it is
    name: web
    namespace: prod   # kpt-set: ${{namespace}}
    annotations:
      internal.config.kubernetes.io/path: 'web.yaml'
  spec:
    replicas: 3 # enough
{UNTOUCHED}\
- apiVersion: v1
  kind: Service
  metadata:
    name: web   # as the Deployment
    namespace: prod
  spec: {{ports: [{{port: 80}}]}}
"""
RESULTS = """\
results:
- message: "Deployment default/web: moved to the namespace prod"
  severity: info
  resourceRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
    namespace: default
  file:
    path: web.yaml
- message: "Service web: moved to the namespace prod"
  severity: info
  resourceRef:
    apiVersion: v1
    kind: Service
    name: web
"""


def run(text: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(ROOT / NAME)],
        input=text.encode(),
        env=os.environ | {"PYTHONPATH": str(ROOT / "fn")},
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )


def test_it_sets_the_namespace_and_touches_nothing_else() -> None:
    done = run(HEAD + ITEMS + CONFIG)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == HEAD + EXPECTED + CONFIG + RESULTS


def test_a_second_run_changes_nothing() -> None:
    done = run(HEAD + EXPECTED + CONFIG)
    assert (done.returncode, done.stdout.decode()) == (0, HEAD + EXPECTED + CONFIG)


def test_without_a_namespace_it_says_so_and_changes_nothing() -> None:
    done = run(HEAD + ITEMS)
    assert done.returncode == 1
    assert done.stderr == b"functionConfig: data.namespace is missing\n"
    assert done.stdout.decode().startswith(HEAD + ITEMS + "results:\n")


def test_the_guide_shows_this_very_function() -> None:
    guide = (ROOT / "docs" / "guides" / "writing-a-function.md").read_text(encoding="utf-8")
    excerpts = re.findall(rf"<!-- {re.escape(NAME)} -->\n+```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert excerpts == [(ROOT / NAME).read_text(encoding="utf-8")]
