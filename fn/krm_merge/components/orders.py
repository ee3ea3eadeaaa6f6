"""Plans read to be carried out. They may have been edited, or come from anybody: nothing in them is taken on trust."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from krm_merge.components.description import told_by
from krm_merge.components.observed import UnreadableError
from krm_merge.components.planned import Action
from krm_merge.components.resources import DigestPolicy
from krm_merge.text.values import Value

# Source: git-check-ref-format(1); and no branch may be taken for an option or for HEAD.
_NO_BRANCH = re.compile(r"^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|/\.|@\{|\.lock(?:/|$)|[/.]$|^(?:@|HEAD|refs/.*)?$")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Copy:
    """What a pull request changes at some paths, to be copied: its head, and the branch that it is for."""

    pull_request: str
    head: str
    target_branch: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Digests of a component to be replaced in the files of a directory."""

    component: str
    repositories: tuple[str, ...]
    known: frozenset[str]
    digest: str
    manifests: frozenset[str] = frozenset()

    @property
    def image(self) -> str:
        """How messages name the image."""
        return self.repositories[0] if self.repositories else self.component


@dataclass(frozen=True, slots=True)
class Order:
    """A plan as it is carried out.

    `contexts` are the directories of the dependants, `number` is the pull request that was open when it was planned, 0
    for none, and `closed` is why it shall be closed.
    """

    name: str
    repository: str
    branch: str
    group: str
    base: str
    contexts: tuple[str, ...]
    number: int
    closed: str
    draft: bool
    title: str
    description: str
    actions: frozenset[str]
    copies: tuple[Copy, ...]
    edits: tuple[Edit, ...]
    policy: DigestPolicy = field(default_factory=DigestPolicy)


def is_commit(name: str) -> bool:
    """Whether it is the id of a commit, and nothing that git would take for something else."""
    return _COMMIT.match(name) is not None


def is_branch(name: str) -> bool:
    """Whether git may have a branch of this name."""
    return _NO_BRANCH.search(name) is None


def _branch(name: str) -> str:
    if not is_branch(name):
        raise ValueError("it is no name of a branch")
    return name


def _commit(name: str) -> str:
    if not is_commit(name):
        raise ValueError("the whole id of a commit is expected, 40 or 64 hexadecimal digits")
    return name


def _digest(name: str) -> str:
    if _DIGEST.match(name) is None:
        raise ValueError("sha256: and 64 hexadecimal digits are expected")
    return name


def _described(text: str) -> str:
    if told_by(text) is None:
        raise ValueError("the block between the two comments is missing, by which the pull request is found again")
    return text


Branch = Annotated[str, AfterValidator(_branch)]
Commit = Annotated[str, AfterValidator(_commit)]
Digest = Annotated[str, AfterValidator(_digest)]
Text = Annotated[str, Field(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Component(_Model):
    name: Text
    context: Text = "."


class _Synthetic(_Model):
    kind: Literal["synthetic"]
    pullRequest: Text
    headSHA: Commit
    targetBranch: Branch
    paths: list[Text]


class _DigestCommit(_Model):
    kind: Literal["digest"]
    component: Text
    repositories: list[Text] = []
    source: list[Digest] = Field([], alias="from")
    to: Digest
    manifests: list[Digest] = []


class _Policy(_Model):
    match: Literal["known", "any"] = "known"
    multiDigestFile: Literal["refuse", "replace"] = "refuse"
    files: list[str] = []
    exclude: list[str] = []


class _Spec(_Model):
    repository: Text
    sourceBranch: Branch
    targetBranch: Branch
    application: str = ""
    components: list[_Component] = Field(min_length=1)
    group: Text
    number: int = Field(0, ge=1)
    state: Literal["open", "closed"]
    reason: str = ""
    draft: bool
    triggers: list[dict[str, Any]] = []
    waitingFor: list[dict[str, Any]] = []
    commits: list[Annotated[_Synthetic | _DigestCommit, Field(discriminator="kind")]] = []
    digest: _Policy = _Policy()
    actions: list[Action] = []
    title: Text
    description: Annotated[str, AfterValidator(_described)]


class _Metadata(BaseModel):
    name: Text


class _Plan(_Model):
    apiVersion: Literal["components.krm-merge.dev/v1alpha1"]
    kind: Literal["PullRequestPlan"]
    metadata: _Metadata
    spec: _Spec
    status: Any = None


def read_order(value: Value) -> Order:
    """A plan from its resource. Raises UnreadableError with all that is wrong."""
    try:
        plan = _Plan.model_validate(value)
    except ValidationError as error:
        problems = [(".".join(map(str, one["loc"])), _message(one)) for one in error.errors(include_url=False)]
        rest = "".join(f"; {place}: {message}" for place, message in problems[1:])
        raise UnreadableError(f"{problems[0][1]}{rest}", problems[0][0]) from None
    spec = plan.spec
    if spec.sourceBranch == spec.targetBranch:
        raise UnreadableError("it is the target branch; another one is expected", "spec.sourceBranch")
    return Order(
        plan.metadata.name,
        spec.repository,
        spec.sourceBranch,
        spec.group,
        spec.targetBranch,
        tuple(one.context for one in spec.components),
        spec.number,
        (spec.reason or "as planned") if spec.state == "closed" else "",
        spec.draft,
        spec.title,
        spec.description,
        frozenset(spec.actions),
        tuple(
            Copy(one.pullRequest, one.headSHA, one.targetBranch, tuple(one.paths))
            for one in spec.commits
            if isinstance(one, _Synthetic)
        ),
        tuple(
            Edit(one.component, tuple(one.repositories), frozenset(one.source), one.to, frozenset(one.manifests))
            for one in spec.commits
            if isinstance(one, _DigestCommit)
        ),
        DigestPolicy(
            spec.digest.match, spec.digest.multiDigestFile, tuple(spec.digest.files), tuple(spec.digest.exclude)
        ),
    )


def _message(problem: Any) -> str:
    if problem["type"] == "extra_forbidden":
        return "there is no such field"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    text: str = problem["msg"]
    return text[0].lower() + text[1:]
