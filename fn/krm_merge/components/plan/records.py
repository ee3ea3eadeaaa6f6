"""Plans and observed pull requests as resources; `docs/crds` says what their fields mean."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from krm_merge.components.graph import group_label, resource_name
from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.konflux.reading import OWN_VERSION
from krm_merge.components.plan.model import Plan, reference
from krm_merge.forges.interface import same_repository
from krm_merge.text import Object, Value

KIND: Final = "PullRequestPlan"
PULL_REQUEST: Final = "PullRequest"
LOCAL_CONFIG: Final = "config.kubernetes.io/local-config"
_LABEL = "test.appstudio.openshift.io/pr-group-sha"


@dataclass(frozen=True, slots=True)
class DigestPolicy:
    """The files that are searched for digests (C5)."""

    files: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def plan_resource(plan: Plan, policy: DigestPolicy) -> Object:
    """The resource of a plan, without empty fields."""
    target = plan.target
    spec: Object = {
        "repository": target.repository,
        "sourceBranch": plan.branch,
        "targetBranch": plan.base,
        "application": target.dependant.application,
        "components": [{"name": target.key.name, "context": target.dependant.context}],
        "group": plan.group,
        "state": plan.state,
        "reason": plan.closed,
        "draft": plan.draft,
        "triggers": [
            _compact(
                component=trigger.component.name,
                pullRequest=_reference(trigger.pull_request),
                state=trigger.state,
                digest=trigger.digest,
                builtSHA=trigger.commit,
                failure=trigger.failure,
            )
            for trigger in plan.triggers
        ],
        "waitingFor": [
            _compact(component=wait.component.name, pullRequest=_reference(wait.pull_request), until=wait.until)
            for wait in plan.waiting
        ],
        "commits": _commits(plan),
        "digest": _compact(
            files=list(policy.files),
            exclude=list(policy.exclude),
        ),
        "actions": list(plan.actions),
        "title": plan.title,
        "description": f"{plan.description}\n",
    }
    if plan.pull_request is not None:
        spec["number"] = plan.pull_request.number
    marks: Object = {"labels": {_LABEL: group_label(plan.group)}, "annotations": {LOCAL_CONFIG: "true"}}
    name = resource_name(target.suffix, plan.group)
    head = resource_head(OWN_VERSION, KIND, name, target.key.namespace, **marks)
    return {**head, "spec": _compact(**spec)}


def resource_head(api_version: str, kind: str, name: str, namespace: str, **metadata: Value) -> Object:
    """The first fields of a new resource, without empty metadata."""
    return {"apiVersion": api_version, "kind": kind, "metadata": _compact(name=name, namespace=namespace, **metadata)}


def _commits(plan: Plan) -> list[Value]:
    commits: list[Value] = [
        _compact(
            kind="synthetic",
            pullRequest=copy.pull_request,
            headSHA=copy.head,
            targetBranch=copy.target_branch,
            paths=list(copy.paths),
        )
        for copy in plan.synthetic
    ]
    for edit in plan.digests:
        named = _compact(kind="digest", component=edit.component.name, repositories=list(edit.repositories))
        more = _compact(
            tags=list(edit.tags),
            otherDigests=list(edit.other_digests),
            otherTags=list(edit.other_tags),
        )
        commits.append({**named, "from": list(edit.replaceable), "to": edit.digest, **more})
    return commits


def pull_request_resource(pull: PullRequest, name: str, namespace: str) -> Object:
    """An observed pull request as a resource."""
    return {
        **resource_head(OWN_VERSION, PULL_REQUEST, name, namespace, annotations={LOCAL_CONFIG: "true"}),
        "spec": _compact(
            repository=pull.repository,
            number=pull.number,
            sourceBranch=pull.source_branch,
            targetBranch=pull.target_branch,
            title=pull.title,
            description=pull.body,
        ),
        "status": {
            **_compact(state=pull.state),
            "draft": pull.draft,
            **_compact(headSHA=pull.head, mergeSHA=pull.merge_commit, mergedAt=pull.merged_at, author=pull.author),
            **_sorted_lists(changedFiles=pull.changed),
            "userCommits": pull.user_commits,
            **_compact(plannedDigests=[{"component": name, "digest": to} for name, to in pull.planned_digests]),
            **_sorted_lists(branches=pull.branches),
            **_compact(defaultBranch=pull.default_branch),
        },
    }


def pull_request_name(pull: PullRequest) -> str:
    """A name for the resource of an observed pull request."""
    owner, _, name = same_repository(pull.repository).rpartition("/")
    return resource_name(owner.rpartition("/")[2], name, str(pull.number))


def _reference(pull: PullRequest | None) -> str:
    return reference(pull) if pull is not None else ""


def _compact(**fields: Value) -> Object:
    return {name: value for name, value in fields.items() if value not in ("", [], {})}


def _sorted_lists(**fields: Collection[str] | None) -> Object:
    return {name: list(value) for name, value in fields.items() if value is not None}
