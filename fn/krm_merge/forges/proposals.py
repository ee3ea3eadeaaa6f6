"""Proposals: what a pull request of ours asks for, and how it is opened, or brought up to date, on any forge.

People may write around our part of its text, which is between two comments. What is in the first is for the program
that wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from krm_merge.forges.interface import Attention, Forge, ForgePullRequest

_END: Final = "<!-- /krm-merge -->"
# No second beginning inside: from each, the search would read on to the end.
_PART: Final = re.compile(
    r"<!-- krm-merge ((?:(?!<!--)[^\n])*) -->\n((?:(?!<!-- krm-merge ).)*?)<!-- /krm-merge -->", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """Our part of the text of a pull request: a `mark` for programs, without `<` and line ends, and Markdown."""

    mark: str = ""
    body: str = ""

    def __str__(self) -> str:
        """Its text between the two comments."""
        return f"<!-- krm-merge {self.mark} -->\n{self.body.rstrip()}\n{_END}"


def part_in(text: str) -> MarkedPart | None:
    """The first part of ours in the text of a pull request, None where people removed it."""
    match = _PART.search(_with_newlines(text))
    return None if match is None else MarkedPart(match[1], match[2])


def with_part(text: str, part: MarkedPart) -> str:
    """The text with our part replaced, or added at its end."""
    text, new = _with_newlines(text), str(part)
    if _PART.search(text) is None:
        return f"{text.rstrip()}\n\n{new}".lstrip()
    return _PART.sub(lambda _: new, text, count=1)


def has_part(text: str, part: MarkedPart) -> bool:
    """Whether the text has this part, whatever is around it."""
    return with_part(text, part).strip() == _with_newlines(text).strip()


def _with_newlines(text: str) -> str:
    """Normalises line ends, which forges may change."""
    return text.replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class RequestProposal:
    """What a pull request asks for: that the branch `onto` takes `branch`, which is pushed.

    `attention` is for a new pull request: what people change later is kept.
    """

    branch: str
    onto: str
    title: str
    part: MarkedPart
    is_draft: bool = False
    attention: Attention = field(default_factory=Attention)


def carry_out(
    forge: Forge, repository: str, proposal: RequestProposal, pull: ForgePullRequest | None = None
) -> ForgePullRequest:
    """Opens a pull request, or brings the open one, `pull`, up to date; returns it as it is then. Raises ForgeError."""
    if pull is None:
        text = str(proposal.part)
        pull = forge.create(repository, proposal.branch, proposal.onto, proposal.title, text, draft=proposal.is_draft)
        if proposal.attention:
            forge.request_attention(repository, pull.number, proposal.attention)
    if pull.title != proposal.title or not has_part(pull.body, proposal.part):
        pull = replace(pull, title=proposal.title, body=with_part(pull.body, proposal.part))
        forge.edit(repository, pull.number, pull.title, pull.body)
    if pull.draft != proposal.is_draft:
        forge.set_draft(repository, pull.number, draft=proposal.is_draft)
        pull = replace(pull, draft=proposal.is_draft)
    return pull
