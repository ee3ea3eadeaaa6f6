"""What local changed in its resources becomes patches of its own pipeline (D2), and edits of the files again.

Whatever is declared renders to the same values as before: that is proved on the new package before anything is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from posixpath import dirname, join, normpath

from krm_merge.functions import API_VERSION, MERGE_PACKAGE
from krm_merge.functions.edit_items import LOCAL_CONFIG, bookkeeping_of, with_annotations
from krm_merge.functions.patch_resources import patch_document, patches_between
from krm_merge.krm import INDEX, KPTFILE, PATH, Identity, Resource, Results, identity_of
from krm_merge.merge import (
    Folders,
    Member,
    Policy,
    Schemas,
    comments_in,
    definitions_in,
    match_resources,
    with_attribution,
    with_change,
)
from krm_merge.packages import (
    Changed,
    Changes,
    File,
    Lock,
    PackageError,
    PackageVersion,
    Tree,
    add_function,
    config_paths,
    holds_resources,
    is_kptfile,
    lock_value,
    own_packages,
    remove_function,
)
from krm_merge.text import (
    Object,
    Value,
    from_value,
    joined,
    same,
    yaml_of,
)
from krm_merge.usecases.provenance import RenderedPackage

_PACKAGE_CONTEXT = "kptfile.kpt.dev"
"""The name of the ConfigMap in which kpt tells functions about the package."""


@dataclass(frozen=True, slots=True)
class DeclaredEdits:
    """What becomes of the files, and of how many resources edits are declared, or are edits again."""

    changes: Changes = field(default_factory=dict)
    resources: Sequence[str] = ()
    results: Results = field(default_factory=Results)


@dataclass(frozen=True, slots=True)
class _Edited:
    """A resource that local changed or deleted, with its values after the functions: upstream's and local's."""

    original: Member
    local: Member | None
    before: Object
    after: Object


def declare(
    local: Tree,
    original: Tree,
    path: str,
    program: Mapping[str, str],
    is_chosen: Callable[[Identity], bool] = lambda _: True,
) -> DeclaredEdits:
    """Declares what local changed in the chosen resources in the PatchResources at a path, run by an image or exec.

    The resources have upstream's text then, but for comments of local. What no patch can say stays an edit, with a
    warning. Raises PackageError where the package would not render to what it is.
    """
    ours, theirs = RenderedPackage("local", local), RenderedPackage("original", original)
    results = Results()
    edited = [edit for edit in _edits(ours, theirs, results) if is_chosen(edit.original.identity)]
    patches = patches_between(
        [_rendered_resource(edit.before, edit.original) for edit in edited],
        [_rendered_resource(edit.after, edit.local) for edit in edited if edit.local is not None],
        partial(definitions_in, ours.documents),
        results,
    )
    if not patches or results.errors:
        return DeclaredEdits(results=results)
    config = _with_patches(ours, path, patches)
    returned = {edit.local: _returned(edit.original, edit.local) for edit in edited if edit.local is not None}
    for member, text in returned.items():
        if lost := [comment for comment in comments_in(member.text) if comment not in text]:
            message = f"{_name(member)}: {', '.join(lost)} has no place among upstream's values; write it in {path}"
            results.warning(message, file=member.place, rule="V8")
    changes = {**_with_documents(ours, returned, original), **_declared(local, path, config, program)}
    declared = RenderedPackage("declared", Changed(local, changes))
    expected = {edit.local: edit.after for edit in edited if edit.local is not None}
    _prove(ours, declared, expected, path)
    for edit in edited:
        if edit.local is None and declared.rendered(edit.original, None):
            raise PackageError(f"{_name(edit.original)}: a patch that removes it does not; nothing was changed")
    return DeclaredEdits(changes, [_name(edit.original) for edit in edited], results)


def undeclare(local: Tree, path: str) -> DeclaredEdits:
    """Makes edits of the files again what the PatchResources at a path declares. Raises PackageError."""
    ours = RenderedPackage("local", local)
    if _declared_config(ours, path) is None:
        raise PackageError(f"{path}: no readable PatchResources; give the file of a declaration with --patch")
    changes = remove_function(local, path)
    plain = RenderedPackage("plain", Changed(local, changes))
    texts: dict[Member, str | None] = {}
    for member in ours.members:
        before, after = plain.rendered(member, member), ours.rendered(member, member)
        if member.place != path and not same(before, after):
            # The change that a patch made in what functions had made of it.
            schema = Schemas(lambda: ()).of(member)
            texts[member] = with_change(member, from_value(before), from_value(after), schema).text if after else None
    changes = {**_with_documents(ours, texts, {}), **changes}
    _prove(ours, RenderedPackage("edited", Changed(local, changes)), {}, path)
    return DeclaredEdits(changes, [_name(member) for member in texts])


def _changed_text(member: Member, value: Object) -> str:
    """The text of a resource with another value."""
    resource = Resource.from_tree(member.root)
    schema = Schemas(lambda: ()).of(member)
    resource.change(member.value, value, lambda path: schema.at(path).merge_keys)
    return resource.text()


def _edits(ours: RenderedPackage, theirs: RenderedPackage, results: Results) -> Iterator[_Edited]:
    """What local changed in resources of upstream, and of which a patch can say it; reports the rest."""
    configs = {
        normpath(join(dirname(file), path))
        for file in filter(is_kptfile, ours.tree)
        for path in config_paths(ours.tree[file].data)
    }
    nested = own_packages({}, ours.tree)
    known = [member for member in theirs.members if not member.place.startswith(nested)]
    here = [member for member in ours.members if not member.place.startswith(nested)]
    times = Counter(map(_name, here))
    for original, _, local in match_resources(known, known, here, Folders((), Policy()), ours.pipeline).triples:
        original = with_attribution(original, local)
        if original is None or (local or original).place in configs or original.identity.name == _PACKAGE_CONTEXT:
            # Functions are configured before patches run, and kpt writes the context.
            continue
        before, after = ours.rendered(original, local), {} if local is None else ours.rendered(local, local)
        if not before or same(before, after):
            continue
        if local is not None and (problem := _ambiguity(before, after, times[_name(local)])):
            message = f"{_name(local)}: {problem}; it stays an edit of {local.place}"
            results.warning(message, file=local.place, rule="P9")
            continue
        yield _Edited(original, local, before, after)


def _ambiguity(before: Object, after: Object, times: int) -> str:
    """Why the name of a resource that is there so many times does not say which it is, or ''."""
    if times > 1:
        return "defined several times"
    return "" if identity_of(from_value(before)) == identity_of(from_value(after)) else "renamed here"


def _name(member: Member) -> str:
    return str(Resource.from_tree(member.root).ref)


def _rendered_resource(value: Object, member: Member) -> Resource:
    return Resource.from_tree(from_value(value), member.place, member.index)


def _returned(original: Member, local: Member) -> str:
    """Upstream's text of a resource; where local has comments or notes of its own, local's with upstream's values."""
    notes = bookkeeping_of(local.value)
    if not notes and not set(comments_in(local.text)) - set(comments_in(original.text)):
        return original.text
    return _changed_text(local, with_annotations(original.value, notes) if notes else original.value)


