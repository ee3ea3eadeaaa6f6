"""The description of a pull request that we opened, which people read and the next plan parses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.plan.model import DigestEdit, PlanTarget, Synthetic, Trigger, Waiting
from krm_merge.forges.addresses import same_repository

BEGIN = "<!-- krm-merge components: begin -->"
END = "<!-- krm-merge components: end -->"
# No second beginning inside: from each, the search would read on to the end.
_BLOCK = re.compile(rf"{BEGIN}((?:(?!{BEGIN}).)*?){END}", re.DOTALL)
_DIGEST = re.compile(r"^- `([^`@]+)` is `[^`@]*@(sha256:[0-9a-f]{64})`", re.MULTILINE)
_TRIGGER = re.compile(r"^- ([^ ]+) \((open|waiting|done|closed)\)(?::.*; built as (.*))?", re.MULTILINE)
_NAME = re.compile(r"`([^`]+)`")
_PUSH = "- a push to "
NOTHING_LEFT = "nothing is left to update"
"""The reason for closing a pull request whose target has its digests; the name of the branch follows."""
_CLOSED = re.compile(r"^Closed: ", re.MULTILINE)
_HAD = re.compile(rf"^Closed: {NOTHING_LEFT} in ", re.MULTILINE)
_SYNTHETIC = re.compile(r"^- files of ([^ ]+) at ([0-9a-f]+)", re.MULTILINE)
_WORDS = {
    "open": "not merged yet",
    "waiting": "merged, its build is not finished",
    "done": "merged and built",
    "closed": "closed without a merge",
}


@dataclass(frozen=True, slots=True)
class DescribedState:
    """The state in a description: digests by name of the dependency, states by trigger, heads by copied pull request.

    `built_as` are the dependencies that each trigger was built as; `closed` says that a plan closed it, `had` that the
    reason was that the target had the digests, `by_push` that a push triggered it, too.
    """

    digests: Mapping[str, str]
    triggers: Mapping[str, str]
    synthetic: Mapping[str, str]
    built_as: Mapping[str, frozenset[str]] = field(default_factory=dict)
    closed: bool = False
    had: bool = False
    by_push: bool = False


def parse_description(description: str) -> DescribedState | None:
    """Parses our block in a description; None if it has none, so that the pull request is not ours."""
    block = _BLOCK.search(_lines(description))
    if block is None:
        return None
    text = block[1]
    triggers = _TRIGGER.findall(text)
    return DescribedState(
        dict(_DIGEST.findall(text)),
        {name: state for name, state, _ in triggers},
        dict(_SYNTHETIC.findall(text)),
        {name: frozenset(_NAME.findall(built_as)) for name, _, built_as in triggers},
        _CLOSED.search(text) is not None,
        _HAD.search(text) is not None,
        f"\n{_PUSH}" in text,
    )


def with_block(existing: str, description: str) -> str:
    """`existing` with its block replaced by that of `description`; the text around it is kept."""
    block, existing = _BLOCK.search(description), _lines(existing)
    assert block is not None
    if _BLOCK.search(existing) is None:
        return f"{existing.rstrip()}\n\n{block[0]}\n" if existing.strip() else description
    return _BLOCK.sub(lambda _: block[0], existing, count=1)


def is_described(existing: str, description: str) -> bool:
    """Whether both descriptions have the same block; the text around it does not matter."""
    return with_block(existing, description) == _lines(existing)


def _lines(text: str) -> str:
    """Normalises line ends, which forges may change."""
    return text.replace("\r\n", "\n")


def description_of(
    target: PlanTarget,
    group: str,
    triggers: Sequence[Trigger],
    digests: Sequence[DigestEdit],
    waiting: Sequence[Waiting],
    synthetic: Sequence[Synthetic],
    closed: str = "",
    *,
    kept: bool = False,
) -> tuple[str, str]:
    """Title and description of a pull request.

    `closed` is why it is closed; `kept` says that it keeps digests of pull requests that will not be merged.
    """
    names = ", ".join(edit.component.name for edit in digests) or "nothing"
    to = ", ".join(one.key.name for one in target.dependants)
    whom = ", ".join(f"`{one.key.name}`" for one in target.dependants)
    lines = [BEGIN, f"This updates images in {whom}, for the group `{group}`.", ""]
    for edit in digests:
        image = edit.repositories[0] if edit.repositories else edit.component.name
        lines.append(f"- `{edit.component.name}` is `{image}@{edit.digest}`")
    if triggers:
        lines += ["", "It was triggered by:", ""]
    for name, ones in _by_pull_request(triggers).items():
        # If it is built as several components, the last of them counts.
        state = next((one.state for one in ones if one.state == "waiting"), ones[0].state)
        head = ones[0].pull_request.head if ones[0].pull_request is not None else ""
        built_as = ", ".join(f"`{one.component.name}`" for one in ones)
        lines.append(f"- {name} ({state}): {_WORDS[state]}{f', at {head}' if head else ''}; built as {built_as}")
    lines += [f"{_PUSH}`{one.component.name}`" for one in triggers if one.pull_request is None]
    if synthetic:
        lines += ["", "It holds the changes to this directory of:", ""]
        lines += [f"- files of {reference(one.pull_request)} at {one.pull_request.head or '0'}" for one in synthetic]
    lines += ["", _closed(closed) if closed else _order(waiting, bool(digests), kept=kept), END]
    return f"Update {names} in {to} ({group})", "\n".join(lines) + "\n"


def closed_description(description: str, reason: str) -> str:
    """A description whose block ends with why it is closed instead of what it waits for."""
    block = _BLOCK.search(description)
    assert block is not None
    lines = block[1].rstrip("\n").split("\n")[:-1]
    return "\n".join([BEGIN, *lines[1:], _closed(reason), END]) + "\n"


def reference(pull_request: PullRequest) -> str:
    """A pull request as a forge links it: owner/name#number."""
    return link(pull_request.repository, pull_request.number)


def link(repository: str, number: int) -> str:
    """A pull request of a repository as a forge links it: owner/name#number."""
    return f"{'/'.join(same_repository(repository).rsplit('/', 2)[-2:])}#{number}"


def _by_pull_request(triggers: Sequence[Trigger]) -> dict[str, list[Trigger]]:
    found: dict[str, list[Trigger]] = {}
    for one in triggers:
        if one.pull_request is not None:
            found.setdefault(reference(one.pull_request), []).append(one)
    return found


def _closed(reason: str) -> str:
    return f"Closed: {reason}."


def _order(waiting: Sequence[Waiting], updates: bool, *, kept: bool) -> str:
    if kept:
        return "Some of its triggers were closed without a merge; check the digests before you merge it."
    if not updates:
        return "It updates nothing any more: its triggers will not be merged."
    if not waiting:
        return "It can be merged."
    names = {one: reference(one.pull_request) for one in waiting if one.pull_request is not None}
    unmerged = dict.fromkeys(name for one, name in names.items() if one.until == "merged")
    if unmerged:
        return f"Merge it after {', '.join(unmerged)}: until then it names images that expire, and stays a draft."
    if not names:
        untested = ", ".join(one.component.name for one in waiting)
        return f"Merge it when the tests of {untested} have passed: until then it stays a draft."
    unbuilt = ", ".join(dict.fromkeys(names.values()))
    return f"Merge it when the merge of {unbuilt} is built: until then it names images that expire, and stays a draft."
