"""The policy of a package, `kind: MergePolicy`, and files of rules: found, read, combined, edited (rules M1-M3).

Choices that were made in merges of git are in a file of that form in the repository's own folder, where the next merge
finds them: as git's rerere, but for the same resource, whatever file and lines it is in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from krm_merge.errors import KrmMergeError
from krm_merge.krm import KPTFILE, Resource, format_path, identity_of, parse_path
from krm_merge.merge import (
    MERGE_POLICY,
    NO_RESOLUTIONS,
    OnConflict,
    PackageDecisions,
    Policy,
    Resolution,
    Resolutions,
    Rule,
)
from krm_merge.packages import File, Tree, holds_resources, read_file, write_file
from krm_merge.posix import is_own
from krm_merge.report import resource_value
from krm_merge.startup import frozen, pattern, replace
from krm_merge.text import MappingNode, TextError, Value, document_text, read, read_all, to_value

if TYPE_CHECKING:
    from krm_merge.merge import ListKeys
    from krm_merge.policy.models import MergePolicy


KIND = MERGE_POLICY[1]
FILE = "merge-policy.yaml"
"""Its default path in a package."""

_MOST_NAMED = 3
"""Resolutions that fit nowhere and have a result each: after an update all choices of the one before fit nowhere."""
_MAY_BE_POLICY = pattern(rb"""kind["']?[ \t]*:[ \t]*["']?MergePolicy\b""")


class PolicyError(KrmMergeError):
    """An invalid MergePolicy; the message names all problems."""


@frozen
class PackagePolicy:
    """A parsed MergePolicy. `file` is its path, `root` its document."""

    on_conflict: OnConflict | None = None
    rules: tuple[Rule, ...] = ()
    resolutions: Resolutions = NO_RESOLUTIONS
    file: str = ""
    root: MappingNode | None = None

    @property
    def target_file(self) -> str:
        """Where the package has its MergePolicy, or gets it."""
        return self.file or FILE


NO_POLICY: Final[PackagePolicy] = PackagePolicy()


def combine(
    on_conflict: OnConflict | None,
    rules: tuple[Rule, ...],
    package: PackagePolicy,
    *,
    stops: bool = False,
) -> Policy:
    """M3: resolutions, then rules, then who wins all other conflicts; in each, what this run sets comes first.

    `on_conflict` is None if this run sets nothing. Where the package does not either, upstream wins, or, with `stops`,
    nobody does.
    """
    winner = on_conflict or package.on_conflict
    default: OnConflict = "fail" if stops else "upstream"
    return Policy(
        winner or default,
        (*rules, *package.rules),
        resolutions=package.resolutions,
        stops=stops and winner is None,
    )


def find_policy(package: Tree) -> PackagePolicy:
    """The MergePolicy in a package's own folder, whatever its file is called (M1). Raises PolicyError."""
    paths_at_top = (path for path in package if "/" not in path and holds_resources(path))
    paths = sorted(paths_at_top, key=lambda path: path != FILE)
    return read_policy_files((path, package[path].data) for path in paths)


def find_policy_around(file: Path) -> PackagePolicy:
    """The MergePolicy of the package that a file of the working directory is in. Raises KrmMergeError."""
    if file.is_absolute() or ".." in file.parts:
        return NO_POLICY
    for folder in file.parents:
        paths = [path for path in folder.glob("*") if path.is_file() and holds_resources(path.name)]
        policies = {path.name: content for path in paths if _may_be_policy((content := read_file(path)).data)}
        if policies or (folder / KPTFILE).is_file():
            return find_policy(policies)
    return NO_POLICY


def read_policy_files(files: Iterable[tuple[str, bytes]]) -> PackagePolicy:
    """The only MergePolicy in some files; texts that cannot hold one are never parsed. Raises PolicyError."""
    policies = [(file, root) for file, data in files if _may_be_policy(data) for root in _policies(file, data)]
    if len(policies) > 1:
        places = f"{policies[1][0]}: a second {KIND}; the package has one in {policies[0][0]}"
        raise PolicyError(f"{places}, keep one of them")
    return read_policy(*policies[0]) if policies else NO_POLICY


def _may_be_policy(data: bytes) -> bool:
    return _MAY_BE_POLICY.search(data) is not None


def _policies(file: str, data: bytes) -> list[MappingNode]:
    try:
        roots = list(read_all(data.decode("utf-8")))
    except (UnicodeDecodeError, TextError) as error:
        if file == FILE:
            raise PolicyError(f"{file}: {error}") from None
        return []
    return [root for root in roots if isinstance(root, MappingNode) and is_policy(root)]


def is_policy(root: MappingNode) -> bool:
    """Whether a resource is of our kind MergePolicy."""
    return identity_of(root).group_kind == MERGE_POLICY


def read_policy(file: str, root: MappingNode) -> PackagePolicy:
    """Reads a MergePolicy. Raises PolicyError naming every invalid field."""
    value = to_value(root)
    policy = parse_policy(value, file)
    return replace(policy, root=root)


def parse_policy(value: Mapping[str, Value], file: str) -> PackagePolicy:
    """The same from a plain value."""
    from krm_merge.krm import check
    from krm_merge.policy.models import MergePolicy

    model, problems = check(MergePolicy, value)
    if model is None:
        raise PolicyError("; ".join(f"{file}: {path}{problem}" for path, problem in problems))
    for number, resolution in enumerate(model.resolutions):
        if resolution.packages is not None:
            where = f"{file}: resolutions[{number}].packages"
            raise PolicyError(f"{where} is for the policy.yaml of a campaign; remove it, or the resolution")
    return policy_from_model(model, file)


def policy_from_model(model: MergePolicy, file: str) -> PackagePolicy:
    """The same from a checked model."""
    from krm_merge.policy.models import rules_of

    resolutions = [
        Resolution(
            nature=resolution.nature,
            path=parse_path(resolution.path) if resolution.path else (),
            fingerprint=resolution.fingerprint,
            choice=resolution.choice,
            value=resolution.value,
            resource=None if resolution.resource is None else resolution.resource.ref,
            place=f"{file} resolutions[{number}]",
            number=number,
        )
        for number, resolution in enumerate(model.resolutions)
    ]
    return PackagePolicy(model.onConflict, rules_of(model.rules, file), Resolutions(resolutions), file)


def stale_resolutions(policy: PackagePolicy, decided: Iterable[PackageDecisions]) -> list[Resolution]:
    """The resolutions that matched no conflict of a merge (M2)."""
    used = {resolution.number for part in decided for resolution in part.resolutions()}
    return [resolution for resolution in policy.resolutions.all if resolution.number not in used]


def stale_messages(policy: PackagePolicy, decided: Iterable[PackageDecisions]) -> list[str]:
    """The messages for resolutions that matched no conflict (M2); where they are many, one for all."""
    stale = stale_resolutions(policy, decided)
    if len(stale) > _MOST_NAMED:
        return [
            f"{len(stale):,} resolutions, such as {stale[0].place}, match no conflict: these were settled, or their "
            "values changed; remove them"
        ]
    why = "its conflict was settled, or its values changed; remove it"
    return [f"{resolution.place}: matches no conflict: {why}" for resolution in stale]


class RulesError(KrmMergeError, ValueError):
    """A file of rules that cannot be used; the message names every invalid field."""


@frozen
class RulesFile:
    """The exceptions from a policy, and the merge keys that no schema knows."""

    rules: tuple[Rule, ...] = ()
    list_keys: tuple[ListKeys, ...] = ()


def read_rules(text: str, file: str = "") -> RulesFile:
    """Reads `rules` and `listKeys`; a whole MergePackage may hold them, too. Raises RulesError.

    `file` names the rules in reports.
    """
    from krm_merge.krm import check
    from krm_merge.policy.models import MergeRules, list_keys_of, rules_of

    try:
        value = to_value(read(text))
    except TextError as error:
        raise RulesError(str(error)) from None
    if not isinstance(value, dict):
        raise RulesError("a mapping with rules or listKeys is expected")
    fields = {"rules", "listKeys"}
    unknown = sorted(value.keys() - fields) if value.get("kind") is None else []
    model, problems = check(MergeRules, {name: inner for name, inner in value.items() if name in fields})
    flaws = [f"{path}{problem}" for path, problem in problems]
    flaws += [f"{name} is an unknown field; choose from rules and listKeys" for name in unknown]
    if model is None or flaws:
        raise RulesError("; ".join(flaws))
    return RulesFile(rules_of(model.rules, file), list_keys_of(model.listKeys))


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
    from krm_merge.krm import too_many

    file = file or File(_NEW.encode())
    root = _policy(file.data.decode("utf-8"), name)
    value = to_value(root)
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
    return _with_document(file, resource)


def _with_document(file: File, resource: Resource) -> File:
    """The file with a resource of it as that is now."""
    text = file.data.decode("utf-8").replace(document_text(resource.root), resource.text(), 1)
    return File(text.encode(), file.mode)


def resolution_value(chosen: Resolution) -> dict[str, Value]:
    """A choice as a MergePolicy has it."""
    value: dict[str, Value] = {} if chosen.resource is None else {"resource": resource_value(chosen.resource)}
    value |= {"path": format_path(chosen.path)} if chosen.path else {}
    value |= {"nature": chosen.nature, "fingerprint": chosen.fingerprint, "choice": chosen.choice}
    return value | {"value": chosen.value} if chosen.choice == "value" else value


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

    Nothing is remembered in a file of another user, who could decide for this one (A1), nor behind a link (A9).
    """
    # The merge driver, which git starts for each file, mostly has nothing to ask git for.
    from krm_merge.git.program import GitError, WorkingTree

    try:
        tree = WorkingTree.around(place)
    except GitError:
        return None
    if tree is None:
        return None
    file = tree.common / _MEMORY
    return file if _is_trusted(file) else None


def name_in_repository(file: Path) -> str:
    """The path of a file from the top of the repository around it, as git names it in merges."""
    folder = file.absolute().parent.resolve()
    top = next((top for top in (folder, *folder.parents) if os.path.lexists(top / ".git")), folder)
    return (folder / file.name).relative_to(top).as_posix()


def _is_trusted(file: Path) -> bool:
    there = [place for place in (file.parent, file) if os.path.lexists(place)]
    return all(is_own(place) and not place.is_symlink() for place in there)


def recall_around(place: Path, name: str = "") -> Resolutions:
    """The choices that the repository around a folder remembers, as `recall` does. Raises KrmMergeError."""
    folder = place.absolute()
    store = next((store for at in (folder, *folder.parents) if (store := at / ".git").exists()), None)
    # A process of git takes half as long as a merge; of a linked working tree it alone knows the repository.
    if store is None or (store.is_dir() and not (store / _MEMORY).parent.exists()):
        return NO_RESOLUTIONS
    return recall(memory_path(place), name)


def recall(file: Path | None, name: str = "") -> Resolutions:
    """The choices that a repository remembers: those for resources, and those for the rest of a file of this name.

    Raises KrmMergeError where they cannot be read.
    """
    if file is None:
        return NO_RESOLUTIONS
    stores = [store for store in (file, _memory_of_file(file, name)) if store.is_file() and _is_trusted(store)]
    read = [read_policy_files([(str(store), read_file(store).data)]).resolutions.all for store in stores]
    return Resolutions(resolution for resolutions in read for resolution in resolutions)


def remember(file: Path, choices: Sequence[Resolution], name: str) -> None:
    """Adds choices, each for its resource; those on what is in no resource are for the file of this name alone."""
    of_resources = [choice for choice in choices if choice.resource is not None]
    of_file = [choice for choice in choices if choice.resource is None]
    for store, new in ((file, of_resources), (_memory_of_file(file, name), of_file)):
        if not new or not _is_trusted(store):
            continue
        before = read_file(store) if store.is_file() else None
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        edited = edit_policy(before, str(store), [*map(resolution_value, new)], ())
        write_file(store, File(edited.data), before)


def _memory_of_file(file: Path, name: str) -> Path:
    """Where choices for a file of the repository are remembered that are not about a resource in it."""
    # It loads OpenSSL, and hardly any merge for git has such choices.
    from hashlib import sha256

    return file.parent / "files" / f"{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.yaml"


def _policy(text: str, name: str) -> MappingNode:
    try:
        roots = [root for root in read_all(text) if isinstance(root, MappingNode) and is_policy(root)]
    except TextError as error:
        raise KrmMergeError(f"{name}: {error}") from None
    if not roots:
        raise KrmMergeError(f"{name} exists but holds no {KIND}; rename it, so that choices can be written there")
    return roots[0]


def _without(entries: Value, new: Sequence[Mapping[str, Value]], fields: Sequence[str]) -> list[Value]:
    """The entries that `new` does not replace."""
    replaced = {_key(value, fields) for value in new}
    return [value for value in entries if _key(value, fields) not in replaced] if isinstance(entries, list) else []


def _key(value: object, fields: Sequence[str]) -> str:
    import json

    return json.dumps([value.get(name) for name in fields] if isinstance(value, Mapping) else value, default=str)
