"""Generated packages, written as people write them, with comments in every place."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

from generated.facts import KPTFILE, Data

Texts = dict[str, str]
Lines = list[str]
COMMON_COMMENTS = ("TODO", "----", "replicas: 3", "see the README", "- name: old", 'it\'s here: "x" # twice')
"""Comments that several places may have which know nothing of each other."""
NOT_STRINGS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def word(rng: random.Random) -> str:
    return f"{rng.choice(['alpha', 'beta', 'gamma', 'delta', 'omega'])}{rng.randint(10, 999)}"


def comment(rng: random.Random) -> str:
    """The text of a comment: mostly one that is nowhere else."""
    if rng.random() < 0.15:
        return rng.choice(COMMON_COMMENTS)
    if rng.random() < 0.1:
        return f"kpt-set: ${{{word(rng)}}}"
    return f"{rng.choice(['note', 'why', 'because of', 'for'])} {word(rng)}"


class Folded(str):
    """A string that is written as a folded scalar."""


class Writer:
    """Writes documents by hand, as it were: with its own habits of indentation, comments and blank lines."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dash = rng.choice([0, 0, 2])
        self.often = rng.choice([0, 0.04, 0.1, 0.25])

    def file(self, documents: list[Data]) -> str:
        lines = ["---"] if self.rng.random() < 0.1 else []
        for at, data in enumerate(documents):
            lines += ["---" + self.end()] if at else []
            lines += self.document(data)
        if self.rng.random() < self.often:
            lines += [""] * self.rng.randint(0, 1) + [f"# {comment(self.rng)}"]
        return "\n".join(lines) + ("" if self.rng.random() < 0.02 else "\n")

    def document(self, data: Data) -> Lines:
        head = []
        if self.rng.random() < max(self.often, 0.15):
            head += [f"# Copyright {self.rng.randint(2019, 2025)} {word(self.rng)}", "# Licensed as said in LICENSE"]
            head = head[: self.rng.randint(1, 2)] + [""] * self.rng.randint(0, 1)
        return head + self.mapping(data, 0)

    def mapping(self, data: Data, indent: int) -> Lines:
        lines: Lines = []
        for key, value in data.items():
            lines += self.above(indent) + self.field(key, value, indent)
        return lines + self.foot(indent)

    def field(self, key: str, value: Any, indent: int) -> Lines:
        head = f"{' ' * indent}{key}:"
        if isinstance(value, str) and "\n" in value:
            return self.block(head, value, indent + 2)
        if not isinstance(value, dict | list):
            return [f"{head} {self.scalar(value)}".rstrip() + self.end()]
        if not value or (self.flat(value) and self.rng.random() < 0.2):
            return self.flow(head, value, indent)
        inner = self.mapping(value, indent + 2) if isinstance(value, dict) else self.sequence(value, indent + self.dash)
        return [head + self.end(), *inner]

    def sequence(self, items: list[Any], indent: int) -> Lines:
        lines: Lines = []
        pad = " " * indent
        for item in items:
            lines += self.above(indent)
            if isinstance(item, dict):
                body = self.mapping(item, indent + 2)
                if body[0].strip().startswith("#") or not body[0].strip() or self.rng.random() < self.often / 4:
                    lines += [f"{pad}-{self.end()}", *body]
                else:
                    lines += [f"{pad}- {body[0].lstrip()}", *body[1:]]
            elif isinstance(item, str) and "\n" in item:
                lines += self.block(f"{pad}-", item, indent + 2)
            else:
                lines.append(f"{pad}- {self.scalar(item)}{self.end()}")
        return lines + self.foot(indent)

    def block(self, head: str, value: str, indent: int) -> Lines:
        sign = ">" if isinstance(value, Folded) else "|"
        body = [f"{' ' * indent}{line}".rstrip() for line in value.rstrip("\n").split("\n")]
        return [f"{head} {sign}{'' if value.endswith(chr(10)) else '-'}{self.end()}", *body]

    def flow(self, head: str, value: Any, indent: int) -> Lines:
        left, right = "{}" if isinstance(value, dict) else "[]"
        if isinstance(value, dict):
            parts = [f"{key}: {self.scalar(item, True)}" for key, item in value.items()]
        else:
            parts = [self.scalar(item, True) for item in value]
        if not parts or self.rng.random() < 0.6:
            return [f"{head} {left}{', '.join(parts)}{right}{self.end()}"]
        pad = " " * (indent + 2)
        body = [f"{pad}{part}{',' if at < len(parts) - 1 else ''}{self.end(3)}" for at, part in enumerate(parts)]
        return [f"{head} {left}{self.end(2)}", *body, f"{' ' * indent}{right}{self.end()}"]

    def flat(self, value: Any) -> bool:
        return not any(
            isinstance(item, dict | list) or (isinstance(item, str) and "\n" in item)
            for item in (value.values() if isinstance(value, dict) else value)
        )

    def scalar(self, value: Any, inside_flow: bool = False) -> str:
        if value is None:
            return "null" if inside_flow else self.rng.choice(["null", "~", ""])
        if isinstance(value, bool | int):
            return json.dumps(value)
        if re.fullmatch(r"[A-Za-z/][\w./-]*(:[\w.-]+)?|--?[A-Za-z][\w=-]*", value) and value.lower() not in NOT_STRINGS:
            return value if self.rng.random() < 0.9 else json.dumps(value)
        return json.dumps(value) if "'" in value or self.rng.random() < 0.7 else f"'{value}'"

    def above(self, indent: int) -> Lines:
        rng = self.rng
        if rng.random() > self.often:
            return [""] if rng.random() < self.often / 4 else []
        pad = " " * (indent if rng.random() < 0.95 else 0)
        lines = [f"{pad}# {comment(rng)}" for _ in range(rng.choice([1, 1, 2]))]
        return [""] * (rng.random() < 0.2) + lines + [""] * (rng.random() < 0.2)

    def foot(self, indent: int) -> Lines:
        return [f"{' ' * indent}# {comment(self.rng)}"] if self.rng.random() < self.often / 2 else []

    def end(self, times: float = 1) -> str:
        if self.rng.random() > self.often * times:
            return ""
        return f"{' ' * self.rng.randint(1, 2)}# {comment(self.rng)}"


