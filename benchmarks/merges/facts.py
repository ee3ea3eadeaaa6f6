"""What a YAML file says, in forms that do not depend on how it is written: values, fields, lists, comments.

Independent of krm-merge: this judges it. A file that cannot be parsed, such as a template, counts by its lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import yaml

Values: TypeAlias = tuple[Any, ...]
MOST_NODES = 400_000
TAG = "tag:yaml.org,2002:"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    pass


@dataclass(slots=True)
class Facts:
    """What a file says.

    `values` are its documents as plain data: fields in any order, lists in theirs; None where it cannot be parsed.
    `fields` are the values by place, several where elements of a list have no name. `lists` are the elements of each
    list. `repeats` says whether a mapping has a key twice, also in a text. `several` are the kinds of which it has
    several resources.
    """

    values: Values | None = None
    fields: dict[str, Counter[str]] = field(default_factory=dict)
    lists: list[tuple[str, list[Any]]] = field(default_factory=list)
    repeats: bool = False
    several: frozenset[str] = frozenset()
    comments: Counter[str] = field(default_factory=Counter)

    def put(self, place: str, value: str) -> None:
        """Adds a value at a place."""
        self.fields.setdefault(place, Counter())[value] += 1


@lru_cache(maxsize=64)
def facts_of(text: bytes, several: frozenset[str] = frozenset()) -> Facts:
    """Reads a file. In its places, resources of `several` kinds have their names, also where there is only one."""
    facts = Facts(comments=comments_of(text))
    try:
        documents = [node for node in yaml.compose_all(text.decode("utf-8-sig"), Loader=_Loader) if not _is_empty(node)]
        values = _Values()
        facts.values = tuple(values.of(node) for node in documents)
        facts.repeats = values.repeats
        kinds = Counter(scalar_of(document, "kind") for document in facts.values)
        facts.several = frozenset(kind for kind, count in kinds.items() if kind and count > 1)
        for value, name in zip(facts.values, _names(facts.values, facts.several | several), strict=True):
            _walk(value, name, facts)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        facts.values, facts.fields, facts.lists = None, {}, []
        for line in text.decode("utf-8", "replace").splitlines():
            if line.strip():
                facts.put("", line.strip())
    return facts


def comments_of(text: bytes) -> Counter[str]:
    """The comments of a file; those of scripts in it count, too."""
    comments = re.findall(r"(?:^|[ \t])(#.*)$", text.decode("utf-8", "replace"), re.MULTILINE)
    return Counter(" ".join(comment.split()) for comment in comments if comment.strip("# \t"))


def without_version(text: str) -> str:
    """A reference with its version replaced by `*`: `?ref=`, a commit, a digest, a tag, a version in a path."""
    text = re.sub(r"\?ref=[^&]*", "?ref=*", text)
    text = re.sub(r"\b[0-9a-f]{40}\b", "*", text)
    text = re.sub(r"@sha256:[0-9a-f]+", "@*", text)
    return re.sub(r"(?<=[/:=@-])v?\d+(\.\d+)+[\w.-]*", "*", text)


def _is_empty(node: yaml.Node | None) -> bool:
    return node is None or (isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~"))


class _Values:
    """Nodes as plain data: ("s", tag, text), ("l", elements), ("m", pairs in the order of their keys)."""

    def __init__(self) -> None:
        self.left = MOST_NODES
        self.repeats = False

    def of(self, node: yaml.Node) -> Values:
        self.left -= 1
        if self.left < 0:
            raise yaml.YAMLError("too many nodes")
        if isinstance(node, yaml.ScalarNode):
            # A file in a file, such as that of a ConfigMap, breaks by the same.
            self.repeats |= "\n" in node.value and _repeats_key(node.value)
            tag = node.tag.removeprefix(TAG)
            return ("s", tag, "" if tag == "null" else node.value)
        if isinstance(node, yaml.SequenceNode):
            return ("l", tuple(self.of(element) for element in node.value))
        pairs = {}
        inherited: list[Values] = []
        for key, value in node.value:
            if key.tag == f"{TAG}merge":
                merged = self.of(value)
                inherited += merged[1] if merged[0] == "l" else [merged]
                continue
            name = self.of(key)
            self.repeats |= name in pairs
            pairs[name] = self.of(value)
        for mapping in inherited:
            pairs = dict(mapping[1]) | pairs if mapping[0] == "m" else pairs
        return ("m", tuple(sorted(pairs.items(), key=repr)))


def _repeats_key(text: str) -> bool:
    """Whether a text is YAML in which a mapping has a key twice."""
    values = _Values()
    try:
        for document in yaml.compose_all(text, Loader=_Loader):
            if not _is_empty(document):
                values.of(document)
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return values.repeats


def scalar_of(value: Values, key: str) -> str:
    """The text of a field of a mapping that is a scalar."""
    if value[0] != "m":
        return ""
    return next((v[2] for k, v in value[1] if k[-1] == key and v[0] == "s"), "")


def _names(documents: Values, several: frozenset[str]) -> list[str]:
    """A name for each document: its kind, and that of the resource where there are several of the kind."""
    names = []
    for document in documents:
        kind = scalar_of(document, "kind")
        metadata = next((v for k, v in document[1] if k[-1] == "metadata"), None) if kind in several else None
        names.append(f"{kind} {scalar_of(metadata, 'name') if metadata else ''}".strip())
    return names


def _walk(value: Values, place: str, facts: Facts) -> None:
    if value[0] == "s":
        if "\n" in value[2]:
            for line in value[2].splitlines():
                facts.put(f"{place}|", line)
        else:
            facts.put(place, value[2] if value[1] == "str" else f"!{value[1]} {value[2]}")
    elif not value[1]:
        facts.put(place, "[]" if value[0] == "l" else "{}")
    elif value[0] == "l":
        facts.lists.append((place, list(value[1])))
        for element in value[1]:
            _walk(element, f"{place}[{_element_name(element)}]", facts)
    else:
        for key, its_value in value[1]:
            _walk(its_value, f"{place}.{key[2] if key[0] == 's' else repr(key)}", facts)


def _element_name(element: Values) -> str:
    """What an element is: its name, or a scalar without its version."""
    return without_version(element[2]) if element[0] == "s" else scalar_of(element, "name")


def scalars_in(value: Values) -> Iterator[str]:
    """All scalars of a value, without the keys."""
    if value[0] == "s":
        yield value[2]
    else:
        for part in value[1]:
            yield from scalars_in(part[1] if value[0] == "m" else part)


def versionless(value: Values) -> Values:
    """A value in which references have no version."""
    if value[0] == "s":
        return ("s", value[1], without_version(value[2]))
    if value[0] == "l":
        return ("l", tuple(versionless(element) for element in value[1]))
    return ("m", tuple((key, versionless(its_value)) for key, its_value in value[1]))
