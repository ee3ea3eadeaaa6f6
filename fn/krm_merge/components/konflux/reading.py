"""Reads Components, builds and pull requests from resources; all problems name their field (rules CR33, I16).

Source of the fields: Konflux's API (appstudio.redhat.com, in future konflux-ci.dev), Tekton and Pipelines as Code.
Neither Renovate's configuration (CR33) nor `status.build-nudged-by`, which follows from the graph (I16), is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from krm_merge.components.konflux.model import (
    Build,
    BuildEvent,
    BuildOutcome,
    Component,
    ComponentKey,
    Nudge,
    PullRequest,
    digest_of,
    is_digest,
    normalise,
    tag_of,
)
from krm_merge.errors import KrmMergeError
from krm_merge.forges.interface import PullRequestState
from krm_merge.krm import format_path, value_at
from krm_merge.merge import image_repository
from krm_merge.safe_text import bare_address
from krm_merge.startup import split_names
from krm_merge.text import Value

Place: TypeAlias = "tuple[str | int, ...]"
"""Names of fields and positions in lists, from the top of a resource."""

_END_OF_TIME = 253402300800  # the year 10000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\Z", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}\Z")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
# Source: git-check-ref-format(1). The branch of a fork comes with its owner and a colon.
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^?*\[\\]|\.\.|@\{|^-")
EXPECTED_DIGEST = "sha256: and 64 hexadecimal digits are expected, 0 to 9 and a to f"


class UnreadableError(KrmMergeError, ValueError):
    """A resource with invalid fields.

    `problems` are pairs of a field and what is expected there; `field` is the first of these fields.
    """

    def __init__(self, problem: str, field: str, *more: tuple[str, str]) -> None:
        """The message begins with the field; `more` are further fields and their problems."""
        self.problems = ((field, problem), *more)
        super().__init__("; ".join(f"{place}: {what}" for place, what in self.problems))
        self.field = field


class Fields:
    """The fields of a resource. Null counts as missing; `check` raises the collected problems."""

    def __init__(self, value: Value) -> None:
        """Takes the resource; reads nothing yet."""
        self._value = value
        self._problems: dict[str, str] = {}

    def wrong(self, problem: str, *place: str | int) -> None:
        """Records a problem; only the first problem of a field is kept."""
        self._problems.setdefault(format_path(place), problem)

    def check(self) -> None:
        """Raises UnreadableError with the problems of the fields that were read, if there are any."""
        if self._problems:
            (field, problem), *more = self._problems.items()
            raise UnreadableError(problem, field, *more)

    def at(self, *place: str | int) -> Value:
        """The value at a place, None if it is missing."""
        value = self._value
        for depth, step in enumerate(place):
            if value is None:
                return None
            if isinstance(step, int):
                value = value[step] if isinstance(value, list) else None
            elif isinstance(value, dict):
                value = value.get(step)
            else:
                self.wrong("a mapping is expected", *place[:depth])
                return None
        return value

    def text(self, *place: str | int) -> str:
        """A text, '' if it is missing."""
        value = self.at(*place)
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            self.wrong(f"a string is expected; put {str(value).lower()} in quotes", *place)
        elif isinstance(value, int | float):
            self.wrong("a string is expected; put the number in quotes", *place)
        elif value is not None:
            self.wrong("a string is expected", *place)
        return ""

    def require(self, *place: str | int) -> str:
        """A required text."""
        value = self.text(*place)
        if not value:
            self.wrong("a string is expected", *place)
        return value

    def flag(self, *place: str | int) -> bool:
        """A boolean; False if it is missing."""
        value = self.at(*place)
        if not isinstance(value, bool | None):
            self.wrong("true or false is expected, without quotes", *place)
        return value is True

    def texts(self, *place: str | int) -> tuple[str, ...] | None:
        """A list of texts, none of them empty; None if it is missing."""
        value = self.at(*place)
        if value is None:
            return None
        if not isinstance(value, list):
            self.wrong("a list of strings is expected", *place)
            return ()
        return tuple(self.require(*place, position) for position in range(len(value)))

    def maps(self, *place: str | int) -> list[Place]:
        """The places of the maps in a list."""
        value = self.at(*place)
        if not isinstance(value, list | None):
            self.wrong("a list of mappings is expected", *place)
            return []
        places: list[Place] = []
        for position, item in enumerate(value or ()):
            if isinstance(item, dict):
                places.append((*place, position))
            else:
                self.wrong("a mapping is expected", *place, position)
        return places

    def choice(self, choices: Sequence[str], *place: str | int) -> str:
        """One of the known texts; the first if it is missing."""
        written = self.text(*place) or choices[0]
        if written not in choices:
            self.wrong(f"{' or '.join(choices)} is expected", *place)
        return written

    # ---- texts of a certain form -------------------------------------------------------------------------------

    def url(self, *place: str | int) -> str:
        """The URL of a git repository, '' if it is missing."""
        written = self.text(*place)
        if written.startswith("-"):
            self.wrong("the URL of a git repository is expected", *place)
        return written

    def branch(self, *place: str | int) -> str:
        """The name of a branch, '' if it is missing."""
        written = self.text(*place)
        if _NO_BRANCH.search(written):
            self.wrong("the name of a branch is expected", *place)
        return written

    def commit(self, *place: str | int) -> str:
        """The id of a commit, '' if it is missing."""
        written = self.text(*place)
        if written and not _COMMIT.match(written):
            self.wrong("the full id of a commit is expected, 40 or 64 of the digits 0 to 9 and a to f", *place)
        return written

    def digest(self, *place: str | int) -> str:
        """The digest of an image, '' if it is missing."""
        written = self.text(*place)
        if written and not is_digest(written):
            self.wrong(EXPECTED_DIGEST, *place)
        return written

    def image(self, *place: str | int) -> str:
        """The reference to an image, with a digest or without, '' if it is missing; surrounding space is ignored."""
        written = self.text(*place).strip()
        if "@" in written and not is_digest(digest_of(written)):
            self.wrong(f"after the @ {EXPECTED_DIGEST}", *place)
        return written

    def directory(self, *place: str | int) -> str:
        """A directory of a repository as it is written, '' if it is missing."""
        written = self.text(*place)
        try:
            normalise(written)
        except ValueError as error:
            self.wrong(str(error), *place)
        return written

    def time(self, *place: str | int) -> str:
        """A time as text that sorts, '' if it is missing; seconds since 1970 are converted."""
        written = self._number_or_text(*place)
        if _NUMBER.match(written) and int(written) < _END_OF_TIME:
            return datetime.fromtimestamp(int(written), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if written and not _TIME.match(written):
            self.wrong("a time is expected, such as 2024-01-31T12:00:00Z", *place)
        return written

    def pull_request_number(self, *place: str | int) -> int:
        """The number of a pull request, in quotes or not; 0 if it is missing."""
        written = self._number_or_text(*place)
        if _NUMBER.match(written):
            return int(written)
        if written:
            self.wrong("the number of a pull request is expected", *place)
        return 0

    def _number_or_text(self, *place: str | int) -> str:
        value = self.at(*place)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(*place)


def text(value: Value, *path: str) -> str:
    """The text or number at a path as text, '' if it is missing."""
    field = value_at(value, path)
    return str(field) if isinstance(field, str | int) and not isinstance(field, bool) else ""


def items(value: Value, *path: str) -> list[Value]:
    """The list at a path, empty if it is missing."""
    field = value_at(value, path)
    return field if isinstance(field, list) else []


GROUPS: Final = ("appstudio.redhat.com", "konflux-ci.dev")
OWN_GROUP: Final = "components.krm-merge.dev"
OWN_VERSION: Final = f"{OWN_GROUP}/v1alpha1"
DEPENDS_ON: Final = ("dependsOn", "depends-on", "depends on")
"""Names of the field with the dependencies; the first is ours, the last the specification's."""
DEPENDS_ON_ANNOTATION: Final = f"{OWN_GROUP}/depends-on"
DERIVED_NUDGES: Final = f"{OWN_GROUP}/derived-nudges"
"""Nudges that `configure` derived from an edge, and that therefore declare no edge (CR6)."""

