"""The layout of local: the file of each resource, and the one that its conventions give a new one (R7, R8, R10)."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from posixpath import splitext
from typing import Final, NamedTuple, TypeAlias

from krm_merge.krm import Identity
from krm_merge.packages import File, PackageError, Tree, holds_resources, is_json, is_kptfile, leads_out
from krm_merge.text import (
    MappingNode,
    Value,
    from_value,
    in_lines_of,
    joined,
    read,
    split_documents,
    to_value,
    without_separator,
    written,
)
from krm_merge.vendored.documents import FoundResource

_Kind: TypeAlias = tuple[str, str]
_Score: TypeAlias = tuple[int, ...]


class PlacedResource(NamedTuple):
    """A resource in the file that somebody put it in; `position` is the one in upstream's order, None for none."""

    resource: Named
    path: str
    position: int | None


class Conventions:
    """The common pattern of the paths of resources."""

    def __init__(self, placed: Sequence[PlacedResource]) -> None:
        """Takes every resource that shows where others belong."""
        self._place_all = placed
        self._templates = [templates_of(path, resource) for resource, path, _ in placed]

    def path_of(self, resource: Named, position: int | None) -> str | None:
        """The file for a new resource at a position of upstream's order; None where there is no convention.

        The convention of most resources of its kind counts, of several the one of the nearest upstream. A kind that is
        new follows the convention of most kinds, else the resource that is nearest to it upstream.
        """
        kind = resource.identity.group_kind
        rankings = [self._by_kind[kind]] if kind in self._by_kind else [self._of_kinds, self._of_neighbours]
        paths = (path for ranking in rankings for path in ranking.paths_of(resource, position))
        return next(paths, None)

    @cached_property
    def _kinds(self) -> dict[Template, set[_Kind]]:
        """The kinds that each template explains."""
        kinds: dict[Template, set[_Kind]] = {}
        for (resource, _, _), templates in zip(self._place_all, self._templates, strict=True):
            for template in templates:
                kinds.setdefault(template, set()).add(resource.identity.group_kind)
        return kinds

    def _generality(self, template: Template) -> int:
        """How many kinds a template explains, if that is more than one and something of it follows from them."""
        kinds = len(self._kinds[template])
        return kinds if kinds > 1 and template.placeholders else 0

    @cached_property
    def _by_kind(self) -> dict[_Kind, _Ranking]:
        """For each kind the templates that explain its resources."""
        numbers: dict[_Kind, list[int]] = {}
        for number, (resource, _, _) in enumerate(self._place_all):
            numbers.setdefault(resource.identity.group_kind, []).append(number)
        return {kind: self._ranking(of_kind) for kind, of_kind in numbers.items()}

    def _ranking(self, numbers: Iterable[int]) -> _Ranking:
        votes = self._votes(numbers)
        return _Ranking(
            ((len(voters), self._generality(template), template.placeholders), template, self._position(number))
            for template, voters in votes.items()
            for number in voters
        )

    @cached_property
    def _of_kinds(self) -> _Ranking:
        """The templates that explain several kinds."""
        votes = self._votes(range(len(self._place_all)))
        return _Ranking(
            ((general, len(voters), template.placeholders), template, self._position(voters[0]))
            for template, voters in votes.items()
            if (general := self._generality(template))
        )

    @cached_property
    def _of_neighbours(self) -> _Ranking:
        """For each resource the template that explains most others besides it."""
        votes = self._votes(range(len(self._place_all)))
        best = (
            max(templates, key=lambda template: (len(votes[template]), template.placeholders, template.path))
            for templates in self._templates
        )
        return _Ranking(((), template, self._position(number)) for number, template in enumerate(best))

    def _votes(self, numbers: Iterable[int]) -> dict[Template, list[int]]:
        votes: dict[Template, list[int]] = {}
        for number in numbers:
            for template in self._templates[number]:
                votes.setdefault(template, []).append(number)
        return votes

    def _position(self, number: int) -> float:
        position = self._place_all[number].position
        return math.inf if position is None else position


