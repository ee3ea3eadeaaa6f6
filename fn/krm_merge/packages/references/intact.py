"""What held on original, upstream and local holds in the merged package, or its breach is a conflict (law I)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import dirname, relpath

from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.identity import NO_RESOURCE, Identity
from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.decision import FileDecision
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.resolution import file_content
from krm_merge.merge.lines.comments import MERGE_COMMENT
from krm_merge.packages.files.tree import Changed, Changes, File, Tree, is_kptfile
from krm_merge.packages.references.graph import Found, PackageGraph
from krm_merge.packages.references.indexes import ElementPointer, moved_indexes
from krm_merge.schema.references import FileReference, labels_in, references_in, selectors_in
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.stream import cut, in_lines_of, joined, plain_lines
from krm_merge.text.reading.values import Value, to_value

Places = Callable[[str, str], list[str]]
"""The paths that a file of a side, upstream or local, may have in the merged package."""

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Breach:
    """A reference that leads nowhere in the merged package, and did on a side.

    `upstream` and `local` say what these have there, None for nothing. `mends` are the changes that give it what a side
    has; `otherwise` those that are made where the breach stays.
    """

    file: str
    reference: str
    upstream: str | None
    local: str | None
    mends: Mapping[str, Changes]
    otherwise: Changes = field(default_factory=dict)
    of_existence: bool = True

    def decided(self, policy: Policy) -> tuple[FileDecision, Changes]:
        """The decision on it, and what it changes."""
        policy = policy.of(NO_RESOURCE)
        sides = self.reference.encode(), _bytes(self.upstream), _bytes(self.local)
        lost = "upstream" if self.local else "local"
        what = f"{self.reference}, which {lost} removed or changed"
        for resolution in policy.resolutions_at(()):
            known = resolution.nature == "reference" and resolution.choice in ("upstream", "local")
            if known and resolution.fit("", *map(file_content, sides)):
                merged = _bytes(self.upstream if resolution.choice == "upstream" else self.local)
                message = f"{what}; settled by {resolution.place}: {resolution.choice}"
                decision = FileDecision(self.file, "I", message, "both", "info", *sides, merged, resolution)
                return decision, self.mends.get(resolution.choice, self.otherwise)
        winner = policy.delete(()) if self.of_existence else policy.conflict(())
        # F5: of what one side removed and the other needs, the local decision is kept.
        merged = _bytes(self.upstream if winner == "upstream" else self.local)
        kept = "what it names is kept" if winner in self.mends else "the reference leads nowhere"
        severity = policy.severity((), of_existence=self.of_existence)
        message = policy.explanation((), what, kept, has_place=False, of_existence=self.of_existence)
        decision = FileDecision(self.file, "I", message, "both", severity, *sides, merged)
        return decision, self.mends.get(winner, self.otherwise)


@dataclass(frozen=True, slots=True)
class Intact:
    """The changes of a merge with what keeps references intact, and what was decided for that."""

    changes: dict[str, File | None]
    followed: list[FileDecision] = field(default_factory=list)
    breaches: list[Breach] = field(default_factory=list)


def keep_intact(
    original: Tree,
    upstream: Tree,
    local: Tree,
    changes: Changes,
    outcomes: Sequence[ResourceOutcome],
    places: Places,
    policy: Policy,
) -> Intact:
    """Judges the merged package that the changes make of local; nothing is read where nothing moved or went away."""
    done = Intact(dict(changes))
    judge = _Judge(
        PackageGraph(original), {"upstream": PackageGraph(upstream), "local": PackageGraph(local)}, outcomes, places
    )
    for _ in range(_ROUNDS):
        merged = PackageGraph(Changed(local, done.changes))
        more, breaches = judge.judged(merged, done)
        for breach in breaches:
            if all((known.file, known.reference) != (breach.file, breach.reference) for known in done.breaches):
                done.breaches.append(breach)
                more |= breach.decided(policy)[1]
        if not more:
            break
        done.changes.update(more)
    unchanged = [path for path, file in done.changes.items() if file == local.get(path)]
    for path in unchanged:
        del done.changes[path]
    return done


class _Judge:
    """Compares the merged package with its sides."""

    def __init__(
        self,
        original: PackageGraph,
        sides: Mapping[str, PackageGraph],
        outcomes: Sequence[ResourceOutcome],
        places: Places,
    ) -> None:
        self._original = original
        self._sides = sides
        self._outcomes = outcomes
        self._places = places
        self._lost = _lost(outcomes)

    def judged(self, merged: PackageGraph, done: Intact) -> tuple[dict[str, File | None], list[Breach]]:
        """What follows, as changes, and what is broken; the first kind comes first."""
        edits = _Edits(merged, done)
        breaches = [*self._files(merged, edits)]
        if not edits.made:
            breaches += [*self._names(merged, edits), *self._labels(merged), *self._twice(merged)]
            breaches += self._indexes(merged, edits)
        return edits.changes(), breaches

    # ---- files -----------------------------------------------------------------------------------------------------

    def _files(self, merged: PackageGraph, edits: _Edits) -> Iterator[Breach]:
        gone = [path for side in self._sides.values() for path in side.tree if path not in merged.tree]
        if not gone:
            return
        for path in merged.naming_files:
            for named in merged.files_of(path):
                if not merged.has_file(merged.target(path, named.file)):
                    yield from self._file(merged, path, named, edits)

    def _file(self, merged: PackageGraph, path: str, reference: FileReference, edits: _Edits) -> Iterator[Breach]:
        at, prefix, named = reference
        held = {}
        for name, side in self._sides.items():
            for own in side.naming_files:
                if path in self._places(name, own) and any(one.file == named for one in side.files_of(own)):
                    held[name] = side.target(own, named)
        has = {name: target for name, target in held.items() if self._sides[name].has_file(target)}
        if not has or ("local" in held and "local" not in has):
            # Broken on local already, or by nobody that we know.
            return
        for name, target in has.items():
            now = self._place(merged, name, target)
            if now is not None:
                new = relpath(now, dirname(path) or ".")
                others = [one.file for one in merged.files_of(path) if one.path[:-1] == at[:-1]]
                edits.follow(path, 0, at, None if new in others else prefix + new, f"{named}", new)
                return
        if set(held) == {"upstream", "local"} and len(has) == 1 and "upstream" not in has:
            # Upstream broke it itself.
            return
        mends = {name: self._restored(self._sides[name], target, merged) for name, target in has.items()}
        otherwise = edits.without(path, 0, at) if isinstance(at[-1], int) else {}
        text = f"{format_path(at)}: {named} is named there"
        yield Breach(path, text, has.get("upstream"), has.get("local"), mends, otherwise)

    def _place(self, merged: PackageGraph, name: str, target: str) -> str | None:
        """Where the merged package has a file or folder of a side."""
        inside = self._sides[name].inside(target)
        inside.sort(key=lambda path: path not in self._sides[name].naming_files)
        for path in inside:
            below = path[len(target) :]
            for place in self._places(name, path):
                if place in merged.tree and place.endswith(below) and (found := place.removesuffix(below)):
                    return found
        return None

    def _restored(self, side: PackageGraph, target: str, merged: PackageGraph) -> Changes:
        return {path: side.tree[path] for path in side.inside(target) if path not in merged.tree}

    # ---- names -----------------------------------------------------------------------------------------------------

    def _names(self, merged: PackageGraph, edits: _Edits) -> Iterator[Breach]:
        for identity, new in (self._lost | self._lacking(merged)).items():
            if self._is_there(merged, identity.kind, identity.name, identity.namespace):
                continue
            for found in [*merged.holding(identity.name)]:
                for at, namespace in _named(merged, found, identity):
                    yield from self._name(merged, found, at, identity, new, namespace, edits)

    def _name(
        self,
        merged: PackageGraph,
        found: Found,
        at: FieldPath,
        identity: Identity,
        new: Identity | None,
        namespace: str,
        edits: _Edits,
    ) -> Iterator[Breach]:
        held = [name for name, side in self._sides.items() if _has_reference(side, found, at, identity)]
        has = {
            name: there[0]
            for name in held
            if (there := self._sides[name].find(identity.kind, identity.name, namespace or identity.namespace))
        }
        if not has or ("local" in held and "local" not in has) or (len(held) == 2 and "upstream" not in has):
            return
        if new is not None and self._is_there(merged, new.kind, new.name, new.namespace):
            if new.name != identity.name:
                edits.follow(found.path, found.index, at, new.name, f"{identity.kind} {identity.name}", new.name)
                return
            beside = (*at[:-1], "namespace")
            if namespace and new.namespace:
                old = f"{identity.kind} {identity.namespace}/{identity.name}"
                edits.follow(found.path, found.index, beside, new.namespace, old, f"namespace {new.namespace}")
                return
        mends = {name: _put_back(target, self._sides[name], merged, new) for name, target in has.items()}
        reference = f"{_label(found)} {format_path(at)}: {identity.kind} {identity.name} is named there"
        described = {name: f"{identity.kind} {identity.name} in {target.path}" for name, target in has.items()}
        yield Breach(found.path, reference, described.get("upstream"), described.get("local"), mends)

    def _lacking(self, merged: PackageGraph) -> dict[Identity, Identity | None]:
        """What upstream newly names and has, and the merged package lacks, with what local renamed it to."""
        lacking: dict[Identity, Identity | None] = {}
        for outcome in self._outcomes:
            upstream, original = outcome.upstream, outcome.original
            if upstream is None or not _naming_lines(upstream) - _naming_lines(original):
                continue
            known = _references(original)
            for reference in _references(upstream) - known:
                kind, name, namespace = reference
                if not self._is_there(merged, kind, name, namespace):
                    for found in self._sides["upstream"].find(kind, name, namespace)[:1]:
                        lacking[found.identity] = _renamed_here(merged, found.identity)
        return lacking

    def _is_there(self, graph: PackageGraph, kind: str, name: str, namespace: str) -> bool:
        return bool(graph.find(kind, name, namespace)) or graph.generates(kind, name)

    # ---- labels ----------------------------------------------------------------------------------------------------

    def _labels(self, merged: PackageGraph) -> Iterator[Breach]:
        for of in ("pods", "services"):
            for old, changed_by in self._relabelled(of):
                for found in [*merged.holding("elector", *old.values())] if old else ():
                    for selector in selectors_in(found.value):
                        if selector.of == of and selector.labels.items() <= old.items():
                            yield from self._selector(merged, found, selector.path, selector.labels, of, changed_by)

    def _relabelled(self, of: str) -> Iterator[tuple[dict[str, str], str]]:
        """The labels that objects had on a side and do not have in the merged package, and who changed them."""
        for outcome in self._outcomes:
            if len({_label_nodes(member.root) for member in outcome.members.values()}) == 1 == len(outcome.members) - 2:
                continue
            values = {name: to_value(member.root) for name, member in outcome.members.items()}
            labels = {name: labels_in(value, of) for name, value in values.items() if isinstance(value, dict)}
            upstream, local, before = labels.get("upstream"), labels.get("local"), labels.get("original", {})
            if local and (upstream or {}) != before and upstream != local:
                yield from (
                    ({name: text}, "upstream") for name, text in local.items() if (upstream or {}).get(name) != text
                )
            if upstream and local != before and upstream != local:
                yield from (
                    ({name: text}, "local") for name, text in upstream.items() if (local or {}).get(name) != text
                )

    def _selector(
        self, merged: PackageGraph, found: Found, at: FieldPath, labels: dict[str, str], of: str, changed_by: str
    ) -> Iterator[Breach]:
        if _selected(merged, labels, of):
            return
        held = {name: side for name, side in self._sides.items() if _has_selector(side, found, at, labels)}
        has = {name: there[0] for name, side in held.items() if (there := _selected(side, labels, of))}
        if not has or ("local" in held and "local" not in has) or (len(held) == 2 and "upstream" not in has):
            return
        mends = {name: _put_back(target, self._sides[name], merged, None) for name, target in has.items()}
        text = ", ".join(f"{name}={label}" for name, label in labels.items())
        reference = f"{_label(found)} {format_path(at)}: {text} is selected there"
        described = {name: f"{_label(target)} in {target.path}" for name, target in has.items()}
        upstream, local = described.get("upstream"), described.get("local")
        yield Breach(found.path, reference, upstream, local, mends, of_existence=False)

    # ---- positions -------------------------------------------------------------------------------------------------

    def _indexes(self, merged: PackageGraph, edits: _Edits) -> Iterator[Breach]:
        def rewrite(pointer: ElementPointer, path: str) -> None:
            edits.rewrite(pointer, path)

        for pointer, name, _ in moved_indexes(merged, self._sides, self._original, self._outcomes, rewrite):
            subject = f"{pointer.kind} {pointer.name}".strip()
            reference = f"{pointer.path} of {subject} is patched there"
            there = {name: f"{subject} with what the path names"}
            yield Breach(
                pointer.found.path, reference, there.get("upstream"), there.get("local"), {}, of_existence=False
            )

    # ---- identities ------------------------------------------------------------------------------------------------

    def _twice(self, merged: PackageGraph) -> Iterator[Breach]:
        for outcome in self._outcomes:
            identity = outcome.member.identity
            if outcome.fate != "added" or not identity.name:
                continue
            there = [
                found
                for found in merged.find(identity.kind, identity.name, group=identity.group)
                if found.identity == identity and dirname(found.path) == dirname(outcome.member.place)
            ]
            if len(there) < 2 or any(
                len([one for one in side.find(identity.kind, identity.name) if one.identity == identity]) > 1
                for side in self._sides.values()
            ):
                continue
            reference = f"{identity.kind} {identity.name} is in {' and in '.join(found.path for found in there)}"
            yield Breach(there[0].path, reference, there[-1].path, there[0].path, {}, of_existence=False)


# ---- edits -----------------------------------------------------------------------------------------------------------


class _Edits:
    """Edits of fields of the merged package."""

    def __init__(self, merged: PackageGraph, done: Intact) -> None:
        self._merged = merged
        self._done = done
        self.made: dict[tuple[str, int], list[tuple[FieldPath, Value]]] = {}
        self._texts: dict[str, str] = {}

    def follow(self, path: str, index: int, at: FieldPath, new: Value, old: str, name: str) -> None:
        """Sets a field to what its reference is called now, None to remove it, and reports that."""
        self.made.setdefault((path, index), []).append((at, new))
        message = f"{format_path(at)}: {old} is {name} now; the reference follows"
        self._done.followed.append(_followed(path, message, old, name))

    def rewrite(self, pointer: ElementPointer, path: str) -> None:
        """Gives the operations of a JSON patch another path, wherever they have the old one."""
        file, old, index = pointer.found.path, pointer.path, pointer.found.index
        now = self._texts.get(file) or self._merged.tree[file].data.decode(errors="replace")
        if (text := _replaced(now, old, path)) != now:
            self._texts[file] = text
        else:
            # A string in quotes, with escapes for its line breaks.
            self.made.setdefault((file, index), []).append((pointer.field, _replaced(pointer.text, old, path)))
        message = f"the patch of {old} in {pointer.kind} {pointer.name} follows its element to {path}"
        self._done.followed.append(_followed(file, message, old, path))

    def without(self, path: str, index: int, at: FieldPath) -> Changes:
        """The change that takes an element off its list."""
        return self._changed(path, {index: [(at, None)]})

    def changes(self) -> dict[str, File | None]:
        """The files with all edits."""
        of_files: dict[str, dict[int, list[tuple[FieldPath, Value]]]] = {}
        for (path, index), edits in self.made.items():
            of_files.setdefault(path, {})[index] = edits
        texts = {path: File(text.encode(), self._merged.tree[path].mode) for path, text in self._texts.items()}
        return texts | {
            path: file for name, edits in of_files.items() for path, file in self._changed(name, edits).items()
        }

    def _changed(self, path: str, edits: Mapping[int, list[tuple[FieldPath, Value]]]) -> dict[str, File | None]:
        file = self._merged.tree[path]
        data = plain_lines(file.data)
        documents = [data] if is_kptfile(path) else cut(data, path)
        roots = {found.index: found.root for found in self._merged.documents(path)}
        for index, changes in edits.items():
            resource = Resource.from_tree(roots[index])
            # The last first: positions in lists stay what they are.
            for at, value in sorted(
                changes, key=lambda change: [str(step).zfill(6) for step in change[0]], reverse=True
            ):
                try:
                    resource.remove(format_path(at)) if value is None else resource.set(format_path(at), value)
                except (KeyError, TextError):
                    continue
            documents[index] = resource.text().encode()
        return {path: File(in_lines_of(joined(documents, data), file.data), file.mode)}


def _replaced(text: str, old: str, new: str) -> str:
    """A text with another path for one that is not part of a longer one."""
    parts = text.split(old)
    joined_parts = parts[0]
    for part in parts[1:]:
        is_whole = (joined_parts[-1:] or " ") in " \t\n\"':" and (part[:1] or " ") in " \t\r\n\"',}"
        joined_parts += (new if is_whole else old) + part
    return joined_parts


def _followed(path: str, message: str, old: str, new: str) -> FileDecision:
    before, after = old.encode(), new.encode()
    return FileDecision(path, "I", message, "upstream", "info", before, after, before, after)


def _put_back(found: Found, side: PackageGraph, merged: PackageGraph, instead_of: Identity | None) -> Changes:
    """The change that gives the merged package a document as a side has it, in place of what became of it."""
    document = cut(plain_lines(side.tree[found.path].data), found.path)[found.index]
    now = [
        one for one in merged.find(found.identity.kind, (instead_of or found.identity).name) if one.path in merged.tree
    ]
    path = now[0].path if now else found.path
    if path not in merged.tree:
        return {path: File(document, side.tree[found.path].mode)}
    file = merged.tree[path]
    documents = cut(plain_lines(file.data), path)
    if now:
        documents[now[0].index] = document
    else:
        documents.append(document)
    return {path: File(in_lines_of(joined(documents, file.data), file.data), file.mode)}


# ---- references ------------------------------------------------------------------------------------------------------


def _lost(outcomes: Sequence[ResourceOutcome]) -> dict[Identity, Identity | None]:
    """The identities that sides have and the merged package may lack, with the one that it has instead."""
    lost: dict[Identity, Identity | None] = {}
    for outcome in outcomes:
        members = outcome.members
        if outcome.member.is_kptfile or not outcome.member.identity.name:
            continue
        before = members["original"].identity if "original" in members else None
        theirs = members["upstream"].identity if "upstream" in members else None
        ours = members["local"].identity if "local" in members else None
        if outcome.fate == "merged":
            now = theirs if ours == before else ours
            lost |= {old: now for old in (before, theirs, ours) if old is not None and old != now}
        elif outcome.fate == "deleted" or (outcome.fate == "kept" and ours is None):
            lost |= {old: None for old in (before, theirs, ours) if old is not None}
    return lost


def _naming_lines(member: Member | None) -> set[str]:
    """The lines that may name another object: all fields that do have such names, but for lists in roles."""
    text = "" if member is None else member.text
    every = "resourceNames" in text
    return {line for line in text.splitlines() if every or "ame" in line or "ccount" in line}


def _references(member: Member | None) -> set[tuple[str, str, str]]:
    value = None if member is None else to_value(member.root)
    found = references_in(value) if isinstance(value, dict) else ()
    return {(reference.kind, reference.name, reference.namespace) for reference in found}


def _renamed_here(merged: PackageGraph, identity: Identity) -> Identity | None:
    """The object that kpt's note says was this one."""
    for found in merged.holding(MERGE_COMMENT, f"/{identity.name}"):
        source = found.root.source.text if found.root.source is not None else ""
        if found.identity.kind == identity.kind and f"{MERGE_COMMENT} {identity.namespace}/{identity.name}\n" in source:
            return found.identity
    return None


