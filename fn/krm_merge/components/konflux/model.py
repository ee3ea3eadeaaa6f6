"""The input of plans: Components, their builds and their pull requests, as observed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from krm_merge.forges.addresses import same_repository
from krm_merge.forges.interface import PullRequestState

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
class ComponentVersion:
    """A version of a Component: the branch that it is built from, and its directory there.

    `digest`, `promoted` and `commit` are of its promoted build, as a Component has those of its first version.
    """

    name: str
    branch: str
    context: str = "."
    digest: str = ""
    promoted: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """A Component as declared.

    `repository` is the URL of its git repository, `branch` the one that it is built from ('' where not said), `context`
    its directory there ('.' for all). `image` is the name of its image without tag and digest, `digest` the one that
    was promoted last ('' before the first), of a build of `commit` that started at `promoted`. `tags` are those that
    the Component itself gives its image, `released_as` names under which the image is released. `depends_on` and
    `nudges` hold names of other Components, as written. `simple_branch` says that those it nudges in one repository
    share their pull requests. `versions` are those that it declares; branch and context are of the first. `is_declared`
    says that only its specification has the digest, which may be an old one.
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
    simple_branch: bool = False
    versions: tuple[ComponentVersion, ...] = ()
    is_declared: bool = False


@dataclass(frozen=True, slots=True)
class Nudge:
    """An edge of a NudgeConfig: builds of `source` nudge `target`, which so depends on it.

    `validated` says that they do so only when their tests have passed; a nudge that is `derived` from another
    declaration declares no edge itself.
    """

    namespace: str
    source: str
    target: str
    validated: bool = False
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """A build of a Component. `started` and `completed` are times as text that sorts (RFC 3339, UTC).

    `source_branch` is the branch of the pull request, `pull_request` its number, 0 for none; of a push it is the pull
    request whose merge was pushed. `manifests` are the digests of single architectures that `digest` is the index of.
    `branch_label` is how a label writes the target branch or its ref, if no other field has it. `tag` is the tag of the
    image.
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
    manifests: tuple[str, ...] = ()
    branch_label: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as observed. `changed` are the paths that it changes, None where that was not observed.

    `user_commits` says that people added commits to a branch that was written for them; `branches` are all branches of
    its repository, None where not observed, and `default_branch` is its default branch. `merged_at` is a time as builds
    have it. Both are '' where not observed.
    """

    name: str
    repository: str
    number: int
    source_branch: str
    target_branch: str
    state: PullRequestState = "open"
    draft: bool = False
    head: str = ""
    merge_commit: str = ""
    title: str = ""
    description: str = ""
    author: str = ""
    changed: tuple[str, ...] | None = None
    user_commits: bool = False
    branches: tuple[str, ...] | None = None
    merged_at: str = ""
    default_branch: str = ""

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