def head(rng: random.Random, api_version: str, kind: str, name: str) -> Data:
    metadata: Data = {"name": name}
    if rng.random() < 0.3:
        metadata["namespace"] = rng.choice(["apps", "infra"])
    if rng.random() < 0.4:
        metadata["labels"] = {"app": name, "tier": word(rng)}
    if rng.random() < 0.3:
        metadata["annotations"] = None if rng.random() < 0.3 else {"example.com/owner": word(rng)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def env(rng: random.Random, name: str) -> Data:
    if rng.random() < 0.3:
        return {"name": name, "valueFrom": {"configMapKeyRef": {"name": word(rng), "key": word(rng)}}}
    return {"name": name, "value": word(rng)}


def container(rng: random.Random, name: str) -> Data:
    container_fields: Data = {"name": name, "image": f"example.com/{word(rng)}:v{rng.randint(1, 9)}"}
    if rng.random() < 0.5:
        container_fields["args"] = [f"--{word(rng)}={rng.randint(1, 9)}" for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        container_fields["env"] = [env(rng, key) for key in rng.sample(["A", "B", "C", "D"], rng.randint(1, 3))]
    if rng.random() < 0.4:
        container_fields["ports"] = [
            {"containerPort": port, "name": word(rng)} for port in rng.sample([80, 81, 443, 53], 2)
        ]
    if rng.random() < 0.4:
        container_fields["resources"] = {
            "limits": {"cpu": f"{rng.randint(1, 9)}00m", "memory": f"{rng.randint(1, 9)}Gi"}
        }
    if rng.random() < 0.3:
        container_fields["volumeMounts"] = [{"name": "data", "mountPath": f"/{word(rng)}"}]
    return container_fields


def deployment(rng: random.Random, name: str) -> Data:
    pod: Data = {"containers": [container(rng, n) for n in rng.sample(["web", "side", "log"], rng.randint(1, 3))]}
    if rng.random() < 0.4:
        sources: list[Data] = [{"emptyDir": {}}, {"secret": {"secretName": word(rng)}}]
        pod["volumes"] = [{"name": n} | rng.choice(sources) for n in rng.sample(["data", "conf", "tmp"], 2)]
    spec = {"replicas": rng.randint(1, 9), "template": {"spec": pod}}
    return head(rng, "apps/v1", "Deployment", name) | {"spec": spec}


def patch(rng: random.Random, name: str) -> Data:
    spec: Data = {"replicas": rng.randint(1, 9)}
    if rng.random() < 0.5:
        spec["template"] = {"spec": {"containers": [{"name": "web", "env": [env(rng, "A"), env(rng, "B")]}]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def service(rng: random.Random, name: str) -> Data:
    ports = [
        {"name": word(rng), "port": p, "targetPort": rng.randint(1000, 9999)} for p in rng.sample([80, 443, 53], 2)
    ]
    return head(rng, "v1", "Service", name) | {"spec": {"selector": {"app": name}, "ports": ports}}


def prose(rng: random.Random, lines: int) -> str:
    return "".join(f"{word(rng)} {rng.choice(['is', 'has', 'echo'])} {word(rng)}\n" for _ in range(lines))


def config_map(rng: random.Random, name: str) -> Data:
    data: Data = {word(rng): word(rng) for _ in range(rng.randint(1, 3))}
    if rng.random() < 0.5:
        data["run.sh"] = "#!/bin/sh\n# " + comment(rng) + "\n" + prose(rng, rng.randint(2, 7))
    if rng.random() < 0.3:
        data["conf.json"] = json.dumps({word(rng): word(rng), word(rng): rng.randint(1, 9)}, indent=2) + "\n"
    if rng.random() < 0.3:
        data["motd"] = Folded(prose(rng, rng.randint(2, 5)))
    return head(rng, "v1", "ConfigMap", name) | {"data": data}


def rule(rng: random.Random) -> Data:
    verbs = rng.sample(["get", "list", "watch", "create", "delete"], rng.randint(1, 3))
    return {"apiGroups": [rng.choice(["", "apps"])], "resources": [rng.choice(["pods", word(rng)])], "verbs": verbs}


def role(rng: random.Random, name: str) -> Data:
    rules = [rule(rng) for _ in range(rng.randint(1, 5))]
    return head(rng, "rbac.authorization.k8s.io/v1", rng.choice(["Role", "ClusterRole"]), name) | {"rules": rules}


def ingress_path(rng: random.Random) -> Data:
    port = {"number": rng.randint(1000, 9999)}
    return {
        "path": f"/{word(rng)}",
        "pathType": "Prefix",
        "backend": {"service": {"name": word(rng), "port": port}},
    }


def ingress(rng: random.Random, name: str) -> Data:
    rules = [
        {"host": f"{word(rng)}.com", "http": {"paths": [ingress_path(rng) for _ in range(rng.randint(1, 2))]}}
        for _ in range(rng.randint(1, 2))
    ]
    return head(rng, "networking.k8s.io/v1", "Ingress", name) | {"spec": {"rules": rules}}


def custom(rng: random.Random, name: str) -> Data:
    steps = [
        {"id": word(rng), "run": word(rng), "with": {"size": rng.randint(1, 9), "mode": word(rng)}}
        for _ in range(rng.randint(1, 4))
    ]
    groups = [{"kind": rng.choice(["x", "y"]), "members": [word(rng) for _ in range(2)]} for _ in range(2)]
    spec = {"steps": steps, "groups": groups, "tags": [word(rng) for _ in range(rng.randint(1, 4))]}
    return head(rng, "example.com/v1", "Flow", name) | {"spec": spec}


def job(rng: random.Random, name: str) -> Data:
    data = head(rng, "batch/v1", "Job", name)
    data["metadata"] = {("generateName" if k == "name" else k): v for k, v in data["metadata"].items()}
    data["metadata"]["generateName"] += "-"
    return data | {
        "spec": {"backoffLimit": rng.randint(1, 9), "template": {"spec": {"containers": [container(rng, "c")]}}}
    }


def kustomization(rng: random.Random, resources: list[str], patches: list[str]) -> Data:
    data: Data = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    if rng.random() < 0.25:
        data = {}
    if rng.random() < 0.5:
        data["namePrefix"] = f"{word(rng)}-"
    data["resources"] = resources
    if patches:
        data["patches"] = [{"path": path} for path in patches]
    if rng.random() < 0.5:
        data["images"] = [{"name": name, "newTag": f"v{rng.randint(1, 9)}"} for name in ("web", "side")]
    return data


def values(rng: random.Random) -> Data:
    return {
        "replicaCount": rng.randint(1, 9),
        "image": {"repository": word(rng), "tag": word(rng), "pullPolicy": "Always"},
        word(rng): {word(rng): word(rng), word(rng): rng.randint(1, 9)},
        "hosts": [word(rng) for _ in range(rng.randint(1, 4))],
        "tolerations": [{"key": word(rng), "effect": word(rng)} for _ in range(rng.randint(1, 3))],
        "enabled": rng.choice([True, False, None]),
    }


def kptfile(rng: random.Random, name: str) -> Data:
    def function(name: str) -> Data:
        entry: Data = {"image": f"example.com/{name}:v0.{rng.randint(1, 9)}", "name": f"the-{name}"}
        if rng.random() < 0.6:
            entry["configMap"] = {word(rng): word(rng) for _ in range(rng.randint(1, 3))}
        return entry

    names = rng.sample(["set-labels", "set-namespace", "apply-setters", "generate"], rng.randint(1, 3))
    pipeline: Data = {"mutators": [function(name) for name in names]}
    if rng.random() < 0.4:
        pipeline["validators"] = [function("kubeval")]
    data: Data = {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": name}}
    if rng.random() < 0.6:
        data["info"] = {"description": word(rng), "keywords": [word(rng) for _ in range(rng.randint(1, 3))]}
    return data | {"pipeline": pipeline}


MAKERS: list[Callable[[random.Random, str], Data]] = [
    deployment,
    service,
    config_map,
    role,
    ingress,
    custom,
    job,
]


def documents(rng: random.Random, count: int) -> list[Data]:
    return [rng.choice(MAKERS)(rng, name) for name in rng.sample(["web", "db", "cache", "front", "back"], count)]


def readme(rng: random.Random) -> str:
    lines = [f"# {word(rng)}", ""]
    for _ in range(rng.randint(2, 8)):
        lines += rng.choice(
            [[word(rng)], ["- one", f"- {word(rng)}"], ["", f"## {word(rng)}", ""], ["```", "run", "```"]]
        )
    return "\n".join(lines) + "\n"


def package(rng: random.Random) -> Texts:
    """A package with a root Kptfile and two to four parts of different kinds."""
    texts = {KPTFILE: Writer(rng).file([kptfile(rng, "root")])}
    for part in rng.sample(PARTS_OF_PACKAGES, rng.randint(2, 4)):
        texts |= part(rng)
    return texts


def _overlays(rng: random.Random) -> Texts:
    texts = {
        "base/deployment.yaml": Writer(rng).file([deployment(rng, "web")]),
        "base/kustomization.yaml": Writer(rng).file([kustomization(rng, ["deployment.yaml"], [])]),
    }
    for name in ("dev", "prod"):
        texts[f"overlays/{name}/kustomization.yaml"] = Writer(rng).file(
            [kustomization(rng, ["../../base"], ["patch.yaml"])]
        )
        texts[f"overlays/{name}/patch.yaml"] = Writer(rng).file([patch(rng, "web")])
    return texts


def _json(rng: random.Random) -> Texts:
    data = rng.choice([service, config_map, custom])(rng, "settings")
    return {"config.json": json.dumps(data, indent=rng.choice([None, 2, 2, 4])) + "\n"}


def _list(rng: random.Random) -> Texts:
    items = documents(rng, rng.randint(1, 3))
    return {"list.yaml": Writer(rng).file([{"apiVersion": "v1", "kind": "List", "items": items}])}


def _several(rng: random.Random) -> Texts:
    files = {"app.yaml": Writer(rng).file(documents(rng, rng.randint(1, 4)))}
    if rng.random() < 0.3:
        files["sub/app.yaml"] = Writer(rng).file(documents(rng, rng.randint(1, 2)))
        files["sub/Kptfile"] = Writer(rng).file([kptfile(rng, "sub")])
    return files


def _one_each(rng: random.Random) -> Texts:
    return {f"{data['kind'].lower()}.yaml": Writer(rng).file([data]) for data in documents(rng, rng.randint(1, 3))}


PARTS_OF_PACKAGES: list[Callable[[random.Random], Texts]] = [
    _overlays,
    _json,
    _list,
    _several,
    _several,
    _one_each,
    lambda rng: {"values.yaml": Writer(rng).file([values(rng)])},
    lambda rng: {"deploy/kustomization.yaml": Writer(rng).file([kustomization(rng, ["a.yaml", "b.yaml"], ["p.yaml"])])},
    lambda rng: {"README.md": readme(rng), "run.sh": "#!/bin/sh\n" + prose(rng, 5)},
]