class _Ranking:
    """Templates by their score; those with one score by the position of what they explain."""

    def __init__(self, scored: Iterable[tuple[_Score, Template, float]]) -> None:
        by_score: dict[_Score, list[tuple[float, Template]]] = {}
        for score, template, position in scored:
            by_score.setdefault(score, []).append((position, template))
        self._groups = [sorted(by_score[score], key=_place) for score in sorted(by_score, reverse=True)]

    def paths_of(self, resource: Named, position: int | None) -> Iterator[str]:
        """The paths that the templates give a resource, the best first."""
        at = math.inf if position is None else position
        for group in self._groups:
            for template in _nearest_first(group, at):
                if (path := template.path_of(resource)) is not None:
                    yield path


def _place(entry: tuple[float, Template]) -> tuple[float, str]:
    # Of equal ones always the same, whatever the order of a set.
    return entry[0], entry[1].path


def _nearest_first(group: Sequence[tuple[float, Template]], position: float) -> Iterator[Template]:
    """The templates from a position outwards; what comes before it is nearer than what comes as far behind."""
    after = bisect_left(group, position, key=lambda entry: entry[0])
    before = after - 1
    while before >= 0 or after < len(group):
        is_before = after == len(group) or (before >= 0 and position - group[before][0] <= group[after][0] - position)
        yield group[before if is_before else after][1]
        before, after = (before - 1, after) if is_before else (before, after + 1)


_APP_LABELS: Final = ("app.kubernetes.io/name", "app", "k8s-app")
_COMPONENT_LABEL: Final = "app.kubernetes.io/component"
_SOURCE = re.compile(r"^# Source: (\S+)$", re.MULTILINE)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_SHORT_KINDS: Final = {
    "ConfigMap": "cm",
    "CustomResourceDefinition": "crd",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing",
    "Namespace": "ns",
    "NetworkPolicy": "netpol",
    "PersistentVolumeClaim": "pvc",
    "PodDisruptionBudget": "pdb",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
}
"""kubectl's short names of kinds that files are named by."""


@dataclass(frozen=True, slots=True)
class Named:
    """The parts of a resource that name its file. `owner` is the resource of the package whose name begins its name."""

    identity: Identity
    app: str
    component: str
    source: str
    owner: str

    @property
    def parts(self) -> dict[str, str]:
        """The texts that a path may hold, by placeholder; none is empty."""
        parts = {
            "name": _safe(self.identity.name),
            "app": _safe(self.app),
            "component": _safe(self.component),
            "owner": _safe(self.owner),
            "namespace": _safe(self.identity.namespace),
        }
        return {placeholder: text for placeholder, text in parts.items() if text}

    @property
    def kinds(self) -> dict[str, str]:
        """The kind as files are named by it, by style."""
        kind = self.identity.kind
        words = [word.lower() for word in _HUMP.split(kind)]
        lower = "".join(words)
        styles = {
            "kind": lower,
            "kinds": _plural(lower),
            "kebab-kind": "-".join(words),
            "kebab-kinds": _plural("-".join(words)),
            "snake_kind": "_".join(words),
            "Kind": kind,
        }
        return styles | ({"short": _SHORT_KINDS[kind]} if kind in _SHORT_KINDS else {})

    @property
    def sources(self) -> dict[str, str]:
        """The path of the chart's template, whole, without the chart's name, and without `templates/`."""
        if not self.source:
            return {}
        _, _, in_chart = self.source.partition("/")
        forms = {"source": self.source, "template": in_chart, "file": in_chart.removeprefix("templates/")}
        return {placeholder: path for placeholder, path in forms.items() if path}


def collect_names(resources: Iterable[tuple[MappingNode, Identity, str]]) -> list[Named]:
    """The parts that may name the files of resources; takes each resource with its identity and its document's text.

    All resources of the package are taken together: one may be named after another.
    """
    items = list(resources)
    names = {identity.name for _, identity, _ in items}
    return [
        Named(identity, *_labels(root), _source(text), _owner(identity.name, names)) for root, identity, text in items
    ]


def _labels(root: MappingNode) -> tuple[str, str]:
    metadata = root.get("metadata")
    labels = to_value(metadata.get("labels")) if isinstance(metadata, MappingNode) else None
    if not isinstance(labels, dict):
        return "", ""
    app = next((labels[label] for label in _APP_LABELS if label in labels), "")
    return str(app or ""), str(labels.get(_COMPONENT_LABEL) or "")


def _source(text: str) -> str:
    match = _SOURCE.search(text)
    return match[1] if match else ""