def _with_documents(
    package: RenderedPackage, texts: Mapping[Member, str | None], original: Tree
) -> dict[str, File | None]:
    """The files with other texts for some of their resources, without those that have none."""
    by_place: dict[str, dict[int, str | None]] = {}
    for member, text in texts.items():
        by_place.setdefault(member.place, {})[member.index] = text
    changes: dict[str, File | None] = {}
    for place, by_index in by_place.items():
        file = package.tree[place]
        documents = [by_index.get(at, data) for at, data in enumerate(package.texts[place])]
        parts = [part.encode() if isinstance(part, str) else part for part in documents if part is not None]
        data = joined(parts, file.data)
        if place in original and data.strip() == original[place].data.strip():
            data = original[place].data
        changes[place] = File(data, file.mode) if parts else None
    return changes


def _declared_config(package: RenderedPackage, path: str) -> Member | None:
    """The functionConfig at a path, None where the package has no such file. Raises PackageError for another file."""
    if path not in package.tree:
        return None
    members = [member for member in package.members if member.place == path]
    if len(members) != 1 or members[0].identity.kind != "PatchResources":
        raise PackageError(f"{path} holds something other than one PatchResources; choose another file with --patch")
    return members[0]


def _with_patches(package: RenderedPackage, path: str, patches: Sequence[Value]) -> bytes:
    """The text of a PatchResources with these patches behind those that it has."""
    config = _declared_config(package, path)
    if config is None:
        return yaml_of(patch_document(patches)).encode()
    declared = config.value.get("patches")
    if not isinstance(declared, list):
        raise PackageError(f"{path}: patches is not a list; nothing was changed")
    return _changed_text(config, {**config.value, "patches": [*declared, *patches]}).encode()


def _declared(local: Tree, path: str, config: bytes, program: Mapping[str, str]) -> Changes:
    """The changes that declare the PatchResources at a path; a function that runs it already keeps its place."""
    if path in config_paths(local[KPTFILE].data):
        return {path: File(config, local[path].mode)}
    return add_function(local, config, program, path, comes_last=True)


def _prove(before: RenderedPackage, after: RenderedPackage, expected: Mapping[Member, Object], path: str) -> None:
    """Raises PackageError where a resource would not render to what it is now, or to what is expected of it."""
    by_place = {(member.place, member.index): member for member in after.members}
    for member in before.members:
        if member.place == path:
            continue
        target = expected.get(member) or before.rendered(member, member)
        now = by_place.get((member.place, member.index))
        if not same(target, {} if now is None else after.rendered(now, member)):
            raise PackageError(
                f"{member.place}: {_name(member)} would not render to what it is now; select the resources to "
                "declare with --resource. Nothing was changed"
            )


def merge_config(original: Tree, upstream: Tree, choices: dict[str, str], results: Results, lock: Lock) -> bytes:
    """The MergePackage of two versions as text; `choices` are its further fields, `lock` is where upstream is.

    Files that cannot be read are reported, and left out.
    """
    fields: dict[str, Value] = {
        "apiVersion": API_VERSION,
        "kind": MERGE_PACKAGE,
        # kpt must not apply it to a cluster.
        "metadata": {"name": "merge", "annotations": {LOCAL_CONFIG: "true"}},
        **choices,
        "upstreamLock": lock_value(lock),
        "original": _all_resources("original", original, results),
        "upstream": _all_resources("upstream", upstream, results),
    }
    return yaml_of(fields).encode()


def _all_resources(side: str, package: Tree, results: Results) -> str:
    """All resources of a package as one text, each with its place."""
    version = PackageVersion(side, {path: file for path, file in package.items() if holds_resources(path)})
    members = version.members()
    for path, why in version.unreadable.items():
        results.warning(f"{path}: left out of {side}: {why.reason}", file=path)
    texts = []
    for member in members:
        if member.place not in version.unreadable:
            resource = Resource.from_tree(member.root)
            resource.set(f'metadata.annotations["{PATH}"]', member.place)
            resource.set(f'metadata.annotations["{INDEX}"]', str(member.index))
            text = resource.text().removeprefix("---\n")
            texts.append(text if text.endswith("\n") else f"{text}\n")
    return "---\n".join(texts)
