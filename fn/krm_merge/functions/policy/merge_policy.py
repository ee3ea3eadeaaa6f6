"""`kind: MergePolicy`: how conflicts of a package are settled, kept in the package itself (rules M1-M3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krm_merge.errors import KrmMergeError
from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.member import MERGE_POLICY, PackageDecisions
from krm_merge.merge.decisions.policy import OnConflict, Policy, Rule
from krm_merge.merge.decisions.resolution import NO_RESOLUTIONS, Resolution, Resolutions
from krm_merge.packages.files.tree import Tree, holds_resources
from krm_merge.schema.secrecy import Redaction
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
    redactions: tuple[Redaction, ...] = ()
    file: str = ""
    root: nodes.MappingNode | None = None


NO_POLICY = PackagePolicy()


def combined(
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


def may_be_policy(data: bytes) -> bool:
    """Whether a text may hold a MergePolicy; other texts are never parsed."""
    return _MAY_BE_POLICY.search(data) is not None


def policy_in(files: Iterable[tuple[str, bytes]]) -> PackagePolicy:
    """The MergePolicy among files of a package's own folder. Raises PolicyError with all problems."""
    found = [(file, root) for file, data in files if may_be_policy(data) for root in _policies(file, data)]
    if len(found) > 1:
        raise PolicyError(f"{found[1][0]}: a second {KIND}; the package has one in {found[0][0]}, keep one of them")
    return read_policy(*found[0]) if found else NO_POLICY


def policy_of_package(package: Tree) -> PackagePolicy:
    """The MergePolicy in a package's own folder, whatever its file is called (M1). Raises PolicyError."""
    own = (path for path in package if "/" not in path and holds_resources(path))
    paths = sorted(own, key=lambda path: path != FILE)
    return policy_in((path, package[path].data) for path in paths)


def redactions_in(*versions: Mapping[str, bytes]) -> tuple[Redaction, ...]:
    """What the MergePolicies of versions of a package hide, which map files of its own folder to their contents.

    A version whose policy cannot be read hides nothing: it is what somebody looks at, not what a merge obeys.
    """
    found: list[Redaction] = []
    for files in versions:
        with suppress(PolicyError):
            found += policy_in(files.items()).redactions
    return tuple(dict.fromkeys(found))


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
    return replace(policy, root=root)


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
    from krm_merge.functions.validation import redactions_of, rules_of
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
    redactions = redactions_of(model.redact)
    return PackagePolicy(model.onConflict, rules_of(model.rules, file), Resolutions(resolutions), redactions, file)


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
