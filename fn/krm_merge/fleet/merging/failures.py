"""Which failures pass by themselves."""

from __future__ import annotations

import errno
import re
from posixpath import basename, dirname, join
from urllib.parse import urlsplit

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.merging.job import FailureClass
from krm_merge.git.program import GitError, GitTimeoutError
from krm_merge.harmless import line
from krm_merge.packages.files.directory import UnavailableError

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


def grouped_by(message: str, target: str) -> str:
    """The message without what differs between targets, so that equal failures are counted together."""
    # Forges name a repository without their host.
    names = [target, urlsplit(target).path.strip("/").removesuffix(".git")]
    patterns = [re.escape(name) for name in names if name]
    # What is prepared for a directory is beside it.
    patterns.append(rf"{re.escape(join(dirname(target), ''))}\.{re.escape(basename(target))}\.krm-merge")
    own = "|".join(rf"(?<!\w){pattern}(?!\w)" for pattern in patterns)
    return re.sub(r"\b[0-9a-f]{7,64}\b", "…", re.sub(own, "…", message))
