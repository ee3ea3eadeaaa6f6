"""Finds what kpt does otherwise: reads the decisions of the merge, and those that lead from its outcome to kpt's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import join
from typing import TypeAlias

from krm_merge.krm import FieldPath, Identity, format_path
from krm_merge.merge import FileDecision, PackageDecisions, Policy, ResourceOutcome, node_at, same
from krm_merge.report.comparison.difference import (
    GRAVITY,
    OF_BYTES,
    PROGRAMS,
    VERSIONS,
    Comparison,
    Difference,
    FindingName,
    VersionName,
)
from krm_merge.report.comparison.judgement import JudgedPlace, differences_in_bytes, judge, steps_of
from krm_merge.report.comparison.lines import ComparedVersions, line_causes, meaning
from krm_merge.report.comparison.spots import is_note
from krm_merge.report.reading import records_of, shown_value
from krm_merge.report.record import DecisionRecord, SideName
from krm_merge.safe_text import without_credentials
from krm_merge.schema import Secrecy
from krm_merge.text import MappingNode, Node, SequenceNode, Value, resolved, to_value

_Roots: TypeAlias = "Mapping[VersionName, Node | None]"

_SIDE_OF: Mapping[VersionName, SideName] = {
    "original": "original",
    "upstream": "upstream",
    "local": "local",
    "kpt": "result",
    "krm-merge": "result",
}
"""Where the record of a conflict has the values, in which both programs agree."""

_OF_TEXT = ("V8", "W1", "H")
"""Rules of decisions that change comments and layout alone."""

_FUNCTIONS = (("pipeline", "mutators"), ("pipeline", "validators"))


def compare(
    decided: Sequence[PackageDecisions],
    policy: Policy,
    between: PackageDecisions,
    versions: ComparedVersions,
    unreadable: Mapping[str, str],
) -> Comparison:
    """Compares two outcomes of an update: `decided` is the merge under `policy`, `between` leads from there to kpt's.

    Original and upstream of the `versions` are as kpt fetches them, so that what it writes is nobody's change.
    `unreadable` are the files of kpt's outcome that no longer can be read, with the reason.
    """
    comparing = _Comparing(decided, policy, between, versions)
    differences = [
        Difference("unreadable", path, None, "", f"kpt leaves a file that cannot be read: {why}")
        for path, why in unreadable.items()
    ]
    for outcome in between.outcomes:
        if outcome.member.place not in unreadable:
            differences += comparing.in_resource(outcome)
    differences += comparing.in_files(file for file in between.files if file.path not in unreadable)
    # Values first: what they do not explain is looked for in the bytes.
    differences += differences_in_bytes(versions, policy, differences)
    differences = _sort([*differences, *comparing.in_agreement(differences)])
    lines = {program: line_causes(versions, program) for program in PROGRAMS}
    is_same = versions["krm-merge"].files == versions["kpt"].files
    return Comparison(differences=differences, lines=lines, is_same=is_same)


class _Comparing:
    def __init__(
        self,
        decided: Sequence[PackageDecisions],
        policy: Policy,
        between: PackageDecisions,
        versions: ComparedVersions,
    ) -> None:
        self._policy, self._versions = policy, versions
        self._conflicts: dict[tuple[str, str], list[DecisionRecord]] = defaultdict(list)
        for record in records_of(decided, policy):
            if record.status != "automatic":
                self._conflicts[_subject(record)].append(record)
        self._decided: dict[Identity, list[tuple[str, ResourceOutcome]]] = defaultdict(list)
        for part in decided:
            for outcome in part.outcomes:
                for member in outcome.members.values():
                    self._decided[member.identity].append((join(part.folder, member.place), outcome))
        self._merged = {o.original.identity: o.original.place for o in between.outcomes if o.original is not None}

    def in_files(self, decisions: Iterable[FileDecision]) -> Iterator[Difference]:
        """The differences of files without resources."""
        for record in records_of([PackageDecisions(files=[*decisions])], self._policy):
            files = {name: version.files.get(record.file) for name, version in self._versions.items()}
            contents = {name: None if file is None else file.data for name, file in files.items()}
            if contents["kpt"] == contents["krm-merge"]:
                continue
            documents = (self._versions[name].documents(record.file) or () for name in ("kpt", "krm-merge"))
            kpt, ours = ([meaning(d.root) for d in of_version if d.root is not None] for of_version in documents)
            if kpt and kpt == ours:
                # What differs in comments and layout alone is no decision.
                continue
            finding, message = judge(JudgedPlace(*map(contents.get, VERSIONS)))
            yield self._difference(finding, message, record, {})

    def in_agreement(self, differences: Iterable[Difference]) -> Iterator[Difference]:
        """The conflicts in which kpt has what krm-merge has: only one of them reports it."""
        differing: dict[tuple[str, str], list[FieldPath]] = defaultdict(list)
        for difference in differences:
            if difference.finding not in OF_BYTES:
                differing[_subject(difference)].append(steps_of(difference.path))
        for subject, conflicts in self._conflicts.items():
            for record in conflicts:
                path = steps_of(record.path)
                if any(_is_within(path, other) or _is_within(other, path) for other in differing[subject]):
                    continue
                values = {name: record.values[side] for name, side in _SIDE_OF.items() if side in record.values}
                yield self._difference("conflict-unreported", record.message, record, values)

    # ---- one resource ------------------------------------------------------------------------------------------

    def in_resource(self, outcome: ResourceOutcome) -> Iterator[Difference]:
        """The differences of a resource."""
        # Nothing of ours is in the records but what differs: every decision is on one difference.
        records = records_of([PackageDecisions([outcome])], self._policy)
        roots = self._roots(outcome)
        roots_of_versions = [root for root in roots.values() if isinstance(root, MappingNode)]
        secrecy = Secrecy(roots_of_versions, self._policy.redactions)
        judged_paths: set[FieldPath] = set()
        for record in records:
            if record.rule in _OF_TEXT and not record.path:
                continue
            if record.rule == "R1":
                yield self._difference_of_place(record, outcome)
                continue
            path = steps_of(record.path)
            listed = next((at for at, step in enumerate(path[:-1]) if isinstance(step, int)), None)
            # Positions do not lead to the same element in all versions: below one, lists are compared as a whole.
            path = path if listed is None else path[:listed]
            if record.nature == "order" and path and not isinstance(path[-1], str):
                path = path[:-1]
            if path in judged_paths:
                continue
            judged_paths.add(path)
            nodes = _nodes_at(roots, path)
            ends = nodes["krm-merge"], nodes["kpt"]
            if is_note(path, *ends, in_kptfile=outcome.member.is_kptfile):
                continue
            # V7: alternatives are one decision, though both may have one of them.
            if record.nature == "order" or not path or not same(*ends):
                # Values of the whole list are shown for an element.
                hidden = record.is_redacted or secrecy.hides(path, nodes.values())
                difference = self._judge(record, path, nodes, outcome)
                yield replace(difference, is_redacted=True, values={}) if hidden else difference

    def _judge(self, record: DecisionRecord, path: FieldPath, nodes: _Roots, outcome: ResourceOutcome) -> Difference:
        if record.nature == "order":
            orders = {name: _labels(node, steps_of(record.path)) for name, node in nodes.items() if node is not None}
            return self._difference("order", "kpt has the elements in another order", record, orders, path=path)
        values = {name: shown_value(to_value(node)) for name, node in nodes.items() if node is not None}
        if not path and nodes["krm-merge"] is None and outcome.member.identity in self._merged:
            message = f"kpt has it in {self._merged[outcome.member.identity]} and in {record.file}"
            return self._difference("duplicated", message, record, {}, path=path)
        meanings = (meaning(nodes[name], path) for name in VERSIONS)
        finding, message = judge(JudgedPlace(*meanings, kpt_has_nothing_in_it=_is_empty(nodes["kpt"])))
        if finding == "local-change-lost" and nodes["kpt"] is None and path[:-1] in _FUNCTIONS:
            finding = "function-dropped"
        return self._difference(finding, message, record, values if path else {}, path=path)

    def _difference_of_place(self, record: DecisionRecord, outcome: ResourceOutcome) -> Difference:
        """Kpt has a resource in another file."""
        assert outcome.original is not None
        assert outcome.upstream is not None
        decided = self._decision_on(outcome)
        place, kpt = outcome.original.place, outcome.upstream.place
        finding, message = "changed-alone", f"kpt has it in {kpt}"
        upstream = self._versions["upstream"]
        if upstream.has(kpt, outcome.upstream.identity) and not upstream.has(place, outcome.original.identity):
            finding, message = "decided-otherwise", f"{message}, as upstream has it"
        elif decided is not None and decided.original is not None:
            for side, member, lost in (
                ("local", decided.local, "local-change-lost"),
                ("upstream", decided.upstream, "upstream-change-missed"),
            ):
                if member is not None and member.place != decided.original.place and place.endswith(member.place):
                    finding, message = lost, f"{side} moved it to {place}; {message}"
                    break
        return self._difference(finding, message, record, {})  # type: ignore[arg-type]

    def _roots(self, outcome: ResourceOutcome) -> _Roots:
        merged, kpt = (None if m is None else m.root for m in (outcome.original, outcome.upstream))
        decided = self._decision_on(outcome)
        # Upstream did not touch it where nothing was decided: the merge did not look at it.
        members = [outcome.member] * 3 if decided is None else [decided.original, decided.upstream, decided.local]
        roots: dict[VersionName, Node | None] = {}
        for name, member in zip(VERSIONS[:3], members, strict=True):
            root = None if member is None else self._versions[name].resource(member.file, member.identity)
            roots[name] = member.root if root is None and member is not None and decided is not None else root
        return roots | {"kpt": kpt, "krm-merge": merged}

    def _decision_on(self, outcome: ResourceOutcome) -> ResourceOutcome | None:
        """The decision of the merge on the same resource: that in the same file comes first."""
        for member in outcome.members.values():
            candidates = self._decided.get(member.identity, [])
            at_place = [decided for place, decided in candidates if place == member.place]
            if at_place or (candidates and member.identity.kind):
                return (at_place or [candidates[0][1]])[0]
        return None

    def _difference(
        self,
        finding: FindingName,
        message: str,
        record: DecisionRecord,
        values: Mapping[VersionName, Value],
        *,
        path: FieldPath | None = None,
    ) -> Difference:
        path = steps_of(record.path) if path is None else path
        conflicts = self._conflicts.get(_subject(record), [])
        conflict = next((conflict for conflict in conflicts if _is_about(path, steps_of(conflict.path))), None)
        return Difference(
            finding,
            record.file,
            record.resource,
            format_path(path),
            without_credentials(message),
            {} if record.is_redacted else values,
            conflict.rule if conflict is not None else "",
            record.is_redacted,
        )


def _nodes_at(roots: _Roots, path: FieldPath) -> _Roots:
    """What each version has at a path; an element that only its position names is looked for by its value."""
    if not path or not isinstance(path[-1], int):
        return {name: node_at(roots[name], path) for name in VERSIONS}
    merged, kpt = node_at(roots["krm-merge"], path), node_at(roots["kpt"], path)
    lists = {name: node_at(roots[name], path[:-1]) for name in VERSIONS}
    if kpt is not None and _has(lists["krm-merge"], kpt):
        kpt = None
    elif merged is not None and _has(lists["kpt"], merged):
        merged = None
    element = merged if merged is not None else kpt
    original, upstream, local = (
        element if element is not None and _has(lists[name], element) else None for name in VERSIONS[:3]
    )
    return {"original": original, "upstream": upstream, "local": local, "kpt": kpt, "krm-merge": merged}


def _has(listed: Node | None, element: Node) -> bool:
    return isinstance(listed, SequenceNode) and any(item.canonical == element.canonical for item in listed.items)


def _labels(listed: Node, moved: FieldPath) -> Value:
    """The elements of a list in their order, by their keys where that is how the one that `moved` is known."""
    listed = resolved(listed)
    step = moved[-1] if moved else ""
    items = listed.items if isinstance(listed, SequenceNode) else []
    if not isinstance(step, tuple):
        return [shown_value(to_value(item)) for item in items]
    keyed = [[node_at(item, (name,)) for name, _ in step] for item in items]
    return [" ".join(str(to_value(key)) for key in keys if key is not None) for keys in keyed]


def _is_empty(node: Node | None) -> bool:
    node = None if node is None else resolved(node)
    return isinstance(node, MappingNode | SequenceNode) and not node.children


def _is_within(path: FieldPath, around: FieldPath) -> bool:
    return path[: len(around)] == around


def _is_about(path: FieldPath, conflict: FieldPath) -> bool:
    """Whether a conflict is at a place, around it or inside; those inside a resource have differences of their own."""
    return _is_within(path, conflict) or bool(path and _is_within(conflict, path))


def _subject(entry: DecisionRecord | Difference) -> tuple[str, str]:
    return entry.file, str(entry.resource)


def _sort(differences: Sequence[Difference]) -> list[Difference]:
    gravest: dict[object, int] = {}
    for difference in sorted(differences, key=lambda difference: -GRAVITY[difference.finding]):
        gravest[difference.file] = gravest[_subject(difference)] = GRAVITY[difference.finding]

    def order(difference: Difference) -> tuple[object, ...]:
        file, subject = difference.file, _subject(difference)
        return gravest[file], file, gravest[subject], subject, GRAVITY[difference.finding]

    return sorted(differences, key=order)
