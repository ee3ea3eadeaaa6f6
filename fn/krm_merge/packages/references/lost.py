"""What a side of a merge no longer has, and others may name (law I)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.packages.files.tree import Tree
from krm_merge.packages.references.breach import SideName
from krm_merge.packages.references.graph import PackageGraph
from krm_merge.schema.references import labels_in
from krm_merge.text.reading.values import to_value


@dataclass(frozen=True, slots=True)
class MergedVersions:
    """What a merge made of its sides: the graphs, the moves of files that each side made, what became of resources.

    `graph` reads another version of the package.
    """

    original: PackageGraph
    upstream: PackageGraph
    local: PackageGraph
    moves: Mapping[SideName, Mapping[str, str]]
    outcomes: Sequence[ResourceOutcome]
    graph: Callable[[Tree], PackageGraph]

    def side(self, name: SideName) -> PackageGraph:
        """Upstream or local."""
        return self.upstream if name == "upstream" else self.local


@dataclass(frozen=True, slots=True)
class Lost:
    """The files, names of objects and labels that a side lacks, and the kinds of objects that it changed."""

    files: Sequence[str]
    names: frozenset[str]
    labels: frozenset[tuple[str, str]]
    changed: frozenset[str]


def lost_by(name: SideName, versions: MergedVersions, merged: Tree) -> Lost:
    """What this side has not, of what the original has; files that the merged package has are not lost."""
    original, side = (graph.there or graph.tree for graph in (versions.original, versions.side(name)))
    gone = [path for path in original if path not in side and path not in merged]
    # What the other side calls a lost file is lost with it.
    renamed = versions.moves["local" if name == "upstream" else "upstream"]
    files = [*gone, *(renamed[path] for path in gone if path in renamed and renamed[path] not in merged)]
    changed = (o.member.identity.kind for o in versions.outcomes if o.fate == "merged" and _changed_by(o, name))
    labels = frozenset(_lost_labels(versions.outcomes, name))
    return Lost(files, frozenset(_lost_names(name, versions)), labels, frozenset(changed))


def _lost_names(name: SideName, versions: MergedVersions) -> set[str]:
    """The names that a side has less often than the original, or not for the same objects."""
    graphs = versions.original, versions.side(name)
    before, after = (Counter({name: len(found) for name, found in graph.by_name.items()}) for graph in graphs)
    lost = {word.decode() for word in before - after if word}
    for outcome in versions.outcomes:
        member, now = outcome.original, _member(outcome, name)
        if member is not None and member.identity.name and (now is None or now.identity != member.identity):
            lost.add(member.identity.name)
    return lost


def _member(outcome: ResourceOutcome, name: SideName) -> Member | None:
    return outcome.upstream if name == "upstream" else outcome.local


def _changed_by(outcome: ResourceOutcome, name: SideName) -> bool:
    member = _member(outcome, name)
    return outcome.original is not None and member is not None and member.text != outcome.original.text


def renamed_in(outcomes: Iterable[ResourceOutcome]) -> dict[str, list[tuple[Identity, Identity]]]:
    """What objects were called, and are in the merged package, by their names before."""
    found: dict[str, list[tuple[Identity, Identity]]] = {}
    for outcome in outcomes:
        if outcome.fate in ("merged", "kept") and outcome.original and outcome.upstream and outcome.local:
            before, theirs, ours = (one.identity for one in (outcome.original, outcome.upstream, outcome.local))
            if (now := theirs if ours == before else ours) != before:
                found.setdefault(before.name, []).append((before, now))
    return found


def _lost_labels(outcomes: Iterable[ResourceOutcome], loser: SideName) -> set[tuple[str, str]]:
    """The labels that a side took off objects that can be selected."""
    lost: set[tuple[str, str]] = set()
    for outcome in outcomes:
        now = _member(outcome, loser)
        if outcome.original is not None and (now is None or now.text != outcome.original.text):
            before, after = (_labels(member) for member in (outcome.original, now))
            lost |= before - after
    return lost


def _labels(member: Member | None) -> set[tuple[str, str]]:
    value = to_value(member.root) if member is not None and "labels" in member.text else None
    of = ("pods", "services") if isinstance(value, dict) else ()
    return {label for one in of if isinstance(value, dict) for label in labels_in(value, one).items()}