LABELS: Final = ("appstudio.openshift.io", "build.konflux-ci.dev")
"""The groups of the labels by which a PipelineRun names its Component."""
_PAC = "pipelinesascode.tekton.dev"
_BUILD = "build.appstudio.redhat.com"
_HEADS = "refs/heads/"
_TAG_IN_LABEL = "refs-tags-"
_NO_REVISION = re.compile(r"HEAD\Z|(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_OUTCOMES: Final[Mapping[str, BuildOutcome]] = {"True": "succeeded", "False": "failed"}
_PROMOTED = "test.appstudio.openshift.io/lastbuilttime"


def read_component(value: Value) -> Component:
    """A Component. Raises UnreadableError."""
    fields = Fields(value)
    source: Place = ("spec", "source")
    # The old model, and the one with versions, of which the first counts.
    first = next(iter(fields.maps(*source, "versions")), (*source, "git"))
    git: Place = (*source, "git")
    annotations: Place = ("metadata", "annotations")
    promoted, image = fields.image("status", "lastPromotedImage"), fields.image("spec", "containerImage")
    commit, promoted_at = fields.text("status", "lastBuiltCommit"), fields.time(*annotations, _PROMOTED)
    named = split_names(fields.text(*annotations, DEPENDS_ON_ANNOTATION))
    derived = split_names(fields.text(*annotations, DERIVED_NUDGES))
    declared = [name for field in DEPENDS_ON for name in fields.texts("spec", field) or ()]
    component = Component(
        ComponentKey(fields.text("metadata", "namespace"), fields.require("metadata", "name")),
        fields.text("spec", "application"),
        _first([bare_address(fields.url(*place, "url")) for place in (git, source)]),
        _first([_revision_branch(fields.branch(*place, "revision")) for place in (git, first)]),
        _first([fields.directory(*place, "context") for place in (git, first)]) or ".",
        image_repository(image or promoted),
        digest_of(promoted) or digest_of(image),
        promoted_at,
        (),
        tuple(dict.fromkeys([*declared, *named])),
        tuple(name for name in fields.texts("spec", "build-nudges-ref") or () if name not in derived),
        bool(fields.text("metadata", "deletionTimestamp")),
        commit,
        tuple(dict.fromkeys(filter(None, (tag_of(image), tag_of(promoted))))),
        is_declared="@" in image and not (promoted or commit or promoted_at),
    )
    fields.check()
    return component


def _first(texts: Iterable[str]) -> str:
    """The first value that is not empty."""
    return next(filter(None, texts), "")


def read_nudges(value: Value) -> list[Nudge]:
    """The edges of a NudgeConfig. Raises UnreadableError."""
    fields = Fields(value)
    namespace = fields.text("metadata", "namespace")
    nudges = [
        Nudge(namespace, fields.require(*place, "from"), fields.require(*place, "to"))
        for place in fields.maps("spec", "nudges")
    ]
    fields.check()
    return nudges


def read_build(value: Value) -> Build | None:
    """A PipelineRun that builds a Component; None if it does something else, or is only a definition in git.

    Raises UnreadableError.
    """
    fields = Fields(value)
    labels, annotations = ("metadata", "labels"), ("metadata", "annotations")
    component = next((name for group in LABELS if (name := fields.text(*labels, f"{group}/component"))), "")
    if not component or fields.at("status") in (None, {}):
        fields.check()
        return None

    def pac_field(name: str) -> str:
        return annotation_field(name) or label_field(name)

    def annotation_field(name: str) -> str:
        return fields.text(*annotations, f"{_PAC}/{name}")

    def label_field(name: str) -> str:
        return fields.text(*labels, f"{_PAC}/{name}")

    numbers = (
        (*annotations, f"{_PAC}/pull-request"),
        (*labels, f"{_PAC}/pull-request"),
        (*annotations, f"{_BUILD}/pull_request_number"),
    )
    number = next(filter(None, [fields.pull_request_number(*place) for place in numbers]), 0)
    results = _results(fields)

    def result(name: str) -> str:
        # The output of `echo` ends in a newline.
        return fields.text(*results[name]).strip() if name in results else ""

    digest = result("IMAGE_DIGEST") if is_digest(result("IMAGE_DIGEST")) else ""
    source = pac_field("source-branch").removeprefix(_HEADS)
    event = _event(pac_field("event-type"), source, bool(number))
    # A push has one branch, source and target alike. Only annotations hold its unchanged name.
    is_push = event == "push"
    target = (
        annotation_field("branch")
        or fields.text(*annotations, f"{_BUILD}/target_branch")
        or (annotation_field("source-branch") if is_push else "")
    )
    label = label_field("branch") or (label_field("source-branch") if is_push else "")
    build = Build(
        fields.text("metadata", "name"),
        ComponentKey(fields.text("metadata", "namespace"), component),
        event,
        _OUTCOMES.get(_conditions(fields).get("Succeeded", ""), "running"),
        pac_field("repo-url") or result("CHAINS-GIT_URL"),
        pac_field("sha") or fields.text(*annotations, f"{_BUILD}/commit_sha") or result("CHAINS-GIT_COMMIT"),
        source,
        _branch(target),
        number,
        image_repository(result("IMAGE_URL")),
        digest,
        fields.time("status", "startTime") or fields.time("metadata", "creationTimestamp"),
        fields.time("status", "completionTime"),
        "" if target or label.startswith(_TAG_IN_LABEL) else label,
    )
    fields.check()
    return build


def strange_digest(value: Value) -> str:
    """The field of a build that holds an invalid digest, '' for none: builds are immutable, so this one is skipped."""
    fields = Fields(value)
    place = _results(fields).get("IMAGE_DIGEST")
    written = fields.text(*place).strip() if place is not None else ""
    return format_path(place) if place is not None and written and not is_digest(written) else ""


def _results(fields: Fields) -> dict[str, Place]:
    """The places of results that are texts; results of other tasks may be lists and maps."""
    places: dict[str, Place] = {}
    for item in fields.maps("status", "results"):
        place = (*item, "value")
        if not isinstance(fields.at(*place), list | dict):
            fields.text(*place)
            places[fields.text(*item, "name")] = place
    return places


def _revision_branch(revision: str) -> str:
    """The branch that a revision names, '' for a commit and for a tag: these may be on any branch."""
    return "" if _NO_REVISION.match(revision) else _branch(revision)


def _branch(ref: str) -> str:
    """The branch of a ref, '' for a tag: that may be on any branch."""
    branch = ref.removeprefix(_HEADS)
    return "" if branch.startswith("refs/") else branch


def _event(event_type: str, source: str, has_number: bool) -> BuildEvent:
    if source.startswith("gh-readonly-queue/"):
        return "merge_queue"
    if event_type.lower() in ("push", "incoming") or not has_number:
        return "push"
    return "pull_request"


def _conditions(fields: Fields) -> dict[str, str]:
    places = fields.maps("status", "conditions")
    return {fields.text(*place, "type"): fields.text(*place, "status") for place in places}


def read_pull_request(value: Value) -> PullRequest:
    """A resource of our kind PullRequest. Raises UnreadableError."""
    fields = Fields(value)
    number = fields.at("spec", "number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        fields.wrong("the number of the pull request is expected", "spec", "number")
        number = 0
    for field in ("repository", "sourceBranch", "targetBranch"):
        fields.require("spec", field)
    source, target = fields.branch("spec", "sourceBranch"), fields.branch("spec", "targetBranch")
    if source and source == target:
        fields.wrong("it is the target branch; another one is expected", "spec", "sourceBranch")
    state = fields.text("status", "state") or "open"
    states: dict[str, PullRequestState] = {"open": "open", "closed": "closed", "merged": "merged"}
    if state not in states:
        fields.wrong(f"expected one of {', '.join(states)}, found {state}", "status", "state")
    pull_request = PullRequest(
        name=fields.text("metadata", "name"),
        repository=bare_address(fields.url("spec", "repository")),
        number=number,
        source_branch=source,
        target_branch=target,
        state=states.get(state, "open"),
        draft=fields.flag("status", "draft"),
        head=fields.commit("status", "headSHA"),
        merge_commit=fields.commit("status", "mergeSHA"),
        title=fields.text("spec", "title"),
        body=fields.text("spec", "description"),
        author=fields.text("status", "author"),
        changed=fields.texts("status", "changedFiles"),
        user_commits=fields.flag("status", "userCommits"),
        branches=fields.texts("status", "branches"),
        merged_at=fields.time("status", "mergedAt"),
        default_branch=fields.branch("status", "defaultBranch"),
        planned_digests=tuple(
            (fields.require(*place, "component"), fields.digest(*place, "digest"))
            for place in fields.maps("status", "plannedDigests")
        ),
    )
    fields.check()
    return pull_request
