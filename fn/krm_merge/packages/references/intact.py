"""What held on original, upstream and local holds in the merged package, or its breach is a conflict (law I).

A reference is looked at where one side lost what it names, in documents that this side does not have as they are. It
is broken where it leads somewhere on every side that has it, and nowhere in the merged package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import methodcaller
from posixpath import basename, dirname, join, relpath
from typing import Final, Literal, TypeAlias

from krm_merge.krm import NO_RESOURCE, FieldPath, Identity, format_path, value_at
from krm_merge.merge import FileDecision, Member, Policy, ResourceOutcome, file_content
from krm_merge.packages.files.tree import Changes, Tree
from krm_merge.packages.references.edits import (
    ReferenceEdits,
    exact_path,
    patched_in,
)
from krm_merge.packages.references.graph import PackageGraph, call_document, is_naming, mentions, words_of
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.schema import FileReference, labels_in, references_in, selectors_in, targets_in
from krm_merge.startup import fresh, frozen, replace
from krm_merge.text import Object


@frozen
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


@frozen
class Lost:
    """The files, names of objects and labels that a side lacks, and the kinds of objects that it changed."""

    files: Sequence[str]
    names: frozenset[str]
    labels: frozenset[tuple[str, str]]
    changed: frozenset[str]


def lost_by(name: SideName, versions: MergedVersions, merged: Tree) -> Lost:
    """What this side has not, of what the original has; files that the merged package has are not lost."""
    original, side = (graph.there for graph in (versions.original, versions.side(name)))
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
    before, after = (Counter({name: len(documents) for name, documents in graph.by_name.items()}) for graph in graphs)
    # Counted: one of two objects of a name may be gone.
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
    renames: dict[str, list[tuple[Identity, Identity]]] = {}
    for outcome in outcomes:
        if outcome.fate in ("merged", "kept") and outcome.original and outcome.upstream and outcome.local:
            before, theirs, ours = (member.identity for member in (outcome.original, outcome.upstream, outcome.local))
            if (now := theirs if ours == before else ours) != before:
                renames.setdefault(before.name, []).append((before, now))
    return renames


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
    value = member.value if member is not None and "labels" in member.text else {}
    return {label for scope in ("pods", "services") for label in labels_in(value, scope).items()}


SideName = Literal["upstream", "local"]
SIDES: Final[tuple[SideName, ...]] = ("upstream", "local")


@frozen
class Breach:
    """A reference that leads nowhere in the merged package; `texts` says what it names on the sides that have it."""

    file: str
    reference: str
    texts: Mapping[SideName, str]
    lost_by: SideName

    @property
    def choices(self) -> tuple[SideName, ...]:
        """The sides that it can be settled for: those that have nothing to name."""
        return tuple(name for name in SIDES if name not in self.texts)

    def decide(self, policy: Policy) -> FileDecision:
        """The decision on it: nothing is changed unless a choice says so."""
        policy = policy.of(NO_RESOURCE)
        upstream, local = (self.texts[name].encode() if name in self.texts else None for name in SIDES)
        sides = self.reference.encode(), upstream, local
        what = f"{self.reference}, which {self.lost_by} removed or changed"
        for resolution in policy.resolutions_at(()):
            is_choice = resolution.nature == "reference" and resolution.choice in self.choices
            if is_choice and resolution.fit("", *map(file_content, sides)):
                message = f"{what}; settled by {resolution.place}: {resolution.choice}"
                merged = upstream if resolution.choice == "upstream" else local
                return FileDecision(self.file, "I", message, "both", "info", *sides, merged, resolution, self.choices)
        message = policy.explanation((), what, "it refers to nothing", has_place=False)
        return FileDecision(self.file, "I", message, "both", policy.severity(()), *sides, choices=self.choices)


@frozen
class Intact:
    """The files that follow what they name, and what is to be reported."""

    changes: Changes = fresh(factory=dict)
    followed: Sequence[FileDecision] = ()
    breaches: Sequence[Breach] = ()

    def decisions(self, policy: Policy) -> list[FileDecision]:
        """Those on the references that followed, and on the broken ones."""
        return [*self.followed, *(breach.decide(policy) for breach in self.breaches)]


def keep_intact(versions: MergedVersions, merged: Tree) -> Intact:
    """Judges the references of the merged package; reads nothing where no side lost what others may name."""
    judge = _Judge(versions, versions.graph(merged))
    for name in SIDES:
        judge.judge(name)
    return Intact(judge.edits.changes(), judge.edits.followed, list(judge.breaches.values()))


class _Judge:
    """Collects what is broken, and the edits by which references follow."""

    def __init__(self, versions: MergedVersions, merged: PackageGraph) -> None:
        self._versions = versions
        self._merged = merged
        self._renamed = renamed_in(versions.outcomes)
        pairs = [pair for of_name in self._renamed.values() for pair in of_name]
        self._old_identities = {new: old for old, new in reversed(pairs)}
        # Where files of the sides were in the original, and are in the merged package.
        self._before = {name: {new: old for old, new in versions.moves[name].items()} for name in SIDES}
        self._now = {name: {old: new for new, old in versions.side(name).paths.items()} for name in SIDES}
        self.edits = ReferenceEdits(merged.tree)
        self.breaches: dict[tuple[str, str], Breach] = {}

    def judge(self, loser: SideName) -> None:
        """Looks at the references to what this side no longer has."""
        versions, merged, side = self._versions, self._merged, self._versions.side(loser)
        lost = lost_by(loser, versions, merged.tree)
        # Most merges end here, and have read nothing.
        if not (lost.files or lost.names or lost.labels or lost.changed):
            return
        of_files = words_of(name for path in lost.files for name in (basename(path), basename(dirname(path))) if name)
        words, of_labels = words_of(lost.names), words_of(text for _, text in lost.labels)
        # What the loser has as it is now was in order there.
        changed = {path: file for path, file in merged.tree.items() if file != side.tree.get(path)}
        for path in filter(is_naming, changed):
            if lost.files and (path in side.paths or mentions(changed[path].data, of_files)):
                self._files(path, loser)
            if mentions(changed[path].data, words) and (parsed := merged.naming(path)) is not None:
                self._targets(parsed, lost.names, loser)
        part = versions.graph({path: file for path, file in changed.items() if not is_naming(path)})
        for document in part.mentioning(words | of_labels):
            if (parsed := document.member()) is not None:
                self._names(parsed, lost.names, loser)
                self._targets(parsed, lost.names, loser)
                self._selectors(parsed, lost.labels, of_labels, loser)
        # A file of patches may have changed without the Kustomization that names it.
        patching = merged.tree if lost.changed and merged.patches & changed.keys() else changed
        for path in patching if lost.changed else ():
            self._positions(path, lost.changed, loser)

    def _sides_with(
        self, document: Member, reference: object, references: _References, leads: Callable[[PackageGraph], bool]
    ) -> list[SideName]:
        """The sides on which a document has the reference; none where it refers to nothing on one of them."""
        sides: list[SideName] = []
        for name in SIDES:
            side = self._versions.side(name)
            same = side.same(document) or self._before_renaming(side, document)
            if same is not None and reference in references(side, same):
                if not leads(side):
                    return []
                sides.append(name)
        return sides

    def _before_renaming(self, side: PackageGraph, document: Member) -> Member | None:
        """This document of a side that calls it as the original does."""
        old = self._old_identities.get(document.identity)
        return None if old is None else side.same(replace(document, identity=old))

    def _report(
        self,
        document: Member,
        reference: str,
        texts: Mapping[SideName, str],
        loser: SideName,
    ) -> None:
        text = f"{call_document(document)}: {reference}" if document.identity != NO_RESOURCE else reference
        self.breaches.setdefault((document.place, text), Breach(document.place, text, texts, loser))

    # ---- files -----------------------------------------------------------------------------------------------------

    def _files(self, path: str, loser: SideName) -> None:
        sides = {name: self._versions.side(name) for name in SIDES}
        paths_by_name = {
            name: {file_reference.file: place for file_reference, place in side.files_of(path)}
            for name, side in sides.items()
        }
        listed = {(file_reference.path[:-1], file_reference.file) for file_reference, _ in self._merged.files_of(path)}
        for named, target in self._merged.files_of(path):
            # Nobody knows what lies outside of the package.
            if self._merged.has_file(target) or target.startswith("../"):
                continue
            targets = {name: paths_by_name[name][named.file] for name in SIDES if named.file in paths_by_name[name]}
            naming = self._merged.naming(path)
            if naming is None or not all(sides[name].has_file(place) for name, place in targets.items()) or not targets:
                continue
            places = (self._place(name, place) for name, place in targets.items())
            now = next((new for place in places if place and (new := self._named_from(path, named, place))), None)
            if now is None:
                self._report(naming, f"{format_path(named.path)} names {named.file}", targets, loser)
            else:
                # The new name may be in the list already, from upstream: twice would be an error to kustomize.
                is_listed = (named.path[:-1], now) in listed
                listed.add((named.path[:-1], now))
                value = None if is_listed else _key_for(named, now) + now
                self.edits.follow(path, 0, named.path, value, named.file, now)

    def _named_from(self, path: str, named: FileReference, place: str) -> str | None:
        """A file or folder as a Kustomization or Kptfile may name it.

        kustomize and kpt take no file from outside of the folder, and kustomize no folder around it.
        """
        new = relpath(place, dirname(path) or ".")
        leads_out = new.startswith("../") and not named.file.startswith("../")
        is_around = f"{dirname(path)}/".startswith(f"{place}/")
        return None if (leads_out if place in self._merged.tree else is_around) else new

    def _place(self, name: SideName, path: str) -> str | None:
        """Where the merged package has a file or folder of a side."""
        there = self._versions.side(name).there
        below = next((file for file in ("", *KUSTOMIZATION_FILES) if join(path, file).rstrip("/") in there), None)
        if below is None:
            return None
        file = join(path, below).rstrip("/")
        before = self._before[name].get(file, file)
        other = SIDES[1 - SIDES.index(name)]
        for place in (self._versions.moves[other].get(before), self._now[name].get(file), file):
            if place is not None and place in self._merged.tree and (not below or basename(place) == below):
                return dirname(place) if below else place
        return None

    # ---- names -----------------------------------------------------------------------------------------------------

    def _names(self, document: Member, names: frozenset[str], loser: SideName) -> None:
        for reference in references_in(document.value):
            if reference.name not in names:
                continue
            named = (reference.kind, reference.name, reference.namespace, reference.group)
            self._name(document, reference.path, named, reference[1:], _references_in, loser)
        if document.identity.name in names and document.place in self._merged.patches:
            identity = document.identity
            named = (identity.kind, identity.name, identity.namespace, identity.group)
            self._name(document, ("metadata", "name"), named, True, _is_patch, loser)

    def _targets(self, document: Member, names: frozenset[str], loser: SideName) -> None:
        for at, target in _targets_in(document):
            name, kind, namespace = (target.get(key, "") for key in ("name", "kind", "namespace"))
            if isinstance(name, str) and isinstance(kind, str) and isinstance(namespace, str) and name in names:
                named = (kind, name, namespace, None)
                self._name(document, (*at, "name"), named, target, _selected_in, loser)

    def _name(
        self,
        document: Member,
        at: FieldPath,
        named: tuple[str, str, str, str | None],
        reference: object,
        references: _References,
        loser: SideName,
    ) -> None:
        if self._merged.holds(*named):
            return
        sides = self._sides_with(document, reference, references, lambda side: side.holds(*named))
        if not sides:
            return
        kind, name, namespace, _ = named
        what = f"{kind} {name}".strip()
        exact = exact_path(document.value, at) or ()
        written = value_at(document.value, exact[:-1]) if exact else None
        new = self._new_identity(*named)
        place = document.place, document.index
        if new is not None and isinstance(written, dict):
            has_namespace = "namespace" in written
            if has_namespace or namespace in ("", new.namespace) or not new.namespace:
                if has_namespace and new.namespace:
                    at_namespace = (*exact[:-1], "namespace")
                    self.edits.follow(*place, at_namespace, new.namespace, namespace, new.namespace)
                if new.name != name:
                    self.edits.follow(*place, exact, new.name, what, new.name)
                return
        self._report(document, f"{format_path(at)} names {what}", dict.fromkeys(sides, what), loser)

    def _new_identity(self, kind: str, name: str, namespace: str, group: str | None) -> Identity | None:
        """What one object of the merged package is called that had this name; None where that is not known."""
        identities = {
            new
            for old, new in self._renamed.get(name, ())
            if kind in ("", old.kind)
            and group in (None, old.group)
            # An object without a namespace fits any, but who named one does not mean another that it gets.
            and namespace in ("", old.namespace or new.namespace or namespace)
        }
        # Renamed to different names, nobody knows which one is meant.
        new = identities.pop() if len(identities) == 1 else None
        return new if new is not None and self._merged.holds(new.kind, new.name, new.namespace, new.group) else None

    # ---- labels ----------------------------------------------------------------------------------------------------

    def _selectors(
        self, document: Member, lost: frozenset[tuple[str, str]], words: frozenset[bytes], loser: SideName
    ) -> None:
        for selector in selectors_in(document.value) if lost else ():
            if not lost & selector.labels.items() or self._merged.selects(selector, words):
                continue
            leads = methodcaller("selects", selector, words)
            if sides := self._sides_with(document, selector, lambda _, same: selectors_in(same.value), leads):
                text = ", ".join(f"{name}={label}" for name, label in selector.labels.items())
                self._report(
                    document, f"{format_path(selector.path)} selects {text}", dict.fromkeys(sides, text), loser
                )

    # ---- positions -------------------------------------------------------------------------------------------------

    def _positions(self, path: str, kinds: frozenset[str], loser: SideName) -> None:
        positions = {key: names for key, names in self._merged.positions(path).items() if key[0] in kinds}
        trees = {name: self._versions.side(name) for name in SIDES} if positions else {}
        sides = {name: side.positions(path) for name, side in trees.items() if path in side.tree}
        for key, elements in positions.items():
            meant = {name: of_side[key] for name, of_side in sides.items() if key in of_side}
            # Nobody knows what is meant where an element has no name.
            if meant and elements not in meant.values() and not any("" in names for names in meant.values()):
                texts = {name: ", ".join(names) for name, names in meant.items()}
                document = self._merged.declaring(path)[0]
                self._report(document, f"the patch of {key[0]} {key[1]} names {key[2]}", texts, loser)


_References: TypeAlias = Callable[[PackageGraph, Member], Iterable[object]]
"""What a document of a side names, in one of the ways in which it may."""


def _references_in(_: PackageGraph, document: Member) -> Iterable[object]:
    return (reference[1:] for reference in references_in(document.value))


def _selected_in(_: PackageGraph, document: Member) -> Iterable[object]:
    return (target for _, target in _targets_in(document))


def _is_patch(side: PackageGraph, document: Member) -> Iterable[object]:
    return (document.place in side.patches,)


def _targets_in(document: Member) -> list[tuple[FieldPath, Object]]:
    value = document.value
    return [*targets_in(value), *patched_in(value)]


def _key_for(named: FileReference, new: str) -> str:
    """What is in front of a path; a generator takes the key from the name of the file where there is none."""
    is_new = not named.prefix and named.path[-2:-1] == ("files",) and basename(new) != basename(named.file)
    return f"{basename(named.file)}=" if is_new else named.prefix
