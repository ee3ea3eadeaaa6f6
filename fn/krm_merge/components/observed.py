"""Reads Components, builds and pull requests from the values of resources.

Source of the fields: Konflux's API (appstudio.redhat.com, in future konflux-ci.dev), Tekton and Pipelines as Code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from krm_merge.components.graph import Nudge
from krm_merge.components.model import (
    Build,
    Component,
    Event,
    Key,
    Outcome,
    PullRequest,
    State,
    digest_of,
    image_name,
)
from krm_merge.text.values import Value

GROUPS: Final = ("appstudio.redhat.com", "konflux-ci.dev")
OWN_GROUP: Final = "components.krm-merge.dev"
OWN_VERSION: Final = f"{OWN_GROUP}/v1alpha1"
DEPENDS_ON: Final = ("dependsOn", "depends-on", "depends on")
"""How a dependant names what it depends on; the first is ours, the last the specification's."""
DEPENDS_ON_ANNOTATION: Final = f"{OWN_GROUP}/depends-on"

_LABELS = ("appstudio.openshift.io", "build.konflux-ci.dev")
_PAC = "pipelinesascode.tekton.dev"
_BUILD = "build.appstudio.redhat.com"
_END_OF_TIME = 253402300800  # the year 10000
_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})")
_PROMOTED = "test.appstudio.openshift.io/lastbuilttime"


class UnreadableError(ValueError):
    """A resource whose fields are not what they should be. `field` is where."""

    def __init__(self, problem: str, field: str) -> None:
        """The message begins with the field."""
        super().__init__(f"{field}: {problem}")
        self.field = field


def kind_of(value: Value) -> tuple[str, str]:
    """API group and kind."""
    version = text(value, "apiVersion")
    return version.rpartition("/")[0], text(value, "kind")


def is_component(value: Value) -> bool:
    """Whether it is a Component of Konflux."""
    group, kind = kind_of(value)
    return kind == "Component" and group in GROUPS


def read_component(value: Value) -> Component:
    """A Component. Raises UnreadableError."""
    spec = at(value, "spec")
    source, git = at(spec, "source"), at(spec, "source", "git")
    versions = at(spec, "source", "versions")
    first = versions[0] if isinstance(versions, list) and versions else {}
    promoted = text(value, "status", "lastPromotedImage")
    image = text(spec, "containerImage") or promoted
    named = text(value, "metadata", "annotations", DEPENDS_ON_ANNOTATION)
    declared = [name for field in DEPENDS_ON for name in names(spec, field)]
    return Component(
        key_of(value),
        text(spec, "application"),
        text(git, "url") or text(source, "url"),
        text(git, "revision") or text(first, "revision"),
        text(git, "context") or text(first, "context") or ".",
        image_name(image),
        digest_of(promoted) or digest_of(text(spec, "containerImage")),
        _time(text(value, "metadata", "annotations", _PROMOTED)),
        (),
        tuple(dict.fromkeys([*declared, *(part.strip() for part in named.split(",") if part.strip())])),
        tuple(names(spec, "build-nudges-ref")),
        bool(text(value, "metadata", "deletionTimestamp")),
        text(value, "status", "lastBuiltCommit"),
    )


