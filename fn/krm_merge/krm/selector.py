"""Which resources a patch is for.

Source: kustomize's `target`: regular expressions that match as a whole, and Kubernetes' selectors of labels.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.krm.identity import Identity, value_at
from krm_merge.limits import COMPARISONS
from krm_merge.safe_text import quoted
from krm_merge.text import Value

Labels: TypeAlias = Mapping[str, str]


Pattern: TypeAlias = "str | re.Pattern[str]"
"""A condition on a text: equal to this one, or matched as a whole by the regular expression, which may be RE2's."""

_EXACT = re.compile(r"[\w/-]*")
_REQUIREMENT = re.compile(
    r"\s*(?:"
    r"(?P<set>[^\s!=<>,()]+)\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<key>[^\s!=<>,()]+)\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s!=<>,()]*)"
    r"|!\s*(?P<absent>[^\s!=<>,()]+)"
    r"|(?P<present>[^\s!=<>,()]+)"
    r")\s*(?:,|\Z)"
)


@dataclass(frozen=True, slots=True)
class TargetNames:
    """The names of a resource that targets can select by, besides labels and annotations."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str

    @classmethod
    def of(cls, value: dict[str, Value]) -> TargetNames:
        """The identity of the object with this value."""
        group, _, version = str(value.get("apiVersion", "")).rpartition("/")
        name, namespace = (str(value_at(value, ("metadata", field)) or "") for field in ("name", "namespace"))
        return cls(group, version, str(value.get("kind", "")), name, namespace)

    @property
    def identity(self) -> Identity:
        """Which resource it is."""
        return Identity(self.group, self.kind, self.namespace, self.name)


def pattern_of(text: str) -> Pattern:
    """The pattern that a regular expression of RE2 is; one that matches itself alone is compared.

    P8: RE2 is kustomize's dialect, and takes time in proportion to the text. Raises ValueError.
    """
    if _EXACT.fullmatch(text):
        return text
    # Few targets need it.
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    try:
        expression: re.Pattern[str] = re2.compile(text, options)
    except re2.error as error:
        words = error.args[0]
        problem = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        raise ValueError(f"not a regular expression of RE2: {problem}") from None
    return expression


@dataclass(frozen=True, slots=True)
class Target:
    """Patterns of an identity, and selectors; what is None matches everything."""

    group: Pattern | None = None
    version: Pattern | None = None
    kind: Pattern | None = None
    name: Pattern | None = None
    namespace: Pattern | None = None
    labels: Selector | None = None
    annotations: Selector | None = None

    def may_match_kind(self, kind: str) -> bool:
        """Whether a resource of this kind needs a closer look."""
        return _fits(self.kind, kind)

    def matches(self, identity: TargetNames, labels: Labels, annotations: Labels) -> bool:
        """Whether the patch is for this resource."""
        return (
            _fits(self.name, identity.name)
            and _fits(self.kind, identity.kind)
            and _fits(self.group, identity.group)
            and _fits(self.version, identity.version)
            and _fits(self.namespace, identity.namespace)
            and (self.labels is None or self.labels.matches(labels))
            and (self.annotations is None or self.annotations.matches(annotations))
        )

    def selects(self, value: dict[str, Value], identity: TargetNames | None = None) -> bool:
        """Whether the patch is for the object with this value; `identity` is that of the object, if it is known."""
        identity = identity or TargetNames.of(value)
        if self.labels is None and self.annotations is None:
            return self.matches(identity, {}, {})
        labels, annotations = (_texts(value_at(value, ("metadata", field))) for field in ("labels", "annotations"))
        return self.matches(identity, labels, annotations)


class Targets:
    """Many targets in their order. Those that name one resource are found by its name, without a look at the others."""

    def __init__(self, targets: Sequence[Target]) -> None:
        """Takes all targets; they are known by their numbers."""
        self._targets = targets
        self._named: dict[str, list[int]] = {}
        self._others: list[int] = []
        self._kinds: dict[str, bool] = {}
        for number, target in enumerate(targets):
            numbers = self._named.setdefault(target.name, []) if isinstance(target.name, str) else self._others
            numbers.append(number)

    def check(self, resources: int, prefix: str = "functionConfig: ") -> None:
        """Raises KrmMergeError where comparing so many resources with each target that names none takes too long.

        The prefix says where the targets are.
        """
        if len(self._others) * resources > (most := COMPARISONS.value()):
            raise KrmMergeError(
                f"{prefix}{len(self._others)} targets without the name of a resource and {resources} resources "
                f"are more than {most} comparisons; give names that are not expressions, or {COMPARISONS.remedy}"
            )

    def may_match_kind(self, kind: str) -> bool:
        """Whether a resource of this kind needs a closer look."""
        matches = self._kinds.get(kind)
        if matches is None:
            matches = self._kinds[kind] = any(target.may_match_kind(kind) for target in self._targets)
        return matches

    def of(self, kind: str, name: str) -> Iterator[int]:
        """The numbers of the targets that may be for a resource of this kind and name, in their order."""
        if self.may_match_kind(kind):
            following = 0
            while (number := self.next(following, name)) is not None:
                yield number
                following = number + 1

    def next(self, start: int, name: str) -> int | None:
        """The number of the first target from `start` that may be for a resource of this name, None where none is."""
        numbers_of_targets = [
            numbers[at]
            for numbers in (self._named.get(name, ()), self._others)
            if (at := bisect_left(numbers, start)) < len(numbers)
        ]
        return min(numbers_of_targets, default=None)


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
                raise ValueError(f"cannot read the selector {quoted(text)!r} at column {position + 1}")
            requirements.append(_requirement(match))
            position = match.end()
        return cls(tuple(requirements))

    def matches(self, labels: Labels) -> bool:
        """Whether all requirements are met."""
        return all(requirement(labels) for requirement in self.requirements)


def _requirement(match: re.Match[str]) -> Callable[[Labels], bool]:
    key = match["set"] or match["key"] or match["absent"] or match["present"]
    # None is for a label that is not there.
    values: set[str | None] = {None}
    if match["set"]:
        values = {value.strip() for value in match["values"].split(",")}
    elif match["key"]:
        values = {match["value"]}
    # As in Kubernetes, `notin` and `!=` also hold for what has no such label.
    is_excluded = match["how"] == "notin" or match["sign"] == "!=" or match["present"] is not None
    return lambda labels: (labels.get(key) in values) != is_excluded


def _fits(pattern: Pattern | None, text: str) -> bool:
    if pattern is None or isinstance(pattern, str):
        return pattern is None or pattern == text
    return pattern.fullmatch(text) is not None


def _texts(value: Value) -> dict[str, str]:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else {}
