"""Generated packages as texts: written as people write them, with comments in every place, and edited as text.

What a text holds is read with PyYAML alone, so that nothing of the program under test has a say in it.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename, dirname, join
from typing import Any

import yaml

Texts = dict[str, str]
Data = dict[str, Any]
Identity = tuple[str, str, str, str]
Lines = list[str]
Place = tuple[Identity, tuple[str, ...]]

KPTFILE = "Kptfile"
KEY = "key "
PARTS = re.compile(r"^(\s*(?:- +)*(?:[\w./-]+:(?: +|$))?)(.*?)(\s+#.*)?$")
SEPARATOR = re.compile(r"^---(\s.*)?$")
NOT_STRINGS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
FUNCTIONS = ("mutators", "validators")
KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("containers", "initContainers", "env", "volumes", "images", "configMapGenerator", "mutators", "validators"),
        ("name",),
    ),
    "ports": ("containerPort", "port", "protocol"),
    "volumeMounts": ("mountPath",),
}


# What a text holds


@dataclass(frozen=True)
class Facts:
    """What a file holds. Scalars, keys and lines of block scalars are counted, and comments by themselves."""

    values: Counter[str]
    comments: Counter[str]
    identities: tuple[Identity, ...]
    members: frozenset[tuple[Identity, tuple[str, ...], str]]
    """The keys of mappings and keyed lists, each with the resource and the path of what holds it."""
    leaves: dict[Place, str]
    """Values by paths that lead through mappings alone; a list is one value."""
    scalars: frozenset[tuple[Place, str]]
    empty: frozenset[Place]
    """Where nulls, empty mappings and empty lists stand."""
    faults: tuple[str, ...]
    """Repeated keys, of mappings and keyed lists, and resources that stand there twice."""


def is_yaml(path: str) -> bool:
    return path.endswith((".yaml", ".yml", ".json")) or basename(path) == KPTFILE


def facts(path: str, text: str) -> Facts | None:
    """None where the text does not parse."""
    return _yaml_facts(text, path.endswith(".json")) if is_yaml(path) else _text_facts(text)


def _text_facts(text: str) -> Facts:
    return Facts(Counter(text.splitlines()), Counter(), (), frozenset(), {}, frozenset(), frozenset(), ())


@lru_cache(maxsize=4096)
def _yaml_facts(text: str, strict: bool) -> Facts | None:
    try:
        if strict:
            json.loads(text)
        roots = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        return None
    reader = _Reader(text)
    for root in roots:
        reader.document(root)
    return Facts(
        reader.values,
        reader.found_comments(),
        tuple(reader.identities),
        frozenset(reader.members),
        reader.leaves,
        frozenset(reader.scalars),
        frozenset(reader.empty),
        tuple(reader.faults),
    )


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.values: Counter[str] = Counter()
        self.identities: list[Identity] = []
        self.members: set[tuple[Identity, tuple[str, ...], str]] = set()
        self.leaves: dict[Place, str] = {}
        self.scalars: set[tuple[Place, str]] = set()
        self.empty: set[Place] = set()
        self.faults: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._identity: Identity = ("", "", "", "")

    def document(self, root: yaml.Node | None) -> None:
        if not isinstance(root, yaml.MappingNode):
            if root is not None:
                self._walk(root, ())
            return
        self._identity = identity_of(root)
        if self._identity in self.identities:
            self.faults.append(f"{self._identity} twice")
        self.identities.append(self._identity)
        if self._identity[1] and "apiVersion" not in _names(root):
            self.faults.append(f"{self._identity}: no apiVersion")
        self._walk(root, ())
        self._leaves(root, ())

    def _walk(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        if not node.value:
            self.empty.add((self._identity, path))
        if isinstance(node, yaml.ScalarNode):
            self.scalars.add(((self._identity, path), canonical(node)))
            self._scalar(node, path[-1:] == ("image",))
        elif isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value]
            self.faults += [f"{'.'.join((*path, name))} repeated" for name, n in Counter(names).items() if n > 1]
            for key, value in node.value:
                self._spans.append((key.start_mark.index, key.end_mark.index))
                self.values[f"{KEY}{key.value}"] += 1
                self.members.add((self._identity, path, key.value))
                self._walk(value, (*path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            keys = [key for item in node.value if (key := _element_key(path, item))]
            self.faults += [f"{'.'.join(path)}: {key} twice" for key, n in Counter(keys).items() if n > 1]
            if path and (path[-1] in KEYS or path == ("items",)) and len(keys) < len(node.value):
                self.faults.append(f"{'.'.join(path)}: an element without a key")
            if path and path[-1] in FUNCTIONS and any("image" not in _names(item) for item in node.value):
                self.faults.append(f"{'.'.join(path)}: a function without image")
            self.members |= {(self._identity, path, key) for key in keys}
            for at, item in enumerate(node.value):
                self._walk(item, (*path, _element_key(path, item) or str(at)))

    def _scalar(self, node: yaml.ScalarNode, is_image: bool) -> None:
        start, end = node.start_mark.index, node.end_mark.index
        kind = node.tag.rpartition(":")[2]
        if node.style in ("|", ">"):
            # The line of the indicator may have a comment.
            start = self.text.index("\n", start)
            self.values.update(f"| {line.strip()}" for line in self.text[start:end].split("\n") if line.strip())
        elif "\n" in node.value:
            self.values.update(f"| {line.strip()}" for line in node.value.split("\n") if line.strip())
        elif is_image:
            # Repository and version are two values (V10).
            self.values.update(f"{kind} {part}" for part in node.value.rpartition(":") if part.strip(":"))
        elif kind != "null":
            self.values[f"{kind} {node.value}"] += 1
        self._spans.append((start, end))

    def _leaves(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode) and node.value:
            for key, value in node.value:
                self._leaves(value, (*path, key.value))
        else:
            self.leaves[self._identity, path] = canonical(node)

    def found_comments(self) -> Counter[str]:
        found: Counter[str] = Counter()
        rest, done = [], 0
        for start, end in sorted(self._spans):
            if start >= done:
                rest += [self.text[done:start], "\n" if "\n" in self.text[start:end] else "x"]
                done = end
        rest.append(self.text[done:])
        for line in "".join(rest).split("\n"):
            if match := re.search(r"(?:^|\s)#(.*)", line):
                found[match[1].strip()] += 1
        return found


def canonical(node: yaml.Node) -> str:
    """Equal for what Kubernetes reads as equal."""
    if isinstance(node, yaml.MappingNode):
        return f"{{{', '.join(sorted(f'{key.value}: {canonical(value)}' for key, value in node.value))}}}"
    if isinstance(node, yaml.SequenceNode):
        return f"[{', '.join(map(canonical, node.value))}]"
    kind = node.tag.rpartition(":")[2]
    return kind if kind == "null" else f"{kind} {node.value}"


def _names(node: yaml.Node) -> list[str]:
    return [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []


def _element_key(path: tuple[str, ...], item: yaml.Node) -> str:
    """What names an element of a keyed list, or ''."""
    if not path or not isinstance(item, yaml.MappingNode):
        return ""
    if path == ("items",):
        return "/".join(identity_of(item)) if identity_of(item)[3] else ""
    fields = {key.value: value.value for key, value in item.value if isinstance(value, yaml.ScalarNode)}
    key = [fields.get(name, "TCP" if name == "protocol" else "") for name in KEYS.get(path[-1], ())]
    return "/".join(key) if any(key[:2]) else ""


def identity_of(root: yaml.MappingNode) -> Identity:
    """Group, kind, namespace and name; '' for what is not there."""
    top = {key.value: value for key, value in root.value}
    meta = top.get("metadata")
    inner = {key.value: value for key, value in meta.value} if isinstance(meta, yaml.MappingNode) else {}

    def text(node: yaml.Node | None) -> str:
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""

    group = text(top.get("apiVersion")).rpartition("/")[0]
    name = text(inner.get("name")) or text(inner.get("generateName"))
    return group, text(top.get("kind")), text(inner.get("namespace")), name


# Words


def word(rng: random.Random) -> str:
    return f"{rng.choice(['alpha', 'beta', 'gamma', 'delta', 'omega'])}{rng.randint(10, 999)}"


def comment(rng: random.Random) -> str:
    """The text of a comment: mostly one that is nowhere else."""
    if rng.random() < 0.15:
        return rng.choice(["TODO", "----", "replicas: 3", "see the README", "- name: old", 'it\'s here: "x" # twice'])
    if rng.random() < 0.1:
        return f"kpt-set: ${{{word(rng)}}}"
    return f"{rng.choice(['note', 'why', 'because of', 'for'])} {word(rng)}"


# Writing


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


# Resources


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
    found: Data = {"name": name, "image": f"example.com/{word(rng)}:v{rng.randint(1, 9)}"}
    if rng.random() < 0.5:
        found["args"] = [f"--{word(rng)}={rng.randint(1, 9)}" for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        found["env"] = [env(rng, key) for key in rng.sample(["A", "B", "C", "D"], rng.randint(1, 3))]
    if rng.random() < 0.4:
        found["ports"] = [{"containerPort": port, "name": word(rng)} for port in rng.sample([80, 81, 443, 53], 2)]
    if rng.random() < 0.4:
        found["resources"] = {"limits": {"cpu": f"{rng.randint(1, 9)}00m", "memory": f"{rng.randint(1, 9)}Gi"}}
    if rng.random() < 0.3:
        found["volumeMounts"] = [{"name": "data", "mountPath": f"/{word(rng)}"}]
    return found


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
        found: Data = {"image": f"example.com/{name}:v0.{rng.randint(1, 9)}", "name": f"the-{name}"}
        if rng.random() < 0.6:
            found["configMap"] = {word(rng): word(rng) for _ in range(rng.randint(1, 3))}
        return found

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


# Packages


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
    found = {"app.yaml": Writer(rng).file(documents(rng, rng.randint(1, 4)))}
    if rng.random() < 0.3:
        found["sub/app.yaml"] = Writer(rng).file(documents(rng, rng.randint(1, 2)))
        found["sub/Kptfile"] = Writer(rng).file([kptfile(rng, "sub")])
    return found


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


# Edits of lines


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def block_at(lines: Lines, at: int) -> int:
    """Where the field or element that begins on a line ends."""
    indent, dash = indent_of(lines[at]), lines[at].lstrip().startswith("-")
    end = at + 1
    for index in range(at + 1, len(lines)):
        line = lines[index]
        if not line.strip() or is_note(line):
            continue
        inner = indent_of(line) - (0 if dash or not line.lstrip().startswith("-") else -1)
        if inner <= indent or SEPARATOR.match(line):
            break
        end = index + 1
    return end


def is_note(line: str) -> bool:
    return line.lstrip().startswith("#")


def is_content(line: str) -> bool:
    return bool(line.strip()) and not is_note(line) and not SEPARATOR.match(line)


def places(lines: Lines, wanted: Callable[[str], bool]) -> list[int]:
    return [at for at, line in enumerate(lines) if wanted(line)]


def other_word(rng: random.Random, line: str) -> str | None:
    """The line with another word in its value."""
    match = PARTS.match(line)
    if match is None or not (found := list(re.finditer(r"(?<!\\)\b[A-Za-z0-9]+", match[2]))):
        return None
    at = rng.choice(found)
    new = str(rng.randint(1, 9999)) if at[0].isdigit() else word(rng)
    return match[1] + match[2][: at.start()] + new + match[2][at.end() :] + (match[3] or "")


def change_value(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    if (line := other_word(rng, lines[at])) is None:
        return False
    lines[at] = line
    return True


def delete_block(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    end, start = block_at(lines, at), at
    if end - at > 8 and rng.random() < 0.7:
        return False
    while start and is_note(lines[start - 1]) and rng.random() < 0.8:
        start -= 1
    del lines[start:end]
    return True


def double_block(rng: random.Random, lines: Lines) -> bool:
    """Copies an element or field, with other words in it, to before or behind it or another one of its list."""
    dashes = places(lines, lambda line: line.lstrip().startswith("- ") or bool(re.match(r"\s*-$", line)))
    fields = places(lines, lambda line: is_content(line) and not line.lstrip().startswith("-"))
    if not (candidates := dashes if dashes and rng.random() < 0.7 else fields):
        return False
    at = rng.choice(candidates)
    copy = lines[at : block_at(lines, at)]
    if len(copy) > 15:
        return False
    changed = rng.sample(range(len(copy)), rng.randint(1, len(copy)))
    for index in {0, *changed}:
        if is_note(copy[index]):
            copy[index] = f"{' ' * indent_of(copy[index])}# {comment(rng)}"
        elif (line := other_word(rng, copy[index])) is not None:
            copy[index] = line
    if not lines[at].lstrip().startswith("-"):
        copy[0] = re.sub(r"^(\s*)[\w./-]+:", lambda match: f"{match[1]}{word(rng)}:", copy[0])
    copy = [new for line in copy for new in with_note(rng, line, 0.05)]
    alike = [n for n in candidates if indent_of(lines[n]) == indent_of(lines[at])]
    near = [n for n in alike if abs(n - at) < 20]
    target = rng.choice([at, rng.choice(near)])
    target = target if rng.random() < 0.4 else block_at(lines, target)
    lines[target:target] = copy
    return True


def with_note(rng: random.Random, line: str, chance: float) -> Lines:
    """The line, now and then with a comment above it or at its end."""
    if rng.random() > chance or not is_content(line):
        return [line]
    if rng.random() < 0.5:
        return [f"{' ' * indent_of(line)}# {comment(rng)}", line]
    return [f"{line} # {comment(rng)}"]


def add_field(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    pad = " " * indent_of(lines[at])
    if lines[at].lstrip().startswith("-"):
        new = f"{pad}- {word(rng)}"
    elif PARTS.match(lines[at]) and ":" in lines[at]:
        new = f"{pad}{word(rng)}: {rng.choice([word(rng), str(rng.randint(1, 999))])}"
    else:
        new = f"{pad}{word(rng)} {word(rng)}"
    target = at if rng.random() < 0.5 else block_at(lines, at)
    lines[target:target] = with_note(rng, new, 0.3)
    return True


def add_note(rng: random.Random, lines: Lines) -> bool:
    at = rng.randint(0, len(lines))
    near = lines[at] if at < len(lines) and rng.random() < 0.8 else lines[at - 1]
    note = [f"{' ' * indent_of(near)}# {comment(rng)}" for _ in range(rng.choice([1, 1, 2]))]
    lines[at:at] = [""] * (rng.random() < 0.15) + note + [""] * (rng.random() < 0.15)
    return True


def change_note(rng: random.Random, lines: Lines) -> bool:
    if not (notes := places(lines, is_note)):
        return False
    at = rng.choice(notes)
    kind = rng.randrange(3)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at] = f"{' ' * indent_of(lines[at])}# {comment(rng)}"
    else:
        lines[at] = other_word(rng, lines[at]) or lines[at] + " more"
    return True


def change_line_end(rng: random.Random, lines: Lines) -> bool:
    noted = places(lines, lambda line: is_content(line) and " #" in line)
    if noted and rng.random() < 0.6:
        at = rng.choice(noted)
        bare = lines[at].partition(" #")[0].rstrip()
        lines[at] = bare if rng.random() < 0.5 else f"{bare} # {comment(rng)}"
    else:
        at = rng.choice(places(lines, lambda line: bool(line.strip()) and not is_note(line)))
        lines[at] += f" # {comment(rng)}"
    return True


def change_blank(rng: random.Random, lines: Lines) -> bool:
    blanks = places(lines, lambda line: not line.strip())
    if blanks and rng.random() < 0.5:
        del lines[rng.choice(blanks)]
    else:
        lines.insert(rng.randint(0, len(lines)), "")
    return True


def move_block(rng: random.Random, lines: Lines) -> bool:
    """Puts a field or element behind the one that follows."""
    at = rng.choice(places(lines, is_content))
    end = block_at(lines, at)
    if end == len(lines) or not is_content(lines[end]) or indent_of(lines[end]) != indent_of(lines[at]):
        return False
    after = block_at(lines, end)
    lines[at:after] = lines[end:after] + lines[at:end]
    return True


def requote(rng: random.Random, lines: Lines) -> bool:
    at = rng.choice(places(lines, is_content))
    match = PARTS.match(lines[at])
    if match is None or not re.fullmatch(r"[A-Za-z]\w*|\"\w*\"|'\w*'", match[2]):
        return False
    bare = match[2].strip("'\"")
    quote = rng.choice(["", '"', "'"])
    lines[at] = f"{match[1]}{quote}{bare}{quote}{match[3] or ''}"
    return True


LINE_EDITS: list[tuple[int, Callable[[random.Random, Lines], bool]]] = [
    (8, change_value),
    (4, delete_block),
    (5, double_block),
    (4, add_field),
    (3, add_note),
    (3, change_note),
    (3, change_line_end),
    (1, change_blank),
    (1, move_block),
    (1, requote),
]


def edit_lines(rng: random.Random, path: str, text: str) -> str:
    """The text with one edit, or as it was where the edit would make nonsense of it."""
    before = facts(path, text)
    for _ in range(4):
        lines = text.split("\n")
        ends = lines[-1] == ""
        lines = lines[:-1] if ends else lines
        if not any(map(is_content, lines)):
            return text
        weights = [weight for weight, _ in LINE_EDITS]
        _, edit = rng.choices(LINE_EDITS, weights)[0]
        if not edit(rng, lines):
            continue
        new = "\n".join(lines) + ("\n" if ends else "")
        after = facts(path, new)
        if after is not None and before is not None and after.identities == before.identities and not after.faults:
            return new
    return text


# Edits of documents and files


def split(text: str) -> list[str]:
    """The documents of a text, each with the separator in front of it."""
    found: list[Lines] = [[]]
    for line in text.splitlines(keepends=True):
        if SEPARATOR.match(line) and (found[-1] or len(found) > 1):
            found.append([])
        found[-1].append(line)
    return ["".join(lines) for lines in found]


def joined(parts: list[str]) -> str:
    """Documents as one text, with separators where they lack."""
    found = ""
    for part in parts:
        found += "\n" * bool(found and not found.endswith("\n"))
        found += "---\n" * bool(found and not SEPARATOR.match(part.partition("\n")[0]))
        found += part
    return found


def add_document(rng: random.Random, texts: Texts, path: str) -> None:
    parts = split(texts[path])
    data = rng.choice(MAKERS)(rng, rng.choice(["web", "db", word(rng), word(rng)]))
    parts.insert(rng.randint(0, len(parts)), "\n".join(Writer(rng).document(data)) + "\n")
    texts[path] = joined(parts)


def remove_document(rng: random.Random, texts: Texts, path: str) -> None:
    parts = split(texts[path])
    if len(parts) > 1:
        del parts[rng.randrange(len(parts))]
        texts[path] = joined(parts)


def reorder_documents(rng: random.Random, texts: Texts, path: str) -> None:
    parts = split(texts[path])
    parts.insert(rng.randint(0, len(parts)), parts.pop(rng.randrange(len(parts))))
    texts[path] = joined(parts)


def move_document(rng: random.Random, texts: Texts, path: str) -> None:
    """To the end of another file, or to a new one."""
    parts = split(texts[path])
    if len(parts) == 1:
        return
    nearby = [p for p in texts if p.endswith(".yaml") and p != path and dirname(p) == dirname(path)]
    others = [p for p in nearby if holds_resources(p, texts[p])]
    target = rng.choice([*others, join(dirname(path), "moved.yaml")])
    part = parts.pop(rng.randrange(len(parts)))
    texts[path] = joined(parts)
    texts[target] = joined([texts[target], part]) if target in texts else part


def rename(rng: random.Random, texts: Texts, path: str) -> None:
    """Another name or another namespace for one of the resources of a file."""
    parts = split(texts[path])
    at = rng.randrange(len(parts))
    match = re.search(r"^metadata:.*\n(?:(?:  .*|\s*)\n)*?  (name: )(\S+)", parts[at], re.MULTILINE)
    if match is None:
        return
    if rng.random() < 0.6:
        new = f"{rng.choice(['core-', 'my-'])}{match[2]}" if rng.random() < 0.7 else word(rng)
        parts[at] = parts[at][: match.start(2)] + new + parts[at][match.end(2) :]
    elif "\n  namespace: " in parts[at]:
        parts[at] = re.sub(r"\n  namespace: \S+", f"\n  namespace: {word(rng)}", parts[at], count=1)
    else:
        parts[at] = parts[at][: match.start(1)] + f"namespace: {word(rng)}\n  " + parts[at][match.start(1) :]
    texts[path] = "".join(parts)


def move_file(rng: random.Random, texts: Texts, path: str) -> None:
    target = join(dirname(path), rng.choice(["renamed.yaml", "new/place.yaml"]))
    if target not in texts:
        texts[target] = texts.pop(path)


def remove_file(_: random.Random, texts: Texts, path: str) -> None:
    del texts[path]


def add_file(rng: random.Random, texts: Texts, path: str) -> None:
    """A new overlay like one that is there, or another resource."""
    if path.startswith("overlays/"):
        new = rng.choice(["staging", "mine", "test"])
        for name in [p for p in texts if dirname(p) == dirname(path)]:
            copy = f"overlays/{new}/{basename(name)}"
            texts.setdefault(copy, edit_lines(rng, copy, edit_lines(rng, copy, texts[name])))
    else:
        texts.setdefault(rng.choice(["new.yaml", "extra.yaml"]), Writer(rng).file(documents(rng, rng.randint(1, 2))))


FILE_EDITS: list[tuple[int, Callable[[random.Random, Texts, str], None]]] = [
    (4, add_document),
    (2, remove_document),
    (2, reorder_documents),
    (1, move_document),
    (3, rename),
    (1, move_file),
    (1, remove_file),
    (2, add_file),
]


ON_DOCUMENTS = {add_document, remove_document, reorder_documents, move_document}


def holds_resources(path: str, text: str) -> bool:
    """Whether all documents are resources with names."""
    found = facts(path, text)
    return found is not None and all(kind and name for _, kind, _, name in found.identities)


def edit_files(rng: random.Random, texts: Texts, path: str) -> None:
    """One edit of documents or files; none where it would make nonsense."""
    new = dict(texts)
    _, edit = rng.choices(FILE_EDITS, [weight for weight, _ in FILE_EDITS])[0]
    if edit in ON_DOCUMENTS and not holds_resources(path, texts[path]):
        return
    edit(rng, new, path)
    changed = [p for p in new if new[p] != texts.get(p)]
    if all((found := facts(p, new[p])) is not None and not found.faults for p in changed):
        texts.clear()
        texts.update(new)


def edited(rng: random.Random, texts: Texts, hot: list[str], count: int, structure: float) -> Texts:
    """A copy with so many edits, most of them in the hot files; `structure` is the share of those of documents."""
    texts = dict(texts)
    for _ in range(count):
        path = rng.choice(hot) if rng.random() < 0.85 else rng.choice(sorted(texts))
        if path not in texts:
            continue
        if basename(path) != KPTFILE and path.endswith(".yaml") and rng.random() < structure:
            edit_files(rng, texts, path)
        else:
            texts[path] = edit_lines(rng, path, texts[path])
    return texts


Triple = tuple[Texts, Texts, Texts]


def triple(rng: random.Random) -> Triple:
    """The original, what upstream made of it, and what local made of it."""
    original = package(rng)
    hot = rng.sample(sorted(original), min(len(original), rng.randint(1, 3)))
    structure = rng.choice([0, 0, 0.3])
    upstream = edited(rng, original, hot, rng.randint(1, 5), structure)
    local = edited(rng, original, hot, rng.randint(1, 5), structure)
    return original, upstream, local


def lines_triple(rng: random.Random, path: str = "README.md") -> Triple:
    """Three versions of a plain text: of few different lines, so that alignments are ambiguous, or of many."""
    few = rng.random() < 0.6
    letters = "abc"[: rng.randint(1, 3)] if few else ""

    def line() -> str:
        return rng.choice(letters) if few else word(rng)

    def version(lines: Lines) -> Lines:
        lines = list(lines)
        for _ in range(rng.randint(1, 3)):
            at, kind = rng.randint(0, len(lines)), rng.randrange(4)
            if kind == 0:
                lines[at:at] = [line() for _ in range(rng.randint(1, 2))]
            elif kind == 1:
                del lines[at : at + rng.randint(1, 2)]
            elif kind == 2 and at < len(lines):
                lines[at] = line()
            elif kind == 3 and at < len(lines):
                lines.insert(rng.randint(0, len(lines) - 1), lines.pop(at))
        return lines

    start = [line() for _ in range(rng.randint(1, 12))]
    sides = [start, version(start), version(start)]
    texts = ["\n".join(side) + "\n" * (bool(side) and rng.random() < 0.97) for side in sides]
    original, upstream, local = ({path: text} for text in texts)
    return original, upstream, local