def _time(written: str) -> str:
    """A time as builds have it; Konflux writes seconds since 1970."""
    if not written.isdecimal() or int(written) >= _END_OF_TIME:
        return written
    return datetime.fromtimestamp(int(written), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_nudges(value: Value) -> list[Nudge]:
    """The edges of a NudgeConfig. Raises UnreadableError."""
    nudges = at(value, "spec", "nudges")
    if not isinstance(nudges, list | None):
        raise UnreadableError("a list is expected", "spec.nudges")
    namespace = text(value, "metadata", "namespace")
    return [Nudge(namespace, text(nudge, "from"), text(nudge, "to")) for nudge in nudges or ()]


def read_build(value: Value) -> Build | None:
    """A PipelineRun that builds a Component; None for one that does something else, or is only a definition in git."""
    labels, annotations = at(value, "metadata", "labels"), at(value, "metadata", "annotations")
    component = next((name for group in _LABELS if (name := text(labels, f"{group}/component"))), "")
    status = at(value, "status")
    if not component or not isinstance(status, dict) or not status:
        return None

    def told(name: str) -> str:
        return text(annotations, f"{_PAC}/{name}") or text(labels, f"{_PAC}/{name}")

    results = {text(result, "name"): text(result, "value") for result in items(status, "results")}
    number = told("pull-request") or text(annotations, f"{_BUILD}/pull_request_number")
    event = _event(told("event-type"), told("source-branch"), bool(number))
    digest = results.get("IMAGE_DIGEST", "")
    return Build(
        text(value, "metadata", "name"),
        Key(text(value, "metadata", "namespace"), component),
        event,
        _outcome(status),
        told("repo-url") or results.get("CHAINS-GIT_URL", ""),
        told("sha") or text(annotations, f"{_BUILD}/commit_sha") or results.get("CHAINS-GIT_COMMIT", ""),
        told("source-branch").removeprefix("refs/heads/"),
        (told("branch") or text(annotations, f"{_BUILD}/target_branch")).removeprefix("refs/heads/"),
        int(number) if number.isdecimal() else 0,
        image_name(results.get("IMAGE_URL", "")),
        digest if digest.startswith("sha256:") else "",
        text(status, "startTime") or text(value, "metadata", "creationTimestamp"),
        text(status, "completionTime"),
        tuple(found for found in _DIGEST.findall(results.get("IMAGES", "")) if found != digest),
    )


def _event(told: str, source: str, has_number: bool) -> Event:
    if source.removeprefix("refs/heads/").startswith("gh-readonly-queue/"):
        return "merge_queue"
    if told.lower() in ("push", "incoming") or not has_number:
        return "push"
    return "pull_request"


def _outcome(status: Value) -> Outcome:
    for condition in items(status, "conditions"):
        if text(condition, "type") == "Succeeded":
            found = text(condition, "status")
            return "succeeded" if found == "True" else "failed" if found == "False" else "running"
    return "running"


def read_pull_request(value: Value) -> PullRequest:
    """A PullRequest of ours. Raises UnreadableError."""
    spec, status = at(value, "spec"), at(value, "status")
    number = at(spec, "number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UnreadableError("the number of the pull request is expected", "spec.number")
    for field in ("repository", "sourceBranch", "targetBranch"):
        if not text(spec, field):
            raise UnreadableError("a text is expected", f"spec.{field}")
    state = text(status, "state") or "open"
    known: dict[str, State] = {"open": "open", "closed": "closed", "merged": "merged"}
    if state not in known:
        raise UnreadableError(f"{state} is none of open, closed, merged", "status.state")
    return PullRequest(
        text(value, "metadata", "name"),
        text(spec, "repository"),
        number,
        text(spec, "sourceBranch"),
        text(spec, "targetBranch"),
        known[state],
        at(status, "draft") is True,
        text(status, "headSHA"),
        text(status, "mergeSHA"),
        text(spec, "title"),
        text(spec, "description"),
        text(status, "author"),
        _optional(status, "changedFiles"),
        at(status, "userCommits") is True,
        _optional(status, "branches"),
    )


def key_of(value: Value) -> Key:
    """Namespace and name."""
    return Key(text(value, "metadata", "namespace"), text(value, "metadata", "name"))


def at(value: Value, *path: str) -> Value:
    """The value at a path of fields, None where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def text(value: Value, *path: str) -> str:
    """The text or number at a path as text, '' where there is none."""
    found = at(value, *path)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""


def items(value: Value, *path: str) -> list[Value]:
    """The list at a path, empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def names(value: Value, field: str) -> list[str]:
    """The texts of a list. Raises UnreadableError."""
    found = at(value, field)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise UnreadableError("a list of names of Components is expected", f"spec.{field}")
    return [str(name) for name in found]


def _optional(value: Value, field: str) -> tuple[str, ...] | None:
    found = at(value, field)
    return tuple(str(one) for one in found) if isinstance(found, list) else None