def _owner(name: str, names: set[str]) -> str:
    """The shortest name in the package that a name begins with, itself at last."""
    words = name.split("-")
    return next((start for at in range(1, len(words)) if (start := "-".join(words[:at])) in names), name)


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.")


# ---- templates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Template:
    """A path with placeholders, such as `{name}/{kind}.yaml`."""

    path: str

    def path_of(self, resource: Named) -> str | None:
        """The path of a resource; None where it lacks what the path is named by."""
        texts = {**resource.parts, **resource.kinds, **resource.sources}
        placeholders = _PLACEHOLDER.findall(self.path)
        if not all(placeholder in texts for placeholder in placeholders):
            return None
        return _PLACEHOLDER.sub(lambda match: texts[match[1]], self.path)

    @property
    def placeholders(self) -> int:
        """How much of the path follows from the resource."""
        return self.path.count("{")


def templates_of(path: str, resource: Named) -> set[Template]:
    """Every convention that explains why a resource is in the file with this path; the path itself is one."""
    stem, suffix = splitext(path)
    segments = [sorted(_readings(segment, resource)) for segment in stem.split("/")]
    templates = {Template("/".join(choice) + suffix) for choice in product(*segments)}
    for placeholder, source in resource.sources.items():
        if path == source or path.endswith(f"/{source}"):
            templates.add(Template(f"{path.removesuffix(source)}{{{placeholder}}}"))
    return templates


def _readings(segment: str, resource: Named) -> Iterator[str]:
    """A folder or file name with parts of it as placeholders, in every way that it can be read."""
    by_part = {segment, *(_put(segment, text, placeholder) for placeholder, text in resource.parts.items())}
    kinds = resource.kinds.items()
    yield from {*by_part, *(_put(reading, text, placeholder) for reading in by_part for placeholder, text in kinds)}


def _put(reading: str, text: str, placeholder: str) -> str:
    """A placeholder in the place of a text, where that is a word of its own outside of other placeholders."""
    word = rf"(?<![A-Za-z0-9{{]){re.escape(text)}(?![A-Za-z0-9}}])"
    pieces = _PLACEHOLDER.split(reading)
    pieces[1::2] = (f"{{{name}}}" for name in pieces[1::2])
    for at in range(0, len(pieces), 2):
        pieces[at], count = re.subn(word, f"{{{placeholder}}}", pieces[at], count=1)
        if count:
            break
    return "".join(pieces)


def default_path(resource: Named) -> str:
    """The file of a resource where there is no convention."""
    return f"{resource.kinds['kind']}-{resource.parts.get('name', 'unnamed')}.yaml"


class Row(NamedTuple):
    """A resource in original, upstream and local."""

    original: FoundResource | None
    upstream: FoundResource | None
    local: FoundResource | None

    @property
    def is_vendored(self) -> bool:
        """Whether upstream has or had it."""
        return self.original is not None or self.upstream is not None

    @property
    def nearest(self) -> FoundResource:
        """The resource as the nearest side has it."""
        resource = self.local or self.upstream or self.original
        assert resource is not None
        return resource


class LayoutPlace(NamedTuple):
    """The file that a resource belongs to; of an item of a List, which document of the file the List is."""

    path: str
    in_list: int | None = None


