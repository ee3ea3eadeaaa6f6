"""Which resources a patch is for.

Source: kustomize's `target`: regular expressions that match as a whole, and Kubernetes' selectors of labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from krm_merge.text.values import Value

Labels: TypeAlias = Mapping[str, str]

_REQUIREMENT = re.compile(
    r"\s*(?:"
    r"(?P<set>[^\s!=<>,()]+)\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<key>[^\s!=<>,()]+)\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s!=<>,()]*)"
    r"|!\s*(?P<absent>[^\s!=<>,()]+)"
    r"|(?P<present>[^\s!=<>,()]+)"
    r")\s*(?:,|\Z)"
)


@dataclass(frozen=True, slots=True)
class Identity:
    """A resource as targets name it."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Target:
    """Patterns of an identity, and selectors; what is None matches everything."""

    group: re.Pattern[str] | None = None
    version: re.Pattern[str] | None = None
    kind: re.Pattern[str] | None = None
    name: re.Pattern[str] | None = None
    namespace: re.Pattern[str] | None = None
    labels: Selector | None = None
    annotations: Selector | None = None

    def may_match_kind(self, kind: str) -> bool:
        """Whether a resource of this kind needs a closer look."""
        return self.kind is None or self.kind.fullmatch(kind) is not None

    def matches(self, identity: Identity, labels: Labels, annotations: Labels) -> bool:
        """Whether the patch is for this resource."""
        pairs = (
            (self.group, identity.group),
            (self.version, identity.version),
            (self.kind, identity.kind),
            (self.name, identity.name),
            (self.namespace, identity.namespace),
        )
        return (
            all(pattern is None or pattern.fullmatch(text) is not None for pattern, text in pairs)
            and (self.labels is None or self.labels.matches(labels))
            and (self.annotations is None or self.annotations.matches(annotations))
        )

    def selects(self, value: dict[str, Value]) -> bool:
        """Whether the patch is for the object with this value."""
        metadata = value.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        group, _, version = str(value.get("apiVersion", "")).rpartition("/")
        name, namespace = (str(metadata.get(field) or "") for field in ("name", "namespace"))
        identity = Identity(group, version, str(value.get("kind", "")), name, namespace)
        return self.matches(identity, _texts(metadata.get("labels")), _texts(metadata.get("annotations")))


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that labels meet all together."""

    requirements: tuple[Callable[[Labels], bool], ...] = field(default=())

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Reads `a=b,c!=d,e in (f, g),h notin (i),j,!k`. Raises ValueError naming the column."""
        requirements: list[Callable[[Labels], bool]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _REQUIREMENT.match(text, position)
            if match is None:
                raise ValueError(f"cannot read the selector {text!r} at column {position + 1}")
            requirements.append(_requirement(match))
            position = match.end()
        return cls(tuple(requirements))

    def matches(self, labels: Labels) -> bool:
        """Whether all requirements are met."""
        return all(requirement(labels) for requirement in self.requirements)


def _requirement(match: re.Match[str]) -> Callable[[Labels], bool]:
    if key := match["set"]:
        values = {value.strip() for value in match["values"].split(",")}
        # As in Kubernetes, `notin` and `!=` also hold for what has no such label.
        return (
            (lambda labels: labels.get(key) in values)
            if match["how"] == "in"
            else (lambda labels: labels.get(key) not in values)
        )
    if key := match["key"]:
        value = match["value"]
        return (
            (lambda labels: labels.get(key) != value)
            if match["sign"] == "!="
            else (lambda labels: labels.get(key) == value)
        )
    if key := match["absent"]:
        return lambda labels: key not in labels
    key = match["present"]
    return lambda labels: key in labels


def _texts(value: Value) -> dict[str, str]:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else {}
