"""What a text holds, read with PyYAML alone: nothing of the program under test has a say in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename
from typing import Any

import yaml

Data = dict[str, Any]
Identity = tuple[str, str, str, str]
Place = tuple[Identity, tuple[str, ...]]
KPTFILE = "Kptfile"
KEY = "key "
FUNCTIONS = ("mutators", "validators")
KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("containers", "initContainers", "env", "volumes", "images", "configMapGenerator", "mutators", "validators"),
        ("name",),
    ),
    "ports": ("containerPort", "port", "protocol"),
    "volumeMounts": ("mountPath",),
    "hosts": ("host",),
}


@dataclass(frozen=True)
class Facts:
    """What a file holds. Scalars, keys and lines of block scalars are counted, and comments by themselves."""

    values: Counter[str]
    shared: frozenset[str]
    """The values that an alias repeats: each is written in one place and counted in several."""
    comments: Counter[str]
    identities: tuple[Identity, ...]
    members: frozenset[tuple[Identity, tuple[str, ...], str]]
    """The keys of mappings and keyed lists, each with the resource and the path of what holds it."""
    leaves: dict[Place, str]
    """Values by paths that lead through mappings alone; a list is one value."""
    scalars: frozenset[tuple[Place, str]]
    elements: frozenset[tuple[Place, str]]
    """The mappings in lists, by paths without numbers."""
    empty: frozenset[Place]
    """Where nulls, empty mappings and empty lists stand."""
    faults: tuple[str, ...]
    """Repeated keys, of mappings and keyed lists, and resources that stand there twice."""


def is_yaml(path: str) -> bool:
    return path.endswith((".yaml", ".yml", ".json")) or basename(path) == KPTFILE


def facts(path: str, text: str) -> Facts | None:
    """None where the text does not parse, or has a key that is a list, a map or null, which has several spellings."""
    return _yaml_facts(text, path.endswith(".json")) if is_yaml(path) else _text_facts(text)


def _text_facts(text: str) -> Facts:
    nothing: frozenset[Any] = frozenset()
    return Facts(Counter(text.splitlines()), nothing, Counter(), (), nothing, {}, nothing, nothing, nothing, ())


@lru_cache(maxsize=4096)
def _yaml_facts(text: str, strict: bool) -> Facts | None:
    try:
        if strict:
            json.loads(text)
        roots = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
        reader = _Reader(text)
        for root in roots:
            reader.document(root)
    except (yaml.YAMLError, ValueError, TypeError):
        return None
    return Facts(
        reader.values,
        frozenset(reader.shared),
        reader.found_comments(),
        tuple(reader.identities),
        frozenset(reader.members),
        reader.leaves,
        frozenset(reader.scalars),
        frozenset(reader.elements),
        frozenset(reader.empty),
        tuple(reader.faults),
    )


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.values: Counter[str] = Counter()
        self.shared: set[str] = set()
        self.identities: list[Identity] = []
        self.members: set[tuple[Identity, tuple[str, ...], str]] = set()
        self.leaves: dict[Place, str] = {}
        self.scalars: set[tuple[Place, str]] = set()
        self.elements: set[tuple[Place, str]] = set()
        self.empty: set[Place] = set()
        self.faults: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._scalars: set[yaml.ScalarNode] = set()
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
            if any(key.tag == "tag:yaml.org,2002:null" for key, _ in node.value):
                raise ValueError("a key is null")
            self.faults += [f"{'.'.join((*path, name))} repeated" for name, n in Counter(names).items() if n > 1]
            for key, value in node.value:
                self._spans.append((key.start_mark.index, key.end_mark.index))
                self.values[f"{KEY}{key.value}"] += 1
                self.members.add((self._identity, path, key.value))
                self._walk(value, (*path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            keys = [key for item in node.value if (key := _element_key(path, item))]
            # L1: a list with an element that has no key is a plain sequence.
            counts = Counter(keys if len(keys) == len(node.value) else ())
            self.faults += [f"{'.'.join(path)}: {key} twice" for key, n in counts.items() if n > 1]
            # The hosts of a certificate are names alone.
            if (
                path
                and path[-1] != "hosts"
                and (path[-1] in KEYS or path == ("items",))
                and len(keys) < len(node.value)
            ):
                self.faults.append(f"{'.'.join(path)}: an element without a key")
            if path and path[-1] in FUNCTIONS and any("image" not in _names(item) for item in node.value):
                self.faults.append(f"{'.'.join(path)}: a function without image")
            self.members |= {(self._identity, path, key) for key in keys}
            place = self._identity, tuple(key for key in path if not key.isdigit())
            self.elements |= {(place, canonical(item)) for item in node.value if isinstance(item, yaml.MappingNode)}
            for at, item in enumerate(node.value):
                self._walk(item, (*path, _element_key(path, item) or str(at)))

    def _scalar(self, node: yaml.ScalarNode, is_image: bool) -> None:
        start, end = node.start_mark.index, node.end_mark.index
        kind = node.tag.rpartition(":")[2]
        values: list[str] = []
        if node.style in ("|", ">") and node.value:
            # The line of the indicator may have a comment.
            start = self.text.index("\n", start)
            values += _lines(self.text[start:end])
        elif "\n" in node.value:
            values += _lines(node.value)
        elif is_image:
            # Repository and version are two values (V10).
            values += [f"{kind} {part}" for part in node.value.rpartition(":") if part.strip(":")]
        elif kind != "null":
            values.append(f"{kind} {node.value}")
        self.values.update(values)
        if node in self._scalars:
            self.shared.update(values)
        self._scalars.add(node)
        self._spans.append((start, end))

    def _leaves(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode) and node.value:
            for key, value in node.value:
                self._leaves(value, (*path, key.value))
        else:
            self.leaves[self._identity, path] = canonical(node)

    def found_comments(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        rest, done = [], 0
        for start, end in sorted(self._spans):
            if start >= done:
                rest += [self.text[done:start], "\n" if "\n" in self.text[start:end] else "x"]
                done = end
        rest.append(self.text[done:])
        for line in "".join(rest).split("\n"):
            if match := re.search(r"(?:^|\s)#(.*)", line):
                counts[match[1].strip()] += 1
        return counts


def _lines(text: str) -> Iterator[str]:
    """The lines of a text; in one that is JSON a comma at the end says only that another line follows."""
    lines = [line.strip() for line in text.split("\n")]
    # Behind another line it no longer parses, and is still written as it was.
    is_json = any(line[:1] in ("{", "[") for line in lines)
    for line in lines:
        if line:
            yield f"| {line.rstrip(',') if is_json else line}"


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
