"""`kind: PatchResources`: patches resources as edits of their texts (rule P5), and reports each patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from posixpath import basename, normpath
from typing import Any, TypedDict

from krm_merge.functions import API_VERSION, CONFIG_MAP
from krm_merge.functions.edit_items import (
    CHANGED,
    LOCAL_CONFIG,
    REMOVED,
    SAME,
    TARGET_FIELDS,
    Definitions,
    ItemFate,
    Renamed,
    Shapes,
    definitions_of,
    edit_items,
    edit_parts,
    kind_of,
    may_hold,
    protected_fields,
    read_target,
    rename_of,
    report_renames,
    root_of,
    with_identity,
    without_bookkeeping,
)
from krm_merge.functions.places import place_of, root_package
from krm_merge.krm import (
    KPTFILE,
    Identity,
    Resource,
    ResourceList,
    Result,
    Results,
    Severity,
    Target,
    TargetNames,
    Targets,
    format_path,
)
from krm_merge.limits import CopiedInAll, Copies
from krm_merge.merge import ListKeys
from krm_merge.patch import Moved, PatchError, ReplacedList
from krm_merge.patch.model import hiding_values, same
from krm_merge.patch.patches import (
    Modes,
    ParsedPatch,
    PatchType,
    format_problem,
    patch_between,
    patches_of,
    path_by_keys,
    read_patches,
    target_of,
    with_labels,
    with_names,
)
from krm_merge.patch.strategic.elements import PATCH
from krm_merge.safe_text import abridge
from krm_merge.schema import hidden_in
from krm_merge.startup import group_by_key
from krm_merge.text import Change, MappingNode, Object, Value, to_value, yaml_of

_FIELDS = frozenset(("apiVersion", "kind", "metadata", "patches", "listOrder", "mergeKeys"))
THE_NAME = "the object that it names"


@dataclass(frozen=True, slots=True)
class PatchJob:
    """One patch with its target.

    `label` names it in messages, `field` is its place in the functionConfig, `chosen_by` the field with its target.
    """

    label: str
    field: str | None
    patch: ParsedPatch
    target: Target
    chosen_by: str
    keeps_name: bool
    keeps_kind: bool


@dataclass(slots=True)
class Jobs:
    """All patches in their order. `sources` are the ids of items that are patches themselves."""

    jobs: list[PatchJob] = field(default_factory=list)
    modes: Modes = field(default_factory=Modes)
    list_keys: tuple[ListKeys, ...] = ()
    sources: set[int] = field(default_factory=set)


class _Entry(TypedDict, total=False):
    """An entry of the field `patches`, as the models describe it."""

    patch: str | None
    path: str | None
    type: PatchType | None
    target: dict[str, str | None] | None
    options: dict[str, bool]


def read_jobs(resource_list: ResourceList) -> Jobs:
    """Reads the functionConfig and reports all its errors to the results."""
    config = resource_list.function_config
    assert config is not None
    values: Any = to_value(config)
    list_keys: tuple[ListKeys, ...] = ()
    if not _is_plain(values):
        values, list_keys = _validate(resource_list, values)
    jobs = Jobs([], Modes(values.get("listOrder", "document"), values.get("mergeKeys", "multi")), list_keys)
    entries: list[_Entry] = values.get("patches", [])
    for at, entry in enumerate(entries):
        jobs.jobs += _jobs(resource_list, entry, f"patches[{at}]", jobs.sources)
    return jobs


def _is_plain(values: Object) -> bool:
    """Whether a quick check finds the fields valid: importing pydantic takes longer than many patches."""
    patches = values.get("patches")
    return (
        not values.keys() - _FIELDS
        and (values.get("apiVersion"), values.get("kind")) == (API_VERSION, "PatchResources")
        and isinstance(values.get("metadata", {}), dict)
        and values.get("listOrder", "document") in ("document", "kubernetes")
        and values.get("mergeKeys", "multi") in ("multi", "single")
        and isinstance(patches, list)
        and bool(patches)
        and all(map(_is_plain_entry, patches))
    )


def _is_plain_entry(value: Value) -> bool:
    if not isinstance(value, dict) or value.keys() - {"patch", "target", "type"}:
        return False
    match value.get("patch"), value.get("type"), value.get("target"):
        case str(), "strategic" | "merge" | "json" | None, dict() | None as target:
            return all(name in TARGET_FIELDS and isinstance(text, str) for name, text in (target or {}).items())
    return False


def _validate(resource_list: ResourceList, values: Object) -> tuple[Object, tuple[ListKeys, ...]]:
    """The fields if the models find them valid, those of a ConfigMap as if they were ours; reports all problems."""
    from krm_merge.functions.models import PatchConfigMapData, PatchResources
    from krm_merge.krm import validate
    from krm_merge.policy import list_keys_of

    data = values.get("data")
    if isinstance(data, dict) and values.get("kind") == CONFIG_MAP:
        is_valid = validate(resource_list, PatchConfigMapData, data) is not None
        return {**data, "patches": [{"patch": data["patch"]}]} if is_valid else {}, ()
    model = validate(resource_list, PatchResources, values)
    return (values, list_keys_of(model.listKeys)) if model is not None else ({}, ())


def _jobs(resource_list: ResourceList, entry: _Entry, label: str, sources: set[int]) -> Iterator[PatchJob]:
    """The patches of one entry, each with its target. Reports all problems."""
    results, options = resource_list.results, entry.get("options", {})
    keeps_name, keeps_kind = (not options.get(name) for name in ("allowNameChange", "allowKindChange"))
    try:
        patches = _patches(resource_list, entry, sources)
        configured = None if (fields := entry.get("target")) is None else read_target(fields)
        if not patches:
            # P10: a generator of patches may produce none.
            results.info(f"functionConfig: {label} is empty and skipped", path=label, rule="P10")
        if configured is not None and len(patches) > 1:
            # P10: with a target, each patch would apply to all selected resources, whatever object it names.
            raise PatchError(
                f"target is for one patch, and this text holds {len(patches)}; make each a separate entry, or leave "
                "target out where the patches name their objects"
            )
        for name, patch in with_labels(patches, label):
            target = configured or target_of(patch)
            if target is not None:
                chosen_by = THE_NAME if configured is None else "its target"
                yield PatchJob(name, label, patch, target, chosen_by, keeps_name, keeps_kind)
                continue
            problem = "target is missing, and the patch names no object by apiVersion, kind and metadata.name"
            results.error(f"functionConfig: {name}: {problem}", path=label)
    except (PatchError, ValueError) as error:
        results.error(f"functionConfig: {label}: {error}", path=label)


def _patches(resource_list: ResourceList, entry: _Entry, sources: set[int]) -> list[ParsedPatch]:
    text, file, type_ = entry.get("patch"), entry.get("path"), entry.get("type")
    if text is not None and file is None:
        return read_patches(text, type_)
    if text is not None or file is None:
        raise PatchError("give either patch or path")
    # In a render, items of subpackages may have the same path: places are relative to the root.
    path, root = normpath(file), root_package(resource_list)
    needle = basename(path).encode()
    candidates = (item for item in resource_list.items if may_hold(item, needle))
    sources_in_package = [item for item in candidates if (place_of(item.annotations, root) or item.file) == path]
    if not sources_in_package:
        raise PatchError(f"path: no item of the package has the file {file}")
    sources |= {id(item) for item in sources_in_package}
    # Without the annotations of kpt and of the package.
    return patches_of([without_bookkeeping(item.value, (LOCAL_CONFIG,)) for item in sources_in_package], type_)


_SHOWN = 5


@dataclass(slots=True)
class Tally:
    """The result of one patch.

    `unstable` says that a second run would change more; `fails_again` is the error of a second run, with its resource.
    `ignored` are the identity fields that it must not change, with the options that would allow it; `copied` counts
    nodes.
    """

    matched: int = 0
    changed: list[str] = field(default_factory=list)
    unstable: bool = False
    fails_again: str = ""
    ignored: dict[str, str] = field(default_factory=dict)
    renames: list[Renamed] = field(default_factory=list)
    copied: int = 0


class Patcher:
    """Applies the patches of a configuration; has a tally for each patch, and the results about single resources."""

    def __init__(self, config: Jobs, definitions: Definitions) -> None:
        """`definitions` returns the CRDs of the package when one is needed."""
        self.results = Results()
        self.tallies = [Tally() for _ in config.jobs]
        self._config = config
        self._shapes = Shapes(definitions, config.list_keys)
        self._targets = Targets([job.target for job in config.jobs])
        self._copied = CopiedInAll()

    def finish(self) -> list[Tally]:
        """The tallies."""
        return self.tallies

    def edit(self, item: Resource) -> ItemFate:
        """Applies the patches that are for a resource, as edits of its text; reports problems."""
        kind = kind_of(item)
        if id(item) in self._config.sources or not (kind.endswith("List") or self._targets.may_match_kind(kind)):
            return SAME
        root = root_of(item, self.results)
        return SAME if root is None else edit_parts(item, root, self._edit_part)

    def _edit_part(self, item: Resource, node: MappingNode, part: Resource) -> ItemFate:
        before = to_value(node)
        after = self.patched(part, before)
        if after is None or after is before:
            return REMOVED if after is None else SAME
        Change(item.editor, self._shapes.of(part).keys_at).mapping(node, before, after)
        return CHANGED

    def patched(self, item: Resource, before: Object) -> Object | None:
        """The value after all patches that are for a resource; None if one removes it. Reports problems."""
        now, identity = before, TargetNames.of(before)
        copies = Copies(self._copied)
        applied: list[PatchJob] = []
        following = 0
        while (number := self._targets.next(following, identity.name)) is not None:
            job, tally, following = self._config.jobs[number], self.tallies[number], number + 1
            if not job.target.selects(now, identity):
                continue
            tally.matched += 1
            try:
                with hiding_values(partial(_is_secret, item, job, now)):
                    after = self._apply(job, tally, now, item, copies)
            except PatchError as error:
                problem = format_problem(error, job.patch, secret=_is_secret(item, job, now))
                message, path = f"{item.ref}: {job.label}: {problem}", format_path(error.path) or None
                self.results.error(message, resource=item.ref, file=item.file, file_index=item.index, path=path)
                return before
            if after is None:
                tally.changed.append(str(item.ref))
                self.results.info(
                    f"{item.ref}: removed by {job.label}", resource=item.ref, file=item.file, file_index=item.index
                )
                return None
            applied.append(job)
            if after is not now and not same(after, now):
                tally.changed.append(str(item.ref))
                if change := rename_of(str(item.ref), now, after, job.label):
                    tally.renames.append(change)
                now, identity = after, TargetNames.of(after)
        if now is not before:
            self._report_flaws(item, applied, before, now)
        return now

    def _report_flaws(self, item: Resource, jobs: Sequence[PatchJob], before: Object, after: Object) -> None:
        """Reports what the type of the resource does not allow, and what it did not have before the patches."""
        shape = self._shapes.of(item)
        for flaw in shape.flaws(before, after):
            path = format_path(path_by_keys(flaw.path, after, shape.keys_at))
            message = f"{item.ref}: {path} {flaw.problem}, after {abridge([job.label for job in jobs], _SHOWN)}"
            self.results.warning(message, resource=item.ref, file=item.file, path=path, rule=flaw.rule)

    def _apply(self, job: PatchJob, tally: Tally, now: Object, item: Resource, copies: Copies) -> Object | None:
        """The object after one patch, None where the patch removes it."""
        moved: list[Moved] = []
        replaced: list[ReplacedList] = []
        copied = self._copied.nodes
        after = job.patch.apply(now, self._shapes.of(item), self._config.modes, moved, copies, replaced)
        if job.patch.removes:
            return None
        if job.keeps_name or job.keeps_kind:
            tally.ignored |= protected_fields(after, now, keeps_name=job.keeps_name, keeps_kind=job.keeps_kind)
        after = _settle(after, now, job)
        if job.patch.operations is not None and not tally.fails_again:
            # P6: a pipeline runs the function at every render.
            try:
                again = _settle(job.patch.operations.apply(after, copies.afresh()), after, job)
                tally.unstable = tally.unstable or not same(again, after)
            except PatchError as error:
                problem = format_problem(error, job.patch, secret=_is_secret(item, job, after))
                tally.fails_again = f"{item.ref}: {problem}"
        tally.copied += self._copied.nodes - copied
        for list_ in replaced:
            path = format_path(list_.path)
            what = f"{list_.before} elements became {list_.after}; name `listKeys`, or add the CustomResourceDefinition"
            message = f"{item.ref}: {job.label} replaces {path}, since nothing identifies its elements: {what}"
            self.results.warning(message, resource=item.ref, file=item.file, path=path, rule="P4")
        for move in moved:
            path = format_path(move.path)
            why = "elements that the patch does not name come first, the others follow in its order"
            message = f"{item.ref}: {job.label} moves {move.element} in {path}: {why}"
            self.results.info(message, resource=item.ref, file=item.file, path=path, rule="P2")
        return after


def _is_secret(item: Resource, job: PatchJob, now: Object) -> bool:
    """Whether messages about a patch of a resource must not show values (M6)."""
    return any(next(hidden_in(value), None) is not None for value in (item.root, now)) or job.patch.is_secret


def _settle(after: Object, before: Object, job: PatchJob) -> Object:
    return with_identity(after, before, keeps_name=job.keeps_name, keeps_kind=job.keeps_kind)


def _report(
    results: Results, job: PatchJob, tallies: Sequence[Tally], prefix: str, where: str, missing: Severity
) -> None:
    """Reports the matches and changes of a patch; `tallies` are those of all parts of the package."""
    matched = sum(tally.matched for tally in tallies)
    changed = [name for tally in tallies for name in tally.changed]
    if not matched and job.patch.body.get(PATCH) == "delete":
        results.info(f"{prefix}{job.label} has nothing to delete in {where}", path=job.field, rule="P4")
        return
    if not matched:
        # P4: report it, since the target may be misspelt.
        message = f"{prefix}{job.label} matches nothing in {where}; check {job.chosen_by}"
        results.add(Result(missing, message, path=job.field, rule="P4"))
        return
    names = f"changes {len(changed)}: {abridge(changed, _SHOWN)}" if changed else "changes none"
    resources = "1 resource" if matched == 1 else f"{matched} resources"
    message = f"{prefix}{job.label} matches {resources}, {names}"
    results.info(message, path=job.field, rule="P4")
    for name, option in dict(pair for tally in tallies for pair in tally.ignored.items()).items():
        # P9: kustomize does so without a report.
        message = f"{prefix}{job.label} does not change {name}: only options.{option} lets a patch change it"
        results.warning(message, path=job.field, rule="P9")
    fails = next((tally.fails_again for tally in tallies if tally.fails_again), "")
    if fails or any(tally.unstable for tally in tallies):
        what = f"fails: {fails}" if fails else "would change more"
        results.warning(
            f"{prefix}{job.label}: a second run of this JSON patch {what}; in a pipeline use a "
            "strategic merge patch, or operations that give the same result again",
            path=job.field,
            rule="P6",
        )


def patch_resources(resource_list: ResourceList) -> None:
    """Applies the patches in their order; reports the matches and changes of each."""
    config = read_jobs(resource_list)
    if resource_list.results.errors:
        return
    tallies = apply_jobs(resource_list, config)
    if not resource_list.results.errors:
        report_jobs(resource_list, config, tallies, "functionConfig: ")


def apply_jobs(resource_list: ResourceList, config: Jobs, prefix: str = "functionConfig: ") -> list[Sequence[Tally]]:
    """Applies the patches to the items; the tallies of each, of all parts of the package.

    Raises KrmMergeError, with this prefix, if it takes too many comparisons, or if the patches copy too much.
    """
    Targets([job.target for job in config.jobs]).check(len(resource_list.items), prefix)
    definitions = definitions_of(resource_list.items)
    parts = edit_items(resource_list, lambda: Patcher(config, definitions))
    CopiedInAll(sum(tally.copied for part in parts for tally in part))
    return [*zip(*parts, strict=True)]


def report_jobs(
    resource_list: ResourceList,
    config: Jobs,
    tallies: Sequence[Sequence[Tally]],
    prefix: str,
    where: str = "the package",
    missing: Severity = "warning",
) -> None:
    """Reports each patch, and the identities that the resources have after them (P4, P9).

    Messages begin with the prefix, and say `where` the resources are; `missing` is the severity of no match.
    """
    results = resource_list.results
    renames = (rename for of_job in tallies for tally in of_job for rename in tally.renames)
    report_renames(resource_list.items, renames, results)
    for job, of_job in zip(config.jobs, tallies, strict=True):
        _report(results, job, of_job, prefix, where, missing)


# ---- made from two versions ------------------------------------------------------------------------------------------

_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in r"\.^$*+?()[]{}|"})


def patches_between(
    before: Sequence[Resource], after: Sequence[Resource], definitions: Definitions, results: Results
) -> list[Object]:
    """The entries of `patches` that make resources what they are in another version of their package.

    A second run of them changes nothing. What no patch can do is reported as an error. `definitions` returns the CRDs
    of the package.
    """
    shapes = Shapes(definitions)
    modified = _by_identity(after)
    named_alike = group_by_key((item.name, without_bookkeeping(item.value)) for item in before)
    patches: list[Object] = []
    for identity, originals in _by_identity(before).items():
        versions = modified.get(identity, [])
        first = originals[0]
        if len(originals) > 1 or len(versions) > 1:
            files = " and ".join(dict.fromkeys(str(item.file) for item in (*originals, *versions)))
            message = f"{first.ref} is defined several times, in {files}; no patch can tell them apart"
            results.error(message, resource=first.ref, file=first.file, rule="P9")
            continue
        old, patch = without_bookkeeping(first.value), ParsedPatch("strategic", {PATCH: "delete"})
        changes_kind = False
        if versions:
            new, shape = without_bookkeeping(versions[0].value), shapes.of(first)
            changes_kind = old.get("apiVersion") != new.get("apiVersion")
            try:
                patch = patch_between(old, new, shape, is_known=shape.is_known)
            except PatchError as error:
                results.error(f"{first.ref}: {error}", resource=first.ref, file=first.file)
                continue
        patches.append(_declaration(patch, old, named_alike[first.name], changes_kind=changes_kind))
    return patches


def patch_document(patches: Sequence[Value]) -> Object:
    """The functionConfig with these entries, which nobody applies to a cluster."""
    metadata: Object = {"name": "patches", "annotations": {LOCAL_CONFIG: "true"}}
    return {"apiVersion": API_VERSION, "kind": "PatchResources", "metadata": metadata, "patches": [*patches]}


def _by_identity(items: Sequence[Resource]) -> dict[Identity, list[Resource]]:
    return group_by_key((item.identity, item) for item in items if item.kind != KPTFILE)


def _declaration(patch: ParsedPatch, original: Object, named_alike: Sequence[Object], *, changes_kind: bool) -> Object:
    """The entry of a patch; it has a target where the patch cannot name its object, or others had its name, too."""
    body = with_names(patch.body, original)
    declaration: Object = {}
    target = target_of(ParsedPatch("merge", body)) if body is not patch.body else None
    if target is None or sum(target.selects(value) for value in named_alike) > 1:
        names = TargetNames.of(original)
        fields = {"group": names.group, "kind": names.kind, "name": names.name, "namespace": names.namespace}
        declaration["target"] = {name: text.translate(_ESCAPED) or "^$" for name, text in fields.items()}
    declaration["patch"] = yaml_of(body)
    if patch.type == "merge":
        declaration["type"] = patch.type
    if changes_kind:
        declaration["options"] = {"allowKindChange": True}
    return declaration
