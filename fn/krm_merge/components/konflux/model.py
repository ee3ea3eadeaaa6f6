"""The input of plans as values (rules CR12, CR13, I7).

Components with the directories that they are built from, builds, images and pull requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from posixpath import commonpath, normpath
from typing import Final, Literal, TypeAlias

from krm_merge.forges.interface import ForgePullRequest, same_repository
from krm_merge.merge import image_repository

DIGEST_PATTERN: Final = r"sha256:[0-9a-f]{64}(?![0-9A-Za-z_])"
TAG_PATTERN: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
_HUB: Final = ("docker.io", "index.docker.io")


def tag_of(reference: str) -> str:
    """The tag of an image reference, '' where it has none."""
    return reference.partition("@")[0][len(image_repository(reference)) + 1 :]


def digest_of(reference: str) -> str:
    """The digest of an image reference, '' where it has none."""
    return reference.partition("@")[2]


def is_digest(text: str) -> bool:
    """Whether the whole text is a digest."""
    return re.fullmatch(DIGEST_PATTERN, text) is not None


def spellings(repository: str) -> tuple[str, ...]:
    """All names of an image repository that always mean the same.

    Docker Hub has several: with `library/` or without, and with its two hosts. A short name (`x`, `org/x`) does not
    belong to them, since each machine resolves it by its own configuration: only the same short name matches it.
    """
    host, _, path = repository.partition("/")
    if host not in _HUB or not path:
        return (repository,)
    name = path.removeprefix("library/")
    paths = (path,) if "/" in name else (name, f"library/{name}")
    return tuple(f"{hub}/{each}" for hub in _HUB for each in paths)


def normalise(context: str) -> str:
    """The normal spelling of a directory, '.' for the whole repository.

    Raises:
        ValueError: The directory is outside the repository.
    """
    directory = normpath(f"./{context}")
    if directory.partition("/")[0] == "..":
        raise ValueError(f"the context {context!r} leaves the repository; name a directory inside it")
    return directory


def touches(context: str, files: Iterable[str]) -> bool:
    """Whether a change of these files concerns a directory; of a renamed file both names are given (CR12)."""
    directory = normalise(context)
    # A Component of the whole repository is built for every event, even for a commit without changes.
    return directory == "." or any(file.startswith(f"{directory}/") for file in files)


def common(contexts: Iterable[str]) -> str:
    """The deepest directory that holds all these, '.' where they share none (I7)."""
    return commonpath(list(map(normalise, contexts)) or ["."]) or "."


BuildEvent: TypeAlias = Literal["pull_request", "push", "merge_queue"]
"""Why a build ran. A merge queue builds what may be merged: it counts as not merged yet."""
BuildOutcome: TypeAlias = Literal["succeeded", "failed", "running"]


@dataclass(frozen=True, slots=True, order=True)
class ComponentKey:
    """Identity of a Component: namespace and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As messages name it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Component:
    """A Component as declared.

    `repository` is the URL of its git repository, `branch` the one that it is built from ('' where not said), `context`
    its directory there ('.' for all). `image` is the name of its image without tag and digest, `digest` the one that
    was promoted last ('' before the first), of a build of `commit` that started at `promoted`. `tags` are those that
    the Component itself gives its image, `released_as` names under which the image is released. `depends_on` and
    `nudges` hold names of other Components, as written. `is_declared` says that only its specification has the
    digest, which may be an old one.
    """

    key: ComponentKey
    application: str
    repository: str = ""
    branch: str = ""
    context: str = "."
    image: str = ""
    digest: str = ""
    promoted: str = ""
    released_as: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    nudges: tuple[str, ...] = ()
    deleted: bool = False
    commit: str = ""
    tags: tuple[str, ...] = ()
    is_declared: bool = False


@dataclass(frozen=True, slots=True)
class Nudge:
    """An edge of a NudgeConfig: builds of `source` nudge `target`, which so depends on it."""

    namespace: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Build:
    """A build of a Component. `started` and `completed` are times as text that sorts (RFC 3339, UTC).

    `source_branch` is the branch of the pull request, `pull_request` its number, 0 for none; of a push it is the pull
    request whose merge was pushed. `branch_label` is how a label writes the target branch or its ref, if no other field
    has it. `tag` is the tag of the image.
    """

    name: str
    component: ComponentKey
    event: BuildEvent
    outcome: BuildOutcome
    repository: str
    revision: str
    source_branch: str
    target_branch: str
    pull_request: int = 0
    image: str = ""
    digest: str = ""
    started: str = ""
    completed: str = ""
    branch_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest(ForgePullRequest):
    """A pull request as observed. `changed` are the paths that it changes, None where that was not observed.

    `user_commits` says that people added commits to a branch that was written for them; `branches` are all branches of
    its repository, None where not observed, and `default_branch` is its default branch. `merged_at` is a time as builds
    have it. Both are '' where not observed. `planned_digests` are names of Components and the digests that our commits
    on its branch set: it was planned, even if people removed our block from its description.
    """

    name: str
    repository: str
    changed: tuple[str, ...] | None = None
    user_commits: bool = False
    branches: tuple[str, ...] | None = None
    default_branch: str = ""
    planned_digests: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> tuple[str, int]:
        """Its identity."""
        return same_repository(self.repository), self.number


_NOT_IN_LABEL = re.compile(r"[^0-9A-Za-z.]+")
_CUT_LABEL = 60


def is_label_of(label: str, branch: str) -> bool:
    """Whether a label may be the name of a branch or its ref.

    Labels hold no slash, and only the end of long names. Source: Pipelines as Code, CleanValueKubernetes;
    which characters it writes instead, and how many it keeps, depends on its version.
    """
    written, ref = _as_in_label(label), _as_in_label(f"refs/heads/{branch}")
    return written in (_as_in_label(branch), ref) or (len(label) > _CUT_LABEL and ref.endswith(written))


def _as_in_label(text: str) -> str:
    return _NOT_IN_LABEL.sub("-", text).strip("-.")
