"""The policy of a package, `kind: MergePolicy`, and files of rules: find, read and combine them (rules M1-M3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krm_merge.errors import KrmMergeError
from krm_merge.krm.identity import KPTFILE, identity_of
from krm_merge.merge.decisions.member import MERGE_POLICY, PackageDecisions
from krm_merge.merge.decisions.policy import OnConflict, Policy, Rule
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolution, Resolutions
from krm_merge.packages.files.tree import Tree, holds_resources
from krm_merge.schema.secrecy import Redaction
from krm_merge.startup import replace
from krm_merge.text.reading import nodes
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read, read_all
from krm_merge.text.reading.values import Value, to_value

if TYPE_CHECKING:
    from pathlib import Path

    from krm_merge.merge.package.merger import ListKeys
    from krm_merge.policy.models import MergePolicy

KIND = MERGE_POLICY[1]
FILE = "merge-policy.yaml"
"""Its default path in a package."""

_MAY_BE_POLICY = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?MergePolicy\b""")


class PolicyError(KrmMergeError):
    """An invalid MergePolicy; the message names all problems."""


@dataclass(frozen=True, slots=True)
class PackagePolicy:
    """A parsed MergePolicy. `file` is its path, `root` its document."""

    on_conflict: OnConflict | None = None
    rules: tuple[Rule, ...] = ()
    resolutions: Resolutions = NO_RESOLUTIONS
    redactions: tuple[Redaction, ...] = ()
    file: str = ""
    root: nodes.MappingNode | None = None

    @property
    def target_file(self) -> str:
        """Where the package has its MergePolicy, or gets it."""
        return self.file or FILE


NO_POLICY: Final[PackagePolicy] = PackagePolicy()


def combine(
    on_conflict: OnConflict | None,
    rules: tuple[Rule, ...],
    package: PackagePolicy,
    redactions: tuple[Redaction, ...] = (),
    *,
    stops: bool = False,
) -> Policy:
    """M3: resolutions, then rules, then who wins all other conflicts; in each, what this run sets comes first.

    `on_conflict` is None if this run sets nothing. Where the package does not either, upstream wins, or, with `stops`,
    nobody does. What either hides is hidden.
    """
    winner = on_conflict or package.on_conflict
    default: OnConflict = "fail" if stops else "upstream"
    return Policy(
        winner or default,
        (*rules, *package.rules),
        resolutions=package.resolutions,
        stops=stops and winner is None,
        redactions=(*redactions, *package.redactions),
    )


def find_policy(package: Tree) -> PackagePolicy:
    """The MergePolicy in a package's own folder, whatever its file is called (M1). Raises PolicyError."""
    paths_at_top = (path for path in package if "/" not in path and holds_resources(path))
    paths = sorted(paths_at_top, key=lambda path: path != FILE)
    return read_policy_files((path, package[path].data) for path in paths)


def find_policy_around(file: Path) -> PackagePolicy:
    """The MergePolicy of the package that a file of the working directory is in. Raises KrmMergeError."""
    # The function, which has no files, does not pay for this import.
    from krm_merge.packages.files.tree import read_file

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


def collect_redactions(*versions: Tree) -> tuple[Redaction, ...]:
    """The values that the MergePolicies of versions of a package hide.

    A version whose policy cannot be read hides nothing: it is what somebody looks at, not what a merge obeys.
    """
    redactions: list[Redaction] = []
    for version in versions:
        with suppress(PolicyError):
            redactions += find_policy(version).redactions
    return tuple(dict.fromkeys(redactions))


def _may_be_policy(data: bytes) -> bool:
    return _MAY_BE_POLICY.search(data) is not None


def _policies(file: str, data: bytes) -> list[nodes.MappingNode]:
    try:
        roots = list(read_all(data.decode("utf-8")))
    except (UnicodeDecodeError, TextError) as error:
        if file == FILE:
            raise PolicyError(f"{file}: {error}") from None
        return []
    return [root for root in roots if isinstance(root, nodes.MappingNode) and is_policy(root)]


