"""The CustomResourceDefinitions of docs/crds: the project's own resources about components."""

from __future__ import annotations

from typing import Any, get_args

from krm_merge.components.konflux.reading import OWN_GROUP, OWN_VERSION
from krm_merge.components.plan.model import Action, TriggerState
from krm_merge.components.plan.records.resources import KIND, PULL_REQUEST
from krm_merge.forges.interface import PullRequestState

Schema = dict[str, Any]


def text(description: str, **more: Any) -> Schema:
    return {"description": description, "type": "string", **more}


def flag(description: str) -> Schema:
    return {"description": description, "type": "boolean"}


def number(description: str) -> Schema:
    return {"description": description, "type": "integer", "minimum": 1}


def texts(description: str, **more: Any) -> Schema:
    return {"description": description, "type": "array", "items": {"type": "string", **more}}


def fields(description: str, required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    needed = {"required": list(required)} if required else {}
    return {"description": description, "type": "object", **needed, "properties": properties}


def listed(description: str, required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    items = fields("", required, **properties)
    del items["description"]
    return {"description": description, "type": "array", "items": items}


PULL_REQUEST_SCHEMA = {
    "spec": fields(
        "What it is for.",
        ("repository", "number", "sourceBranch", "targetBranch"),
        repository=text("URL of the repository that it is for.", minLength=1),
        number=number("Its number."),
        sourceBranch=text("The branch with its commits.", minLength=1),
        targetBranch=text("The branch that it is to be merged into.", minLength=1),
        title=text("Its title."),
        description=text("Its description; a block in it tells that it was planned."),
    ),
    "status": fields(
        "How it is.",
        state=text("Open, closed without a merge, or merged.", enum=list(get_args(PullRequestState)), default="open"),
        draft=flag("Whether it is a draft."),
        headSHA=text("The commit of its branch."),
        mergeSHA=text("The commit of its merge."),
        mergedAt=text("When it was merged, in UTC (RFC 3339)."),
        author=text("Who opened it."),
        changedFiles=texts("The paths that it changes, both of a renamed file."),
        userCommits=flag("Whether people added commits to a branch that was planned."),
        branches=texts("All branches of the repository."),
    ),
}
PLAN_SCHEMA = {
    "spec": fields(
        "What the pull request shall be.",
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
        repository=text("URL of the dependants' repository.", minLength=1),
        number=number("The pull request, where it is open."),
        sourceBranch=text("The branch that carries the digests.", minLength=1),
        targetBranch=text("The branch that it is for; without it the default branch.", minLength=1),
        application=text("The Application of the dependants."),
        components=listed(
            "The dependants: one, or several that share a branch.",
            ("name",),
            name=text("The dependant."),
            context=text("Its directory in the repository."),
        ),
        group=text("The group of pull requests."),
        state=text("What it shall be.", enum=["open", "closed"]),
        reason=text("Why it shall be closed."),
        draft=flag("Whether it shall be a draft."),
        triggers=listed(
            "What brought it about.",
            ("component", "state"),
            component=text("The dependency."),
            pullRequest=text("Its pull request, owner/name#number; of a push there is none."),
            state=text(
                "Open, merged and waiting for the build of the merge, merged and built, or closed unmerged.",
                enum=list(get_args(TriggerState)),
            ),
            headSHA=text("The commit of its branch."),
            digest=text("The digest that it brings."),
        ),
        waitingFor=listed(
            "What keeps it a draft.",
            ("component", "until"),
            component=text("The dependency."),
            pullRequest=text("Its pull request."),
            until=text("Its merge, the build of that, or tests of it.", enum=["merged", "mergeBuild", "validated"]),
        ),
        commits=listed(
            "What its branch holds, from below.",
            ("kind",),
            kind=text("A copy of changes, or another digest.", enum=["synthetic", "digest"]),
            pullRequest=text("Of a copy: whose changes."),
            headSHA=text("Of a copy: the commit that has them."),
            targetBranch=text("Of a copy: the branch that they are changes of."),
            paths=texts("Of a copy: the paths."),
            component=text("Of a digest: the dependency."),
            repositories=texts("Of a digest: the names of its image."),
            **{"from": texts("Of a digest: those that may be replaced.")},
            to=text("Of a digest: the new one."),
            manifests=texts("Of a digest: those of its images for single architectures, which files should not name."),
            tags=texts("Of a digest: tags that only this dependency has, of several whose images have one name."),
            otherDigests=texts("Of a digest: those of other Components whose images have that name; they stay."),
            otherTags=texts("Of a digest: tags that only these other Components have."),
        ),
        digest=fields(
            "Which digests are replaced, and where.",
            match=text("Known ones, or any of the image.", enum=["known", "any"]),
            multiDigestFile=text("What becomes of a file with several of one image.", enum=["refuse", "replace"]),
            files=texts("Globs of files to look at."),
            exclude=texts("Globs of files that are left alone."),
        ),
        actions=texts("What is to be done to it as observed.", enum=list(get_args(Action))),
        title=text("Its title."),
        description=text("Its description."),
    ),
    "status": {
        "description": "What others write of it.",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
COLUMNS = {
    PULL_REQUEST: {"Branch": ".spec.sourceBranch", "State": ".status.state"},
    KIND: {"Components": ".spec.components[*].name", "Branch": ".spec.sourceBranch", "State": ".spec.state"},
}


def definitions() -> dict[str, Schema]:
    """The definitions, by their path in docs/."""
    return {
        "crds/pullrequests.yaml": definition(PULL_REQUEST, "A pull request as it was observed.", PULL_REQUEST_SCHEMA),
        "crds/pullrequestplans.yaml": definition(KIND, "What the pull request of a dependant shall be.", PLAN_SCHEMA),
    }


def definition(kind: str, description: str, properties: dict[str, Schema]) -> Schema:
    plural = f"{kind.lower()}s"
    schema = {
        "description": description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            **properties,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{OWN_GROUP}"},
        "spec": {
            "group": OWN_GROUP,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": OWN_VERSION.rpartition("/")[2],
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": name, "type": "string", "jsonPath": path} for name, path in COLUMNS[kind].items()
                    ],
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
