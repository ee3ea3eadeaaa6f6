"""Plans and observed pull requests as resources: their schemas, and how they are written."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_args

from krm_merge.components.graph import group_label, resource_name
from krm_merge.components.konflux.model import PullRequest
from krm_merge.components.konflux.reading import OWN_VERSION
from krm_merge.components.plan.model import Action, Plan, TriggerState, reference
from krm_merge.forges.interface import PullRequestState, same_repository
from krm_merge.text import Object, Value

FieldSchema: TypeAlias = dict[str, Any]


def _text(description: str, **more: Any) -> FieldSchema:
    return {"description": description, "type": "string", **more}


def _flag(description: str) -> FieldSchema:
    return {"description": description, "type": "boolean"}


def _number(description: str) -> FieldSchema:
    return {"description": description, "type": "integer", "minimum": 1}


def _texts(description: str, **more: Any) -> FieldSchema:
    return {"description": description, "type": "array", "items": {"type": "string", **more}}


def _fields(description: str, required: tuple[str, ...] = (), /, **properties: FieldSchema) -> FieldSchema:
    needed = {"required": list(required)} if required else {}
    return {"description": description, "type": "object", **needed, "properties": properties}


def _list_schema(description: str, required: tuple[str, ...] = (), /, **properties: FieldSchema) -> FieldSchema:
    items = _fields("", required, **properties)
    del items["description"]
    return {"description": description, "type": "array", "items": items}


PULL_REQUEST_FIELDS: FieldSchema = {
    "spec": _fields(
        "The pull request as it was opened.",
        ("repository", "number", "sourceBranch", "targetBranch"),
        repository=_text("URL of its repository.", minLength=1),
        number=_number("Its number."),
        sourceBranch=_text("The branch with its commits.", minLength=1),
        targetBranch=_text("The branch that it will be merged into.", minLength=1),
        title=_text("Its title."),
        description=_text("Its description; a block in it marks a planned pull request."),
    ),
    "status": _fields(
        "Its observed state.",
        state=_text("Open, closed without a merge, or merged.", enum=list(get_args(PullRequestState)), default="open"),
        draft=_flag("Whether it is a draft."),
        headSHA=_text("The commit of its branch."),
        mergeSHA=_text("The commit of its merge."),
        mergedAt=_text("When it was merged, in UTC (RFC 3339)."),
        author=_text("Who opened it."),
        changedFiles=_texts("The paths that it changes, both of a renamed file."),
        userCommits=_flag("Whether people added commits to a branch that was planned."),
        plannedDigests=_list_schema(
            "The digests that planned commits on its branch set, if its description has no block.",
            ("component", "digest"),
            component=_text("The dependency."),
            digest=_text("The digest."),
        ),
        branches=_texts("All branches of the repository."),
        defaultBranch=_text("The default branch of the repository."),
    ),
}
PLAN_FIELDS: FieldSchema = {
    "spec": _fields(
        "The desired pull request.",
        (
            "repository",
            "sourceBranch",
            "components",
            "group",
            "state",
            "draft",
            "title",
            "description",
        ),
        repository=_text("URL of the dependant's repository.", minLength=1),
        number=_number("Its number, if it is open."),
        sourceBranch=_text("The branch that carries the digests.", minLength=1),
        targetBranch=_text("Its target branch; without it the default branch.", minLength=1),
        application=_text("The Application of the dependant."),
        components=_list_schema(
            "The dependant.",
            ("name",),
            name=_text("The dependant."),
            context=_text("Its directory in the repository."),
        ),
        group=_text("The group of pull requests."),
        state=_text("Its desired state.", enum=["open", "closed"]),
        reason=_text("Why it is closed."),
        draft=_flag("Whether it is a draft."),
        triggers=_list_schema(
            "The changes of dependencies that it is for.",
            ("component", "state"),
            component=_text("The dependency."),
            pullRequest=_text("Its pull request, owner/name#number; a push has none."),
            state=_text(
                "Open, merged and waiting for the build of the merge, merged and built, or closed unmerged.",
                enum=list(get_args(TriggerState)),
            ),
            digest=_text("The digest that it introduces."),
            builtSHA=_text("The commit that was built with this digest."),
            failure=_text("Its newest build, if it produced no image."),
        ),
        waitingFor=_list_schema(
            "The events that it waits for as a draft.",
            ("component", "until"),
            component=_text("The dependency."),
            pullRequest=_text("Its pull request."),
            until=_text("Its merge, or the build of that.", enum=["merged", "mergeBuild"]),
        ),
        commits=_list_schema(
            "The commits of its branch, the oldest first.",
            ("kind",),
            kind=_text("A copy of changes, or another digest.", enum=["synthetic", "digest"]),
            pullRequest=_text("For a copy: the pull request whose changes are copied."),
            headSHA=_text("For a copy: the commit that has them."),
            targetBranch=_text("For a copy: the target branch of that pull request."),
            paths=_texts("For a copy: the paths."),
            component=_text("For a digest: the dependency."),
            repositories=_texts("For a digest: the names of its image."),
            **{"from": _texts("For a digest: those that may be replaced.")},
            to=_text("For a digest: the new one."),
            tags=_texts("For a digest: tags that only this dependency has, of several whose images have one name."),
            otherDigests=_texts("For a digest: those of other Components whose images have that name; they are kept."),
            otherTags=_texts("For a digest: tags that only these other Components have."),
        ),
        digest=_fields(
            "Where digests are replaced.",
            files=_texts("Globs of files to search."),
            exclude=_texts("Globs of files that are not searched."),
        ),
        actions=_texts("The actions that update the observed pull request.", enum=list(get_args(Action))),
        title=_text("Its title."),
        description=_text("Its description."),
    ),
    "status": {
        "description": "Written by controllers.",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


def pull_request() -> FieldSchema:
    """The JSON schema of a PullRequest, without an address of its own."""
    return _resource(PULL_REQUEST, "A pull request as it was observed.", PULL_REQUEST_FIELDS)


def pull_request_plan() -> FieldSchema:
    """The JSON schema of a PullRequestPlan, without an address of its own."""
    return _resource(KIND, "The planned state of a dependant's pull request.", PLAN_FIELDS)


def _resource(kind: str, description: str, properties: FieldSchema) -> FieldSchema:
    return {
        "description": description,
        "type": "object",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": {"const": OWN_VERSION},
            "kind": {"const": kind},
            "metadata": {"type": "object"},
            **properties,
        },
    }


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