def is_policy(root: nodes.MappingNode) -> bool:
    """Whether a resource is of our kind MergePolicy."""
    return identity_of(root).group_kind == MERGE_POLICY


def read_policy(file: str, root: nodes.MappingNode) -> PackagePolicy:
    """Reads a MergePolicy. Raises PolicyError naming every invalid field."""
    value = to_value(root)
    assert isinstance(value, dict)
    policy = parse_policy(value, file)
    return replace(policy, root=root)


def parse_policy(value: Mapping[str, Value], file: str) -> PackagePolicy:
    """The same from a plain value."""
    from krm_merge.krm.validation import check
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
    from krm_merge.krm.fieldpath import parse_path
    from krm_merge.policy.models import redactions_of, rules_of

    resolutions = [
        Resolution(
            nature=resolution.nature,
            path=parse_path(resolution.path) if resolution.path else (),
            fingerprint=resolution.fingerprint,
            choice=resolution.choice,
            value=resolution.value,
            identity=None if resolution.resource is None else resolution.resource.identity,
            place=f"{file} resolutions[{number}]",
            number=number,
        )
        for number, resolution in enumerate(model.resolutions)
    ]
    redactions = redactions_of(model.redact)
    return PackagePolicy(model.onConflict, rules_of(model.rules, file), Resolutions(resolutions), redactions, file)


def stale_resolutions(policy: PackagePolicy, decided: Iterable[PackageDecisions]) -> list[Resolution]:
    """The resolutions that matched no conflict of a merge (M5)."""
    used: set[int] = set()
    for part in decided:
        for outcome in part.outcomes:
            used |= {decision.resolution.number for decision in outcome.decisions if decision.resolution is not None}
        used |= {decision.resolution.number for decision in part.files if decision.resolution is not None}
    return [resolution for resolution in policy.resolutions.all if resolution.number not in used]


def stale_message(resolution: Resolution) -> str:
    """The message for a resolution that matched no conflict."""
    why = "its conflict was settled, or its values changed"
    return f"{resolution.place}: matches no conflict: {why}; `krm-merge policy prune` removes it"


class RulesError(KrmMergeError, ValueError):
    """A file of rules that cannot be used; the message names every invalid field."""


@dataclass(frozen=True, slots=True)
class RulesFile:
    """The exceptions from a policy, the merge keys that no schema knows, and what reports hide."""

    rules: tuple[Rule, ...] = ()
    list_keys: tuple[ListKeys, ...] = ()
    redactions: tuple[Redaction, ...] = ()


def read_rules(text: str, file: str = "") -> RulesFile:
    """Reads `rules`, `listKeys` and `redact`; a whole MergePackage may hold them, too. Raises RulesError.

    `file` names the rules in reports.
    """
    from krm_merge.krm.validation import check
    from krm_merge.policy.models import MergeRules, list_keys_of, redactions_of, rules_of

    try:
        root = read(text)
    except TextError as error:
        raise RulesError(str(error)) from None
    value = to_value(root)
    if not isinstance(root, nodes.MappingNode) or not isinstance(value, dict):
        raise RulesError("a mapping with rules, listKeys or redact is expected")
    fields = {"rules", "listKeys", "redact"}
    unknown = sorted(value.keys() - fields) if value.get("kind") is None else []
    model, problems = check(MergeRules, {name: inner for name, inner in value.items() if name in fields})
    flaws = [f"{path}{problem}" for path, problem in problems]
    flaws += [f"{name} is an unknown field; known are rules, listKeys and redact" for name in unknown]
    if model is None or flaws:
        raise RulesError("; ".join(flaws))
    redactions = redactions_of(model.redact)
    return RulesFile(rules_of(model.rules, file), list_keys_of(model.listKeys), redactions)
