"""Konflux resources around Components: names of released images, tests, and triggers of builds."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from krm_merge.components.konflux.model import Component, ComponentKey, digest_of, tag_of
from krm_merge.components.konflux.reading import Fields, items
from krm_merge.krm import value_at
from krm_merge.merge import image_repository
from krm_merge.text import Value

MOST_NUDGES: Final = 360
"""How many entries a NudgeConfig may have. Source: integration-service, konflux-ci.dev_nudgeconfigs.yaml."""

_EACH: Final = "*"
_RELEASE = "release.appstudio.openshift.io/auto-release"
_OF_ALL: Final = (("metadata", "name"), ("metadata", "namespace"))
_READ: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "PipelineRun": (("metadata", "annotations", "pipelinesascode.tekton.dev/on-cel-expression"),),
    "Repository": (("spec", "url"), ("spec", "context")),
    "IntegrationTestScenario": (("spec", "application"), ("spec", "contexts", _EACH, "name")),
    "ReleasePlan": (
        ("spec", "application"),
        ("metadata", "annotations", _RELEASE),
        ("metadata", "labels", _RELEASE),
    ),
    "Snapshot": (
        ("spec", "application"),
        ("spec", "components", _EACH, "name"),
        ("spec", "components", _EACH, "containerImage"),
        ("spec", "components", _EACH, "source", "git", "url"),
        ("spec", "components", _EACH, "source", "git", "revision"),
        ("status", "conditions", _EACH, "type"),
        ("status", "conditions", _EACH, "status"),
    ),
}
"""The text fields that `configure` and `simulate` read, by kind."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Names under which a ReleasePlanAdmission releases images of Components, as pairs of Component and image.

    It applies to the Components of the namespace `origin` and of `applications`; '' and None are for all.
    """

    origin: str
    applications: tuple[str, ...] | None
    released: tuple[tuple[str, str], ...]

    def names(self, component: Component) -> list[str]:
        """The names of a Component's image."""
        if self.origin not in ("", component.key.namespace):
            return []
        if self.applications is not None and component.application not in self.applications:
            return []
        return [image for name, image in self.released if name == component.key.name]


def read_admission(value: Value) -> Admission:
    """A ReleasePlanAdmission. Raises UnreadableError."""
    fields = Fields(value)
    released = [
        (fields.text(*component, "name"), image_repository(fields.text(*repository, "url")))
        for component in fields.maps("spec", "data", "mapping", "components")
        for repository in fields.maps(*component, "repositories")
    ]
    named = tuple((name, image) for name, image in released if image)
    admission = Admission(fields.text("spec", "origin"), fields.texts("spec", "applications"), named)
    fields.check()
    return admission


def released_as(component: Component, admissions: Iterable[Admission]) -> tuple[str, ...]:
    """The names under which a Component's image is released, each once."""
    return tuple(dict.fromkeys(name for admission in admissions for name in admission.names(component)))


@dataclass(frozen=True, slots=True)
class Promotion:
    """The promoted image of a version of a Component, as the candidate list of a ComponentGroup has it.

    `version` is its name or its branch, '' for the first.
    """

    component: ComponentKey
    version: str
    image: str
    commit: str
    started: str


def read_promotions(value: Value) -> list[Promotion]:
    """The promoted images of a ComponentGroup. Raises UnreadableError."""
    fields = Fields(value)
    promotions = [
        Promotion(
            ComponentKey(fields.text("metadata", "namespace"), fields.text(*place, "name")),
            fields.text(*place, "version"),
            fields.image(*place, "lastPromotedImage"),
            fields.text(*place, "lastPromotedCommit"),
            fields.time(*place, "lastPromotedBuildTime"),
        )
        for place in fields.maps("status", "globalCandidateList")
    ]
    fields.check()
    return [promotion for promotion in promotions if digest_of(promotion.image)]


def with_promotions(component: Component, promotions: Iterable[Promotion]) -> Component:
    """The Component with the newest promoted image of each version (C16); its status counts if it is newer."""
    versions = list(component.versions)
    for promotion in sorted(promotions, key=lambda promotion: promotion.started):
        index = next((n for n, each in enumerate(versions) if promotion.version in (each.name, each.branch)), 0)
        digest = digest_of(promotion.image)
        if index:
            versions[index] = replace(
                versions[index], digest=digest, promoted=promotion.started, commit=promotion.commit
            )
        elif promotion.version and not versions and component.branch not in ("", promotion.version):
            continue  # of another branch than that of the Component
        elif component.is_declared or not component.digest or promotion.started > component.promoted:
            component = replace(
                component,
                image=component.image or image_repository(promotion.image),
                digest=digest,
                promoted=promotion.started,
                commit=promotion.commit,
                tags=tuple(dict.fromkeys(filter(None, (*component.tags, tag_of(promotion.image))))),
                is_declared=False,
            )
    return replace(component, versions=tuple(versions))


def read_most_nudges(value: Value) -> int:
    """How many entries a NudgeConfig may have by its CustomResourceDefinition; the most of its versions."""
    place = ("schema", "openAPIV3Schema", "properties", "spec", "properties", "nudges")
    schemas = [value_at(version, place) for version in items(value, "spec", "versions")]
    limits = [schema.get("maxItems", sys.maxsize) for schema in schemas if isinstance(schema, dict)]
    return max((limit for limit in limits if isinstance(limit, int)), default=MOST_NUDGES)


def check_fields(kind: str, value: Value) -> None:
    """Raises UnreadableError if a field that must be a text is not, in a resource of this kind."""
    fields = Fields(value)
    for path in (*_OF_ALL, *_READ.get(kind, ())):
        depth = path.index(_EACH) if _EACH in path else len(path)
        outer, inner = path[:depth], path[depth + 1 :]
        for place in [(*item, *inner) for item in fields.maps(*outer)] if inner else [outer]:
            fields.text(*place)
    fields.check()
