"""Packages as values, as kpt reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Data = dict[str, Any]
Path_ = tuple[str, ...]
Files = dict[str, str]
Identity = tuple[str, str]
"""Kind and name; of a Kptfile its folder."""


class Copy(NamedTuple):
    """One copy of a resource: its file and its values."""

    file: str
    data: Any


Contents = dict[Identity, list[Copy]]
OF_THE_HOST = re.compile(r"internal\.kpt\.dev/upstream-identifier|(internal\.)?config\.kubernetes\.io/.*")
EMPTIED = re.compile(r":(?: #.*)?\n(\{\}|\[\])\n")
"""kpt writes what is left of an emptied mapping or list with a comment to the start of the next line: no YAML."""
PLAIN: list[tuple[str, Callable[[str], Any]]] = [
    (r"~|null|", lambda _: None),
    (r"true|false", lambda text: text == "true"),
    (r"[-+]?[0-9]+", int),
    (r"[-+]?[0-9]+\.[0-9]*", float),
]


def value_of(node: yaml.Node) -> Any:
    """As yaml.v3 reads it: `yes` and `on` are text."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: value_of(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    assert isinstance(node, yaml.ScalarNode)
    for pattern, read in PLAIN if not node.style else []:
        if re.fullmatch(pattern, node.value):
            return read(node.value)
    return node.value


def read_package(folder: Path) -> Contents:
    """All resources without what kpt notes on them."""
    contents: Contents = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if not file.is_file() or not (file.name == "Kptfile" or file.suffix == ".yaml"):
            continue
        whole = EMPTIED.sub(r": \1\n", file.read_text(encoding="utf-8"))
        for document in re.split(r"^---\n", whole, flags=re.MULTILINE):
            node = yaml.compose(document, Loader=yaml.CSafeLoader)
            if node is None:
                continue
            data = value_of(node)
            metadata = data["metadata"]
            if "annotations" in metadata:
                annotations = {k: v for k, v in metadata["annotations"].items() if not OF_THE_HOST.fullmatch(k)}
                data["metadata"] = {k: v for k, v in metadata.items() if k != "annotations"} | (
                    {"annotations": annotations} if annotations else {}
                )
            identity = (data["kind"], metadata["name"])
            if data["kind"] == "Kptfile":
                identity = ("Kptfile", name.removesuffix("Kptfile"))
                if name == "Kptfile":
                    data = {k: v for k, v in data.items() if k not in ("upstream", "upstreamLock")}
                data["metadata"] = {k: v for k, v in data["metadata"].items() if k != "name"}
            contents.setdefault(identity, []).append(Copy(name, data))
    return contents


def same(first: Any, second: Any) -> bool:
    """Equal in type and value; the order of fields does not count, that of elements does (V1)."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and bool(first == second)
