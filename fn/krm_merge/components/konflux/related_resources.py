"""Konflux resources around Components: names of released images, tests, and triggers of builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from krm_merge.components.konflux.model import Component
from krm_merge.components.konflux.reading import Fields
from krm_merge.merge import image_repository
from krm_merge.text import Value

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


def check_fields(kind: str, value: Value) -> None:
    """Raises UnreadableError if a field that must be a string is not, in a resource of this kind."""
    fields = Fields(value)
    for path in (*_OF_ALL, *_READ.get(kind, ())):
        depth = path.index(_EACH) if _EACH in path else len(path)
        outer, inner = path[:depth], path[depth + 1 :]
        for place in [(*item, *inner) for item in fields.maps(*outer)] if inner else [outer]:
            fields.text(*place)
    fields.check()