class Layout:
    """The files of local, and the place of every resource of original and upstream among them."""

    def __init__(self, local: Tree, rows: Sequence[Row], upstream: Sequence[FoundResource], *, is_file: bool) -> None:
        """Finds the places. `upstream` is in its order; `is_file` says that local is one file and stays one.

        Raises PackageError where a new resource has no place.
        """
        self._local = local
        self._only = next(iter(local)) if is_file else None
        manifests = [file.data for path, file in local.items() if holds_resources(path) and not is_kptfile(path)]
        self._separates = sum(1 for data in manifests if data.startswith(b"---")) * 2 > len(manifests)
        self._taken = {resource.member.place: _target(resource) for row in rows if (resource := row.local) is not None}
        self._lists: dict[LayoutPlace, bool] = {}
        for row in rows:
            if row.local is not None and (target := _target(row.local)).in_list is not None:
                self._lists[target] = self._lists.get(target, True) and row.is_vendored
        self._targets = self._place_all(rows, {id(resource): position for position, resource in enumerate(upstream)})

    def _place_all(self, rows: Sequence[Row], order: Mapping[int, int]) -> dict[int, LayoutPlace]:
        """The place of each resource of original and upstream, by id(); `order` has the positions of upstream's."""
        members = ((row.nearest.member, _commented_text(row)) for row in rows)
        names = collect_names((member.root, member.identity, text) for member, text in members)
        positions = [None if row.upstream is None else order[id(row.upstream)] for row in rows]
        placed = list(zip(rows, names, positions, strict=True))
        # Files of local's own do not show where upstream's belong.
        conventions = Conventions(
            [
                PlacedResource(name, row.local.member.place, position)
                for row, name, position in placed
                if row.local is not None and row.is_vendored
            ]
        )
        targets: dict[int, LayoutPlace] = {}
        for row, name, position in placed:
            target = self._of_new(name, position, conventions) if row.local is None else _target(row.local)
            targets |= {id(side): target for side in (row.original, row.upstream) if side is not None}
        return targets

    def _of_new(self, resource: Named, position: int | None, conventions: Conventions) -> LayoutPlace:
        """The place of a resource that local does not have (R8)."""
        if self._only is not None:
            return self._taken.get(self._only, LayoutPlace(self._only))
        for path in (conventions.path_of(resource, position), default_path(resource)):
            if path is None or leads_out(path):
                continue
            target = self._taken.get(path)
            if target is not None and (target.in_list is not None or not is_json(path)):
                return target
            if target is None and path not in self._local:
                self._taken[path] = LayoutPlace(path)
                return self._taken[path]
            # It has no room: JSON holds one resource, and other files hold none.
        identity = resource.identity
        problem = f"upstream's new {identity.kind} {identity.name} belongs to this file, which holds something else"
        raise PackageError(f"{default_path(resource)}: {problem}; rename the file")

    # ---- the files ---------------------------------------------------------------------------------------------------

    def files(self, side: Iterable[FoundResource]) -> dict[str, File]:
        """One version as files."""
        documents: dict[str, list[bytes]] = {}
        items: dict[LayoutPlace, list[Value]] = {target: [] for target in self._lists}
        for resource in side:
            target = self._targets[id(resource)]
            if target.in_list is None:
                documents.setdefault(target.path, []).append(self._document(resource, target.path))
            else:
                items[target].append(to_value(resource.member.root))
        for target, values in items.items():
            # A List whose items are all gone is gone, too.
            if values or not self._lists[target]:
                documents.setdefault(target.path, []).append(self._list(target, values))
        return {path: self._file(path, texts) for path, texts in documents.items()}

    def _file(self, path: str, documents: list[bytes]) -> File:
        ours = self._local.get(path)
        first = without_separator(documents[0])
        separates = self._separates if ours is None else ours.data.startswith(b"---")
        if separates and not is_json(path) and not first.startswith(b"---"):
            first = b"---\n" + first
        data = joined([first, *documents[1:]], b"")
        return File(data) if ours is None else File(in_lines_of(data, ours.data), ours.mode)

    def _document(self, resource: FoundResource, path: str) -> bytes:
        root = resource.member.root
        if is_json(path):
            return _as_json(to_value(root))
        # JSON among YAML would be valid, and nothing for people.
        text = _as_yaml(to_value(root)) if root.flow else without_separator(resource.text.encode())
        return text if text.endswith(b"\n") else text + b"\n"

    def _list(self, target: LayoutPlace, items: list[Value]) -> bytes:
        """Local's List with the items of one version (R10)."""
        assert target.in_list is not None
        root = read(split_documents(self._local[target.path].data)[target.in_list].decode())
        value = to_value(root)
        assert isinstance(value, dict)
        return _as_json({**value, "items": items}) if is_json(target.path) else _as_yaml({**value, "items": items})


def _target(local: FoundResource) -> LayoutPlace:
    return LayoutPlace(local.member.place, None if local.item is None else local.member.index)


def _commented_text(row: Row) -> str:
    """The text of the version that says by a comment where it comes from, upstream's at best."""
    resource = row.upstream or row.original or row.local
    assert resource is not None
    return resource.text


def _as_json(value: Value) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()


def _as_yaml(value: Value) -> bytes:
    root = from_value(value)
    assert isinstance(root, MappingNode)
    return written(root).encode()
