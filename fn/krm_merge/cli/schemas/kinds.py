"""The kinds that have a JSON schema: ours, the Kptfile, and the report of a merge."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import krm_merge
from krm_merge.cli.schemas.from_models import DIALECT, JsonSchema, model_schema, rewritten
from krm_merge.errors import KrmMergeError
from krm_merge.krm.docs import Docs
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import to_value

_HEAD = ("apiVersion", "kind", "metadata")


class UnknownKindError(KrmMergeError):
    """A kind that has no schema; the message names the nearest one, or all."""


@dataclass(frozen=True)
class SchemaKind:
    """A kind with a schema.

    `about` is a phrase for lists of kinds, `file` the name of the schema in docs/schemas, `place` the module and name
    of the model, or of the function that writes the schema of a report. `first_fields` are the fields that the schema
    of a model lists first.
    """

    kind: str
    about: str
    file: str
    place: str
    first_fields: tuple[str, ...] = _HEAD

    @cached_property
    def model(self) -> type[BaseModel]:
        """The model that the schema is made from; a report has none."""
        model: type[BaseModel] = self._named()
        return model

    def schema(self) -> JsonSchema:
        """The JSON schema (draft 2020-12). It refuses what the program refuses."""
        head = {"$schema": DIALECT, "$id": f"{_address()}/docs/schemas/{self.file}", "title": self.kind}
        named = self._named()
        if isinstance(named, type):
            return rewritten(model_schema(self.model, self.first_fields) | head, dict)
        content: JsonSchema = named()
        return head | content

    def _named(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"krm_merge.{module}"), name)


KINDS = {
    kind.kind: kind
    for kind in (
        SchemaKind(
            "MergePackage",
            "functionConfig that merges packages",
            "merge-package.json",
            "functions.merge_package.models:MergePackage",
            (*_HEAD, "original", "upstream"),
        ),
        SchemaKind(
            "PatchResources",
            "functionConfig that applies patches",
            "patch-resources.json",
            "functions.patch_resources.models:PatchResources",
            (*_HEAD, "patches"),
        ),
        SchemaKind(
            "TransformResources",
            "functionConfig that runs plugins",
            "transform-resources.json",
            "functions.transform_resources.models:TransformResources",
            (*_HEAD, "priorities", "skipPlugins", "options", "plugins"),
        ),
        SchemaKind(
            "PlanComponentUpdates",
            "functionConfig that plans updates of components",
            "plan-component-updates.json",
            "functions.plan_component_updates.models:PlanComponentUpdates",
            (*_HEAD, "mode"),
        ),
        SchemaKind(
            "MergePolicy",
            "how a package settles its conflicts",
            "merge-policy.json",
            "policy.models:MergePolicy",
        ),
        SchemaKind(
            "Vendorfile",
            "where vendored manifests come from",
            "vendorfile.json",
            "vendored.models:Vendorfile",
        ),
        SchemaKind(
            "MergeCampaign",
            "campaign.yaml of a fleet",
            "merge-campaign.json",
            "fleet.campaign.models:MergeCampaign",
        ),
        SchemaKind(
            "MergeTargets",
            "targets.yaml of a fleet",
            "merge-targets.json",
            "fleet.campaign.models:MergeTargets",
        ),
        SchemaKind(
            "PullRequest",
            "pull request that was observed",
            "pull-request.json",
            "components.plan.records.schemas:pull_request",
        ),
        SchemaKind(
            "PullRequestPlan",
            "planned pull request",
            "pull-request-plan.json",
            "components.plan.records.schemas:pull_request_plan",
        ),
        SchemaKind("Kptfile", "package of kpt", "kptfile.json", "packages.kptfile_model:Kptfile"),
        SchemaKind(
            "MergeReport",
            "decisions of a merge, as --format json prints them",
            "decisions.json",
            "report.schema:schema",
        ),
        SchemaKind(
            "ComparisonReport",
            "differences from kpt, as compare --format json prints them",
            "comparison.json",
            "report.comparison.schema:schema",
        ),
    )
}


def kind_named(name: str) -> SchemaKind:
    """The kind of this name. Raises UnknownKindError."""
    if name in KINDS:
        return KINDS[name]
    by_lower = {kind.lower(): kind for kind in KINDS}
    near = [by_lower[kind] for kind in get_close_matches(name.lower(), by_lower, n=1)]
    remedy = f"did you mean {near[0]}?" if near else f"known are {', '.join(KINDS)}"
    raise UnknownKindError(f"there is no schema of {name}; {remedy}")


def _address() -> str:
    """Where the forge serves files of the repository as they are."""
    metadata: Any = to_value(read(Docs.beside(Path(krm_merge.__file__).parent).metadata))
    return f"{metadata['sourceURL'].replace('https://github.com/', 'https://raw.githubusercontent.com/')}/main"