def _named(graph: PackageGraph, found: Found, identity: Identity) -> Iterator[tuple[FieldPath, str]]:
    """The fields of a document that name an object, and the namespace that they give."""
    for reference in references_in(found.value):
        same_name = (reference.kind, reference.name) == (identity.kind, identity.name)
        same_group = reference.group in (None, identity.group)
        same_namespace = not reference.namespace or reference.namespace == (identity.namespace or reference.namespace)
        if same_name and same_group and same_namespace:
            yield reference.path, reference.namespace
    for at, target in _targets(found):
        if target.get("name") == identity.name and target.get("kind", identity.kind) == identity.kind:
            yield (*at, "name"), ""
    if graph.is_patch(found.path) and (found.identity.kind, found.identity.name) == (identity.kind, identity.name):
        yield ("metadata", "name"), ""


def _targets(found: Found) -> Iterator[tuple[FieldPath, dict[str, Value]]]:
    """The targets of patches and replacements in a Kustomization or a PatchResources."""
    for name in ("patches", "patchesJson6902"):
        listed = found.value.get(name)
        for at, patch in enumerate(listed if isinstance(listed, list) else ()):
            target = patch.get("target") if isinstance(patch, dict) else None
            if isinstance(target, dict):
                yield (name, at, "target"), target
    replacements = found.value.get("replacements")
    for at, replacement in enumerate(replacements if isinstance(replacements, list) else ()):
        if not isinstance(replacement, dict):
            continue
        if isinstance(source := replacement.get("source"), dict):
            yield ("replacements", at, "source"), source
        targets = replacement.get("targets")
        for number, one in enumerate(targets if isinstance(targets, list) else ()):
            if isinstance(one, dict) and isinstance(select := one.get("select"), dict):
                yield ("replacements", at, "targets", number, "select"), select


