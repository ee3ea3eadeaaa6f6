"""Jobs for workers and their outcomes: small values that can be pickled, without tokens and texts."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from posixpath import basename, dirname, join
from typing import Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.campaign import Campaign
from krm_merge.git.program import GitError, GitTimeoutError
from krm_merge.krm import ResourceRef
from krm_merge.packages import UnavailableError
from krm_merge.report import DecisionRecord
from krm_merge.safe_text import line

TargetState: TypeAlias = Literal["pending", "unchanged", "clean", "conflicts", "refused", "failed"]
"""What became of the merge of a target."""

STATES: tuple[TargetState, ...] = get_args(TargetState)
LEFT_ALONE: frozenset[TargetState] = frozenset(("conflicts", "refused"))
"""Nothing of such a target is written."""

NEED_ATTENTION: frozenset[TargetState] = LEFT_ALONE | {"failed"}

FailureClass: TypeAlias = Literal["transient", "permanent", "poison", ""]


SECONDS_FOR_A_MERGE = 600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What all jobs of a run have in common; a worker gets it once.

    `commit` is that of the campaign's version, `date` when it was committed, as git writes it. `cache` and `temporary`
    are directories of the campaign, `seconds` are for one merge.
    """

    campaign: Campaign
    commit: str
    date: str
    cache: str
    temporary: str
    seconds: float = SECONDS_FOR_A_MERGE


@dataclass(frozen=True, slots=True)
class Job:
    """The merge of one target.

    `is_dirty` says that git sees changes in the directory, `ours` is the digest of what the last run left there.
    """

    target: str
    is_dirty: bool = False
    ours: str = ""
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class TargetConflict:
    """One conflict of a target; `package` is the directory in the target."""

    package: str
    record: DecisionRecord

    @property
    def resource(self) -> ResourceRef:
        """The resource that it is in, without a kind for a file."""
        return self.record.resource or ResourceRef("", "", "")


def is_undecided(conflict: DecisionRecord) -> bool:
    """Whether neither a rule nor a choice settled it: it is open, or the policy said who wins."""
    return conflict.settled_by in ("", "policy")


@dataclass(frozen=True, slots=True)
class TargetMerge:
    """The last merge of a target.

    `seen` is what a look at the target compares: of a directory the digest of its files, of a repository its commit.
    `digest` is of the files as they are now.
    """

    target: str
    state: TargetState = "pending"
    message: str = ""
    failure: FailureClass = ""
    seen: str = ""
    digest: str = ""
    files: int = 0
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetOutcome(TargetMerge):
    """What became of a target.

    `commit` is what was committed for the branch, `body` the report as the text of a pull request.
    """

    commit: str = ""
    conflicts: tuple[TargetConflict, ...] = ()
    body: str = ""


_PASSES = re.compile(
    r"could not resolve host|connection (?:refused|reset|timed out|closed)|failed to connect|timed out|early eof|"
    r"rpc failed|returned error: (?:429|5\d\d)|remote end hung up|unexpected disconnect|rate limit|"
    r"unable to create '[^']*\.lock'|temporary failure|resource temporarily unavailable|network is unreachable",
    re.IGNORECASE,
)
_PASSING_ERRORS = frozenset((errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.EINTR, errno.ETIMEDOUT, errno.EBUSY))


def failure_of(error: Exception) -> tuple[FailureClass, str]:
    """The class of a failure, and what is said of it."""
    if isinstance(error, UnavailableError | GitTimeoutError | TimeoutError):
        return "transient", line(str(error))
    if isinstance(error, KrmMergeError | GitError):
        text = line(str(error))
        return ("transient" if _PASSES.search(text) else "permanent"), text
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        passes = error.errno in _PASSING_ERRORS
        return ("transient" if passes else "permanent"), line(f"{place}{error.strerror or error}")
    return "permanent", line(f"internal error: {type(error).__name__}: {error}")


def about_target(message: str, target: str) -> str:
    """A message about a target without the target's name, for lines that begin with it."""
    for name in [target, *_names_of(target)]:
        message = message.removeprefix(f"{name}: ")
    # Git quotes it.
    for quoted in (f"repository '{target}'", f"'{target}'", f"'{target}/'"):
        message = message.replace(quoted, "the repository")
    return message


def grouped_by(message: str, target: str) -> str:
    """The message without what differs between targets, so that equal failures are counted together."""
    patterns = [re.escape(name) for name in _names_of(target)]
    # What is prepared for a directory is beside it.
    patterns.append(rf"{re.escape(join(dirname(target), ''))}\.{re.escape(basename(target))}\.krm-merge")
    own_names = "|".join(rf"(?<!\w){pattern}(?!\w)" for pattern in patterns)
    return re.sub(r"\b[0-9a-f]{7,64}\b", "…", re.sub(own_names, "…", message))


def _names_of(target: str) -> list[str]:
    """What messages call a target: forges name a repository without their host."""
    return list(filter(None, (target, urlsplit(target).path.strip("/").removesuffix(".git"))))
