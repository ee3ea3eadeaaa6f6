"""What held on original, upstream and local holds in the merged package, or its breach is a conflict (law I).

A reference is looked at where one side lost what it names, in documents that this side does not have as they are. It
is broken where it leads somewhere on every side that has it, and nowhere in the merged package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, dirname, join, relpath
from typing import Final, Literal

from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.identity import NO_RESOURCE, Identity
from krm_merge.merge.decisions.decision import FileDecision
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.resolution import file_content
from krm_merge.packages.files.tree import Changed, Changes, File, Tree, is_kptfile
from krm_merge.packages.references.edits import ReferenceEdits, put_back
from krm_merge.packages.references.graph import Found, PackageGraph, is_naming, mentions, words_of
from krm_merge.packages.references.indexes import ElementPointer, may_point, moved_path, pointers_in
from krm_merge.schema.kustomization import FILES as KUSTOMIZATION_FILES
from krm_merge.schema.references import FileReference, LabelSelector, labels_in, references_in, selectors_in
from krm_merge.text.reading.values import Object, Value, to_value

SideName = Literal["upstream", "local"]
_SIDES: Final[tuple[SideName, ...]] = ("upstream", "local")


@dataclass(frozen=True, slots=True)
class Breach:
    """A reference that leads nowhere in the merged package; `held` says what it names on the sides that have it.

    `mend` gives the package what a side has there; None where that would take more than to put it back.
    """

    file: str
    reference: str
    held: Mapping[SideName, str]
    lost_by: SideName
    mend: Callable[[SideName, Tree], Changes] | None = None

    @property
    def choices(self) -> tuple[SideName, ...]:
        """The sides that it can be settled for: nothing to name, or what a side has."""
        return tuple(name for name in _SIDES if name not in self.held or self.mend is not None)

    def decided(self, policy: Policy) -> FileDecision:
        """The decision on it: nothing is changed unless a choice says so."""
        policy = policy.of(NO_RESOURCE)
        upstream, local = (self.held[name].encode() if name in self.held else None for name in _SIDES)
        sides = self.reference.encode(), upstream, local
        what = f"{self.reference}, which {self.lost_by} removed or changed"
        for resolution in policy.resolutions_at(()):
            known = resolution.nature == "reference" and resolution.choice in self.choices
            if known and resolution.fit("", *map(file_content, sides)):
                message = f"{what}; settled by {resolution.place}: {resolution.choice}"
                merged = upstream if resolution.choice == "upstream" else local
                return FileDecision(self.file, "I", message, "both", "info", *sides, merged, resolution, self.choices)
        message = policy.explanation((), what, "it leads nowhere", has_place=False)
        return FileDecision(self.file, "I", message, "both", policy.severity(()), *sides, choices=self.choices)


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
class Intact:
    """The files that follow what they name or get it back, and what is to be reported."""

    changes: Changes = field(default_factory=dict)
    followed: Sequence[FileDecision] = ()
    breaches: Sequence[Breach] = ()


def keep_intact(versions: MergedVersions, merged: Tree, policy: Policy) -> Intact:
    """Judges the references of the merged package; reads nothing where no side lost what others may name."""
    judge = _Judge(versions, versions.graph(merged))
    for name in _SIDES:
        judge.judge(name)
    changes: dict[str, File | None] = dict(judge.edits.changes())
    for breach in judge.breaches.values():
        choice = resolution.choice if (resolution := breach.decided(policy).resolution) else None
        for name in _SIDES:
            if breach.mend is not None and name == choice and name in breach.held:
                changes |= breach.mend(name, Changed(merged, changes))
    return Intact(changes, judge.edits.followed, list(judge.breaches.values()))


class _Judge:
    """Collects what is broken, and the edits by which references follow."""

    def __init__(self, versions: MergedVersions, merged: PackageGraph) -> None:
        self._versions = versions
        self._merged = merged
        self._renamed = _renamed(versions.outcomes)
        self.edits = ReferenceEdits(merged.tree)
        self.breaches: dict[tuple[str, str], Breach] = {}

    def judge(self, loser: SideName) -> None:
        """Looks at the references to what this side no longer has."""
        versions, merged, side = self._versions, self._merged, self._versions.side(loser)
        gone = self._gone(loser)
        names = self._lost_names(loser)
        labels = _lost_labels(versions.outcomes, loser)
        moved = {o.member.identity.kind for o in versions.outcomes if o.fate == "merged" and _changed_by(o, loser)}
        if not (gone or names or labels or moved):
            return
        of_files = words_of(name for path in gone for name in (basename(path), basename(dirname(path))) if name)
        words = words_of({*names, *(text for _, text in labels)})
        changed = {path: file for path, file in merged.tree.items() if file != side.tree.get(path)}
        for path in filter(is_naming, changed):
            if gone and (path in side.paths or mentions(changed[path].data, of_files)):
                self._files(path, loser)
            if (names and mentions(changed[path].data, words)) and (found := merged.naming(path)) is not None:
                self._targets(found, names, loser)
        others = {path: file for path, file in changed.items() if not is_naming(path) and mentions(file.data, words)}
        part = versions.graph(others)
        for document in part.mentioning(words) if words and others else ():
            if (found := part.read(document)) is not None:
                self._names(found, names, loser)
                self._targets(found, names, loser)
                self._selectors(found, labels, loser)
        if moved:
            self._pointers(changed, moved, loser)

    def _held(
        self, found: Found, has: Callable[[PackageGraph, Found], bool], leads: Callable[[PackageGraph], bool]
    ) -> list[SideName]:
        """The sides on which a document has the reference; none where it leads nowhere on one of them."""
        sides = {name: self._versions.side(name) for name in _SIDES}
        held = [name for name, side in sides.items() if (same := side.same(found)) is not None and has(side, same)]
        return held if all(leads(sides[name]) for name in held) else []

    def _report(
        self,
        found: Found,
        reference: str,
        held: Mapping[SideName, str],
        loser: SideName,
        mend: Callable[[SideName, Tree], Changes] | None = None,
    ) -> None:
        text = f"{found}: {reference}" if found.identity != NO_RESOURCE else reference
        self.breaches.setdefault((found.path, text), Breach(found.path, text, held, loser, mend))

    # ---- files -----------------------------------------------------------------------------------------------------

    def _gone(self, loser: SideName) -> list[str]:
        """The paths of the original that this side and the merged package lack."""
        original, side = (graph.there or graph.tree for graph in (self._versions.original, self._versions.side(loser)))
        return [path for path in original if path not in side and path not in self._merged.tree]

    def _files(self, path: str, loser: SideName) -> None:
        for named, target in self._merged.files_of(path):
            if self._merged.has_file(target) or target.startswith("../"):
                continue
            found = self._merged.naming(path)
            sides = ((name, one, place) for name in _SIDES for one, place in self._versions.side(name).files_of(path))
            targets = {name: place for name, one, place in sides if one.file == named.file}
            if found is None or not targets:
                continue
            if not all(self._versions.side(name).has_file(place) for name, place in targets.items()):
                continue
            places = (self._place(name, place) for name, place in targets.items())
            now = next((relpath(place, dirname(path) or ".") for place in places if place is not None), None)
            # kpt takes no configPath that leads out of the package.
            if now is None or (is_kptfile(path) and now.startswith("../")):

                def mend(
                    name: SideName, _: Tree, targets: Mapping[SideName, str] = targets, target: str = target
                ) -> Changes:
                    return self._versions.side(name).below(targets[name], target)

                self._report(found, f"{format_path(named.path)} names {named.file}", targets, loser, mend)
            else:
                self._follow_file(path, named, now)

    def _place(self, name: SideName, path: str) -> str | None:
        """Where the merged package has a file or folder of a side."""
        there = self._versions.side(name).there or self._versions.side(name).tree
        below = next((file for file in ("", *KUSTOMIZATION_FILES) if join(path, file).rstrip("/") in there), None)
        if below is None:
            return None
        file = join(path, below).rstrip("/")
        before = next((old for old, new in self._versions.moves[name].items() if new == file), file)
        for place in (self._versions.moves[_other(name)].get(before), self._now(name).get(file), file):
            if place in self._merged.tree and place is not None and (not below or basename(place) == below):
                return dirname(place) if below else place
        return None

    def _now(self, name: SideName) -> dict[str, str]:
        return {old: new for new, old in self._versions.side(name).paths.items()}

    def _follow_file(self, path: str, named: FileReference, new: str) -> None:
        listed = [one for one, _ in self._merged.files_of(path) if one.path[:-1] == named.path[:-1]]
        key = named.prefix
        if not key and named.path[-2:-1] == ("files",) and basename(new) != basename(named.file):
            # The key that a generator takes from the name of the file.
            key = f"{basename(named.file)}="
        value = None if any(one.file == new for one in listed) else key + new
        self.edits.follow(path, 0, named.path, value, named.file, new)

    # ---- names -----------------------------------------------------------------------------------------------------

    def _lost_names(self, loser: SideName) -> set[str]:
        """The names that this side has less often than the original, or not for the same objects."""
        original, side = self._versions.original, self._versions.side(loser)
        counts = (Counter({name: len(found) for name, found in graph.by_name.items()}) for graph in (original, side))
        lost = {name.decode() for name in next(counts) - next(counts) if name}
        for outcome in self._versions.outcomes:
            before, now = outcome.original, _member(outcome, loser)
            if before is not None and before.identity.name and (now is None or now.identity != before.identity):
                lost.add(before.identity.name)
        return lost

    def _names(self, found: Found, names: set[str], loser: SideName) -> None:
        for reference in references_in(found.value):
            if reference.name not in names or reference.kind == "Namespace":
                continue
            named = reference[1:]

            def has(_: PackageGraph, same: Found, named: tuple[object, ...] = named) -> bool:
                return any(one[1:] == named for one in references_in(same.value))

            self._name(
                found,
                reference.path,
                (reference.kind, reference.name, reference.namespace, reference.group),
                has,
                loser,
            )
        if found.identity.name in names and found.path in self._merged.patches:
            identity = found.identity

            def is_patch(side: PackageGraph, same: Found) -> bool:
                return same.path in side.patches

            wanted = (identity.kind, identity.name, identity.namespace, identity.group)
            self._name(found, ("metadata", "name"), wanted, is_patch, loser)

    def _targets(self, found: Found, names: set[str], loser: SideName) -> None:
        for at, target in _targets(found.value):
            name, kind, namespace = (target.get(key, "") for key in ("name", "kind", "namespace"))
            if (
                not (isinstance(name, str) and isinstance(kind, str) and isinstance(namespace, str))
                or name not in names
            ):
                continue

            def has(_: PackageGraph, same: Found, target: Object = target) -> bool:
                return any(one == target for _, one in _targets(same.value))

            self._name(found, (*at, "name"), (kind, name, namespace, None), has, loser)

    def _name(
        self,
        found: Found,
        at: FieldPath,
        named: tuple[str, str, str, str | None],
        has: Callable[[PackageGraph, Found], bool],
        loser: SideName,
    ) -> None:
        if self._merged.holds(*named) or not (held := self._held(found, has, lambda side: side.holds(*named))):
            return
        kind, name, namespace, _ = named
        new = self._new_identity(*named)
        exact = _exact(found.value, at)
        written = _at(found.value, exact[:-1]) if exact else None
        has_namespace = isinstance(written, dict) and "namespace" in written
        if exact and new is not None and (has_namespace or namespace in ("", new.namespace) or not new.namespace):
            if has_namespace and new.namespace:
                self.edits.follow(
                    found.path, found.index, (*exact[:-1], "namespace"), new.namespace, namespace, new.namespace
                )
            if new.name != name:
                self.edits.follow(found.path, found.index, exact, new.name, f"{kind} {name}".strip(), new.name)
            return
        what = f"{kind} {name}".strip()

        def mend(side: SideName, tree: Tree) -> Changes:
            there = self._versions.side(side).objects(*named)
            return put_back(there[0], tree) if there else {}

        self._report(found, f"{format_path(at)} names {what}", dict.fromkeys(held, what), loser, mend)

    def _new_identity(self, kind: str, name: str, namespace: str, group: str | None) -> Identity | None:
        """What one object of the merged package is called that had this name; None where that is not known."""
        found = {
            new
            for old, new in self._renamed.get(name, ())
            if kind in ("", old.kind)
            and group in (None, old.group)
            and (not namespace or old.namespace in ("", namespace))
        }
        new = found.pop() if len(found) == 1 else None
        return new if new is not None and self._merged.holds(new.kind, new.name, new.namespace, new.group) else None

    # ---- labels ----------------------------------------------------------------------------------------------------

    def _selectors(self, found: Found, lost: set[tuple[str, str]], loser: SideName) -> None:
        words = words_of(text for _, text in lost)
        for selector in selectors_in(found.value) if lost else ():
            if not lost & selector.labels.items() or self._merged.selects(selector, words):
                continue

            def has(_: PackageGraph, same: Found, selector: LabelSelector = selector) -> bool:
                return selector in selectors_in(same.value)

            def leads(side: PackageGraph, selector: LabelSelector = selector) -> bool:
                return side.selects(selector, words)

            if held := self._held(found, has, leads):
                text = ", ".join(f"{name}={label}" for name, label in selector.labels.items())
                self._report(found, f"{format_path(selector.path)} selects {text}", dict.fromkeys(held, text), loser)

    # ---- positions -------------------------------------------------------------------------------------------------

    def _pointers(self, changed: Mapping[str, File], kinds: set[str], loser: SideName) -> None:
        every = any(path in changed for path in self._merged.patches)
        tree = self._merged.tree if every else changed
        for path in [path for path in tree if may_point(path, tree[path])]:
            file = tree[path]
            for pointer in pointers_in(path, file, self._merged):
                if pointer.kind in kinds:
                    self._pointer(pointer, loser)

    def _pointer(self, pointer: ElementPointer, loser: SideName) -> None:
        now = _one(self._merged, pointer)
        if now is None:
            return
        sides = {name: self._versions.side(name) for name in _SIDES}
        held = [
            name
            for name, side in sides.items()
            if (file := side.tree.get(pointer.found.path)) is not None
            and any(one.means_the_same(pointer) for one in pointers_in(pointer.found.path, file, side))
        ]
        meant = [one for name in held if (one := _one(sides[name], pointer)) is not None]
        paths = {moved_path(one.value, now.value, pointer.path) for one in meant}
        if not paths or pointer.path in paths:
            return
        new = paths.pop() if len(paths) == 1 else None
        if new is not None and pointer.is_alone:
            self.edits.rewrite(pointer, new)
        else:
            self._report(
                pointer.found, f"the patch of {now} names {pointer.path}", dict.fromkeys(held, pointer.path), loser
            )


def _one(graph: PackageGraph, pointer: ElementPointer) -> Found | None:
    found = [one for one in graph.find(pointer.name) if one.identity.kind == pointer.kind]
    return found[0] if len(found) == 1 else None


def _other(name: SideName) -> SideName:
    return "local" if name == "upstream" else "upstream"


def _member(outcome: ResourceOutcome, name: SideName) -> Member | None:
    return outcome.upstream if name == "upstream" else outcome.local


def _changed_by(outcome: ResourceOutcome, name: SideName) -> bool:
    member = _member(outcome, name)
    return outcome.original is not None and member is not None and member.text != outcome.original.text


def _renamed(outcomes: Iterable[ResourceOutcome]) -> dict[str, list[tuple[Identity, Identity]]]:
    """What objects were called, and are in the merged package, by their names before."""
    found: dict[str, list[tuple[Identity, Identity]]] = {}
    for outcome in outcomes:
        if outcome.fate == "merged" and outcome.original and outcome.upstream and outcome.local:
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


def _targets(value: Object) -> Iterator[tuple[FieldPath, Object]]:
    """The targets of patches and replacements in a Kustomization or a PatchResources."""
    for name in ("patches", "patchesJson6902", "replacements"):
        listed = value.get(name)
        for at, entry in enumerate(listed if isinstance(listed, list) else ()):
            if not isinstance(entry, dict):
                continue
            for field_name in ("target", "source"):
                if isinstance(target := entry.get(field_name), dict):
                    yield (name, at, field_name), target
            targets = entry.get("targets")
            for number, one in enumerate(targets if isinstance(targets, list) else ()):
                if isinstance(one, dict) and isinstance(select := one.get("select"), dict):
                    yield (name, at, "targets", number, "select"), select


def _exact(value: Value, path: FieldPath) -> FieldPath | None:
    """A path with positions in place of names; None where a name is that of several elements."""
    exact: FieldPath = ()
    for step in path:
        if isinstance(step, tuple):
            elements = value if isinstance(value, list) else []
            places = [at for at, one in enumerate(elements) if isinstance(one, dict) and one.get("name") == step[0][1]]
            if len(places) != 1:
                return None
            step = places[0]
        exact = (*exact, step)
        value = _at(value, (step,))
    return exact


def _at(value: Value, path: FieldPath) -> Value:
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