def _has_reference(side: PackageGraph, found: Found, at: FieldPath, identity: Identity) -> bool:
    """Whether a side has the reference in the same document."""
    return any(
        [step for step in path if not isinstance(step, int)] == [step for step in at if not isinstance(step, int)]
        for one in side.holding(identity.name)
        if one.identity == found.identity or (not found.identity.name and one.identity.kind == found.identity.kind)
        for path, _ in _named(side, one, identity)
    )


def _has_selector(side: PackageGraph, found: Found, at: FieldPath, labels: dict[str, str]) -> bool:
    return any(
        selector.path == at and selector.labels == labels
        for one in side.holding("elector", *labels.values())
        if one.identity == found.identity
        for selector in selectors_in(one.value)
    )


def _selected(graph: PackageGraph, labels: dict[str, str], of: str) -> list[Found]:
    found = graph.holding(*labels.values())
    return [one for one in found if labels.items() <= labels_in(one.value, of).items()]


def _label_nodes(root: MappingNode) -> tuple[object, ...]:
    """What decides which labels an object and its pods have."""
    spec = root.get("spec")
    nodes = [
        root.get("metadata"),
        *(spec.get(name) for name in ("template", "jobTemplate") if isinstance(spec, MappingNode)),
    ]
    metadata = [node.get("metadata") if at and isinstance(node, MappingNode) else node for at, node in enumerate(nodes)]
    labels = [node.get("labels") if isinstance(node, MappingNode) else None for node in metadata]
    return tuple(None if node is None else node.canonical for node in labels)


def _label(found: Found) -> str:
    return f"{found.identity.kind} {found.identity.name}".strip() or found.path


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
