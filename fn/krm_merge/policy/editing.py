"""The text of a MergePolicy with more choices or fewer; all else in it stays as it is written.

Choices that were made in merges of git are in a file of that form in the repository's own folder, where the next merge
finds them: as git's rerere, but by what the conflict is about, whatever file and lines it is in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from krm_merge.errors import KrmMergeError
from krm_merge.git.program import GitError, WorkingTree
from krm_merge.krm.fieldpath import Step as PathStep
from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.identity import Identity
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import ResourceRef
from krm_merge.merge.decisions.nature import Nature
from krm_merge.merge.decisions.policy import Rule
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolution, Resolutions, is_of_place, without_positions
from krm_merge.packages.files.disk import write_file
from krm_merge.packages.files.tree import File, Tree, read_file
from krm_merge.policy.package_policy import KIND, PackagePolicy, is_policy, read_policy_files
from krm_merge.posix import is_own
from krm_merge.report.record import resource_value
from krm_merge.startup import replace
from krm_merge.text.document import document_text
from krm_merge.text.reading.nodes import MappingNode, SequenceNode, TextError
from krm_merge.text.reading.reader import read_all
from krm_merge.text.reading.values import Value, to_value

_NEW = f"""\
apiVersion: fn.kpt.dev/v1alpha1
kind: {KIND}
metadata:
  name: merge-policy
  annotations:
    config.kubernetes.io/local-config: "true"
"""

_SAME_RULE = ("group", "kind", "namespace", "name", "path")
_SAME_CHOICE = ("resource", "packages", "path", "nature", "fingerprint")
_MEMORY: Final = "krm-merge/choices.yaml"

Key: TypeAlias = tuple[Identity | None, tuple[PathStep, ...], Nature, str]
"""Of choices with the same key the last one holds."""


@dataclass(frozen=True, slots=True)
class RecordedChoice:
    """A choice on a conflict, and the resource that it is about as it is written down; None for any resource."""

    resolution: Resolution
    resource: ResourceRef | None = None

    @property
    def key(self) -> Key:
        """The key by which a later choice replaces it."""
        chosen = self.resolution
        return chosen.identity, without_positions(chosen.path), chosen.nature, chosen.fingerprint

    def to_value(self) -> dict[str, Value]:
        """As a MergePolicy has it."""
        chosen = self.resolution
        value: dict[str, Value] = {} if self.resource is None else {"resource": resource_value(self.resource)}
        value |= {"path": format_path(chosen.path)} if chosen.path else {}
        value |= {"nature": chosen.nature, "fingerprint": chosen.fingerprint, "choice": chosen.choice}
        return value | {"value": chosen.value} if chosen.choice == "value" else value


def edit_policy(
    file: File | None,
    name: str,
    resolutions: Sequence[Mapping[str, Value]],
    rules: Sequence[Mapping[str, Value]],
    dropped: Sequence[Mapping[str, Value]] = (),
) -> File:
    """The file with resolutions and rules as plain values, each in the place of the one that it replaces.

    Resolutions for what is `dropped` are removed. Raises KrmMergeError, also if there would be more than the limits
    allow: nobody could read the policy then.
    """
    # Who only recalls choices does not pay for this import.
    from krm_merge.krm.validation import too_many

    text = _NEW if file is None else file.data.decode("utf-8")
    root = _policy(text, name)
    value = to_value(root)
    assert isinstance(value, dict)
    new = dict(value)
    # The first match wins, so what was said last comes first.
    if rules:
        new["rules"] = [*map(dict, rules), *_without(value.get("rules"), rules, _SAME_RULE)]
    remaining = _without(value.get("resolutions"), [*resolutions, *dropped], _SAME_CHOICE)
    if resolutions or "resolutions" in value:
        new["resolutions"] = [*remaining, *map(dict, resolutions)]
    for field, problem in too_many(new):
        raise KrmMergeError(f"{name}: {field}{problem}")
    resource = Resource.from_tree(root)
    resource.change(value, new)
    before = document_text(root)
    return File(text.replace(before, resource.text(), 1).encode(), "file" if file is None else file.mode)


def prune_policy(tree: Tree, policy: PackagePolicy, dropped: Sequence[Resolution]) -> File:
    """The file of a policy without some of its resolutions."""
    root = policy.root
    assert root is not None
    resource = Resource.from_tree(root)
    resolutions = root.get("resolutions")
    assert isinstance(resolutions, SequenceNode)
    if len(dropped) == len(resolutions.items):
        resource.remove("resolutions")
    else:
        for resolution in dropped:
            resource.editor.remove(resolutions, resolutions.items[resolution.number])
    file = tree[policy.file]
    text = file.data.decode("utf-8")
    before = document_text(root)
    return File(text.replace(before, resource.text(), 1).encode(), file.mode)


def rule_value(rule: Rule) -> dict[str, Value]:
    """A rule as a MergePolicy has it."""
    fields: dict[str, Value] = {
        "group": rule.group,
        "kind": rule.kind,
        "namespace": rule.namespace,
        "name": rule.name,
        "path": format_path(rule.path) if rule.path is not None else None,
        "onConflict": rule.on_conflict,
        "onDelete": rule.on_delete,
    }
    return {name: value for name, value in fields.items() if value is not None}


def memory_path(place: Path) -> Path | None:
    """Where the repository around a folder remembers choices; None where there is no repository.

    Nothing is remembered in a file of another user, who could decide for this one (A1).
    """
    try:
        tree = WorkingTree.around(place)
    except GitError:
        return None
    if tree is None:
        return None
    file = tree.common / _MEMORY
    return file if not file.exists() or is_own(file) else None


def recall(file: Path | None) -> Resolutions:
    """The choices that a repository remembers. Raises KrmMergeError where it cannot be read."""
    if file is None or not file.is_file():
        return NO_RESOLUTIONS
    return read_policy_files([(str(file), read_file(file).data)]).resolutions


def remember(file: Path, choices: Sequence[RecordedChoice]) -> None:
    """Adds choices, for any resource with the same conflict; those on hidden values hold for their place alone."""
    if not choices:
        return
    anywhere = [
        choice
        if is_of_place(choice.resolution.fingerprint)
        else RecordedChoice(replace(choice.resolution, identity=None))
        for choice in choices
    ]
    latest = {choice.key: choice for choice in anywhere}.values()
    before = read_file(file) if file.is_file() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    new = edit_policy(before, str(file), [choice.to_value() for choice in latest], ())
    write_file(file, File(new.data), before)


def _policy(text: str, name: str) -> MappingNode:
    try:
        roots = [root for root in read_all(text) if isinstance(root, MappingNode) and is_policy(root)]
    except TextError as error:
        raise KrmMergeError(f"{name}: {error}") from None
    if not roots:
        raise KrmMergeError(f"{name} is there and holds no {KIND}; rename it, so that choices can be written there")
    return roots[0]


def _without(entries: Value, new: Sequence[Mapping[str, Value]], fields: Sequence[str]) -> list[Value]:
    """The entries that `new` does not replace."""
    replaced = {_key(value, fields) for value in new}
    return [value for value in entries if _key(value, fields) not in replaced] if isinstance(entries, list) else []


def _key(value: object, fields: Sequence[str]) -> str:
    return json.dumps([value.get(name) for name in fields] if isinstance(value, Mapping) else value, default=str)
