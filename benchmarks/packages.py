"""Packages of many small resources in two versions, and what local changes and an update make of them.

A tenth of the resources changes upstream, a twentieth locally, half of these in both, in different fields. Every text
is made from numbers, so that the expected result of an update is known byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

NAME = "shop"
ONE_FILE = "all.yaml"


def deployment(number: int, *, tag: str = "v1", replicas: int = 2, annotations: str = "") -> str:
    """A Deployment of about 1 KB; `annotations` are whole lines below its metadata."""
    name = f"app-{number}"
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: shop
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: shop
{annotations}spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      containers:
      - name: main
        image: registry.example.com/shop/{name}:{tag}
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LOG_LEVEL
          value: info
        - name: SERVICE
          value: {name}
        resources:
          limits:
            cpu: 500m
            memory: 256Mi
        livenessProbe:
          httpGet:
            path: /healthz
            port: http
        volumeMounts:
        - name: data
          mountPath: /data
      volumes:
      - name: tmp
        emptyDir: {{}}
      - name: data
        configMap:
          name: {name}
"""


def service(number: int, *, kind: str, port: int, annotations: str) -> str:
    """A Service."""
    return f"""\
apiVersion: v1
kind: Service
metadata:
  name: app-{number}
  namespace: shop
{annotations}spec:
  type: {kind}
  selector:
    app: app-{number}
  ports:
  - name: http
    port: 80
    targetPort: {port}
"""


def config_map(number: int, *, mode: str, retries: int, annotations: str) -> str:
    """A ConfigMap with a file of properties."""
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-{number}
  namespace: shop
{annotations}data:
  application.properties: |
    # app-{number}: don't put secrets here
    cache=true
    pool={10 + number % 7}
  mode: {mode} # see the handbook
  retries: "{retries}"
"""


def changed_upstream(number: int) -> bool:
    """Whether the second version of the package changes a resource: one of ten."""
    return number % 10 == 0


def changed_locally(number: int) -> bool:
    """Whether the local package changes a resource: one of twenty; every other one changes upstream too."""
    return number % 40 in (0, 25)


def resource(number: int, *, upstream: bool = False, local: bool = False, fetched: bool = False) -> str:
    """A resource, with its change of either side, and with what `kpt pkg get` adds."""
    upstream, local = upstream and changed_upstream(number), local and changed_locally(number)
    group, kind = (("apps", "Deployment"), ("", "Service"), ("", "ConfigMap"))[number % 3]
    annotations = ""
    if fetched:
        identifier = f"{group}|{kind}|shop|app-{number}"
        annotations = f"  annotations:\n    internal.kpt.dev/upstream-identifier: '{identifier}'\n"
    if kind == "Deployment":
        tag, replicas = "v2" if upstream else "v1", 5 if local else 2
        text = deployment(number, tag=tag, replicas=replicas, annotations=annotations)
    elif kind == "Service":
        exposed, port = "NodePort" if upstream else "ClusterIP", 9090 if local else 8080
        text = service(number, kind=exposed, port=port, annotations=annotations)
    else:
        mode, retries = "strict" if upstream else "relaxed", 7 if local else 3
        text = config_map(number, mode=mode, retries=retries, annotations=annotations)
    return text.replace("metadata:\n", f"metadata: # kpt-merge: shop/app-{number}\n", 1) if fetched else text


def kptfile(repository: str = "", ref: str = "", commit: str = "") -> str:
    """The Kptfile, with where the package comes from if it was fetched."""
    git = f"    repo: {repository}\n    directory: /{NAME}\n    ref: {ref}\n"
    upstream = (
        f"upstream:\n  type: git\n  git:\n{git}  updateStrategy: resource-merge\n"
        f"upstreamLock:\n  type: git\n  git:\n{git}    commit: {commit}\n"
    )
    return (
        f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {NAME}\n{upstream if commit else ''}"
        "info:\n  description: Many small resources\n"
    )


def files(
    resources: int, *, one_file: bool, upstream: bool = False, local: bool = False, fetched: bool = False
) -> Iterator[tuple[str, str]]:
    """The files of the package with their texts, but for the Kptfile."""
    texts = (resource(number, upstream=upstream, local=local, fetched=fetched) for number in range(resources))
    if one_file:
        yield ONE_FILE, "---\n".join(texts)
    else:
        yield from ((f"part-{number // 100}/app-{number}.yaml", text) for number, text in enumerate(texts))


def write(directory: Path, kptfile: str, parts: Iterator[tuple[str, str]]) -> None:
    """Writes a package; what is there and differs is overwritten."""
    for path, text in (("Kptfile", kptfile), *parts):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def differing(directory: Path, kptfile: str, parts: Iterator[tuple[str, str]]) -> list[str]:
    """The files that are not as expected, byte for byte, and those that nobody expects."""
    paths = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    different = []
    for path, text in (("Kptfile", kptfile), *parts):
        if path not in paths or (directory / path).read_bytes() != text.encode():
            different.append(path)
        paths.discard(path)
    return different + sorted(paths)
