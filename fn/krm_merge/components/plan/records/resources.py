"""Plans and observed pull requests as resources."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from krm_merge.components.digests.replacement import ReplacementPolicy
from krm_merge.components.graph.groups import group_label, resource_name
from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.konflux.reading import OWN_VERSION
from krm_merge.components.plan.description import reference
from krm_merge.components.plan.model import Plan
from krm_merge.forges.addresses import same_repository
from krm_merge.text.reading.values import Value

Object = dict[str, Value]

KIND: Final = "PullRequestPlan"
PULL_REQUEST: Final = "PullRequest"
LOCAL_CONFIG: Final = "config.kubernetes.io/local-config"
_LABEL = "test.appstudio.openshift.io/pr-group-sha"


@dataclass(frozen=True, slots=True)
class DigestPolicy(ReplacementPolicy):
    """How digests are replaced (C5), and the files that are searched for them."""

    files: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def plan_resource(plan: Plan, policy: DigestPolicy) -> Object:
    """The resource of a plan, without empty fields."""
    target = plan.target
    spec: Object = {
        "repository": target.repository,
        "sourceBranch": plan.branch,
        "targetBranch": plan.base,
        "application": target.application,
        "components": [{"name": one.key.name, "context": one.context} for one in target.dependants],
        "group": plan.group,
        "state": plan.state,
        "reason": plan.closed,
        "draft": plan.draft,
        "triggers": [
            _filled(
                component=one.component.name,
                pullRequest=_reference(one.pull_request),
                state=one.state,
                headSHA=one.pull_request.head if one.pull_request is not None else "",
                digest=one.digest,
            )
            for one in plan.triggers
        ],
        "waitingFor": [
            _filled(component=one.component.name, pullRequest=_reference(one.pull_request), until=one.until)
            for one in plan.waiting
        ],
        "commits": _commits(plan, policy),
        "digest": _filled(
            match=policy.match,
            multiDigestFile=policy.multiple,
            files=list(policy.files),
            exclude=list(policy.exclude),
            tag=policy.tag if policy.tag != "keep" else "",
        ),
        "actions": list(plan.actions),
        "title": plan.title,
        "description": plan.description,
    }
    if plan.own is not None:
        spec["number"] = plan.own.number
    return {
        "apiVersion": OWN_VERSION,
        "kind": KIND,
        "metadata": _filled(
            name=plan_name(plan),
            namespace=target.key.namespace,
            labels={_LABEL: group_label(plan.group)},
            annotations={LOCAL_CONFIG: "true"},
        ),
        "spec": {name: value for name, value in spec.items() if value not in ([], "", {})},
    }


def _commits(plan: Plan, policy: DigestPolicy) -> list[Value]:
    commits: list[Value] = [
        _filled(
            kind="synthetic",
            pullRequest=_reference(one.pull_request),
            headSHA=one.pull_request.head,
            targetBranch=one.pull_request.target_branch,
            paths=list(one.paths),
        )
        for one in plan.synthetic
    ]
    for edit in plan.digests:
        named = _filled(kind="digest", component=edit.component.name, repositories=list(edit.repositories))
        more = _filled(
            manifests=list(edit.manifests),
            tags=list(edit.tags),
            otherDigests=list(edit.other_digests),
            otherTags=list(edit.other_tags),
            tag=edit.tag if policy.tag == "replace" else "",
        )
        commits.append({**named, "from": list(edit.known), "to": edit.digest, **more})
    return commits


def plan_name(plan: Plan) -> str:
    """The name of its resource."""
    return resource_name(plan.target.suffix, plan.group)


def pull_request_resource(one: PullRequest, name: str, namespace: str) -> Object:
    """An observed pull request as a resource."""
    return {
        "apiVersion": OWN_VERSION,
        "kind": PULL_REQUEST,
        "metadata": _filled(name=name, namespace=namespace, annotations={LOCAL_CONFIG: "true"}),
        "spec": _filled(
            repository=one.repository,
            number=one.number,
            sourceBranch=one.source_branch,
            targetBranch=one.target_branch,
            title=one.title,
            description=one.description,
        ),
        "status": {
            **_filled(state=one.state),
            "draft": one.draft,
            **_filled(headSHA=one.head, mergeSHA=one.merge_commit, mergedAt=one.merged_at, author=one.author),
            **_listed(changedFiles=one.changed),
            "userCommits": one.user_commits,
            **_listed(branches=one.branches),
            **_filled(defaultBranch=one.default_branch),
        },
    }


def pull_request_name(one: PullRequest) -> str:
    """A name for the resource of an observed pull request."""
    owner, _, name = same_repository(one.repository).rpartition("/")
    return resource_name(owner.rpartition("/")[2], name, str(one.number))


def _reference(one: PullRequest | None) -> str:
    return reference(one) if one is not None else ""


def _filled(**fields: Value) -> Object:
    return {name: value for name, value in fields.items() if value not in ("", [], {})}


def _listed(**fields: Collection[str] | None) -> Object:
    return {name: list(value) for name, value in fields.items() if value is not None}
