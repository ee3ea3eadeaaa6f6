"""`kind: MergePolicy`: how conflicts of a package are settled, kept in the package itself (rules M1-M3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krm_merge.errors import KrmMergeError
from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.member import MERGE_POLICY, PackageDecisions
from krm_merge.merge.decisions.policy import ASKED, OnConflict, Policy, Rule
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolution, Resolutions
from krm_merge.text.reading import nodes
from krm_merge.text.reading.nodes import TextError
from krm_merge.text.reading.reader import read_all
from krm_merge.text.reading.values import Value, to_value

if TYPE_CHECKING:
    from krm_merge.functions.policy.models import MergePolicy

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
    file: str = ""
    root: nodes.MappingNode | None = None


NO_POLICY = PackagePolicy()


def combined(on_conflict: OnConflict | None, rules: tuple[Rule, ...], package: PackagePolicy) -> Policy:
    """M3: resolutions, then the settings of this run, then those of the package, then the default.

    `on_conflict` is None if this run sets nothing.
    """
    asked = () if on_conflict is None else (Rule(on_conflict=on_conflict, place=ASKED),)
    return Policy(package.on_conflict or "upstream", (*rules, *asked, *package.rules), resolutions=package.resolutions)


def may_be_policy(data: bytes) -> bool:
    """Whether a text may hold a MergePolicy; other texts are never parsed."""
    return _MAY_BE_POLICY.search(data) is not None


def policy_in(files: Iterable[tuple[str, bytes]]) -> PackagePolicy:
    """The MergePolicy among files of a package's own folder. Raises PolicyError with all problems."""
    found = [(file, root) for file, data in files if may_be_policy(data) for root in _policies(file, data)]
    if len(found) > 1:
        raise PolicyError(f"{found[1][0]}: a second {KIND}; the package has one in {found[0][0]}, keep one of them")
    return read_policy(*found[0]) if found else NO_POLICY


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
    policy = policy_of(value, file)
    return PackagePolicy(policy.on_conflict, policy.rules, policy.resolutions, file, root)


def policy_of(value: Mapping[str, Value], file: str) -> PackagePolicy:
    """The same from a plain value."""
    from krm_merge.functions.policy.models import MergePolicy
    from krm_merge.functions.validation import check

    model, problems = check(MergePolicy, value)
    if model is None:
        raise PolicyError("; ".join(f"{file}: {path}{problem}" for path, problem in problems))
    for number, given in enumerate(model.resolutions):
        if given.packages is not None:
            where = f"{file}: resolutions[{number}].packages"
            raise PolicyError(f"{where} is for the policy.yaml of a campaign; remove it, or the resolution")
    return policy_from(model, file)


def policy_from(model: MergePolicy, file: str) -> PackagePolicy:
    """The same from a checked model."""
    from krm_merge.functions.validation import rules_of
    from krm_merge.krm.fieldpath import parse_path

    resolutions = [
        Resolution(
            nature=given.nature,
            path=parse_path(given.path) if given.path else (),
            fingerprint=given.fingerprint,
            choice=given.choice,
            value=given.value,
            identity=None if given.resource is None else given.resource.identity,
            place=f"{file} resolutions[{number}]",
            number=number,
        )
        for number, given in enumerate(model.resolutions)
    ]
    return PackagePolicy(model.onConflict, rules_of(model.rules, file), Resolutions(resolutions), file)


def stale(policy: PackagePolicy, decided: Iterable[PackageDecisions]) -> list[Resolution]:
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
