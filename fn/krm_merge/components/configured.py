"""What makes today's Konflux obey the graph, as values of its resources.

Source of the rules that Konflux knows: contexts of IntegrationTestScenarios, auto-release expressions of ReleasePlans,
build-nudges-ref of Components, expressions of Pipelines as Code (facts as of 2026-08).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from krm_merge.components.cel_evaluating import may_trigger
from krm_merge.components.cel_tokens import CelError
from krm_merge.components.cel_writing import expression, guarded
from krm_merge.components.contexts import common, normalised, touches
from krm_merge.components.graph import Graph
from krm_merge.components.model import Component, Key, same_repository

ALL_TESTS: Final = frozenset(("application", "component", "pull_request", "push"))
"""Contexts in which a scenario tests every component."""
GROUP_TESTS: Final = "group"


@dataclass(frozen=True, slots=True)
class Application:
    """The Components of an application, those that are tested and those that are only depended on."""

    tested: tuple[str, ...]
    untested: tuple[str, ...]


def applications(graph: Graph) -> dict[tuple[str, str], Application]:
    """The applications by namespace and name, those without any edge left out."""
    found: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for key, component in sorted(graph.components.items()):
        tested, untested = found.setdefault((key.namespace, component.application), ([], []))
        (tested if graph.is_tested(key) else untested).append(key.name)
    return {at: Application(tuple(yes), tuple(no)) for at, (yes, no) in found.items() if no}


def scenario_contexts(existing: Sequence[str], application: Application) -> list[str]:
    """The contexts of a scenario that tests no dependency (R14); what it tests besides stays."""
    own = [f"component_{name}" for name in application.tested]
    replaced = ALL_TESTS | {GROUP_TESTS, *own, *(f"component_{name}" for name in application.untested)}
    return [*own, GROUP_TESTS, *(name for name in existing if name not in replaced)]


def release_expression(application: Application) -> str:
    """The expression that releases no dependency (R16)."""
    return " || ".join(f"updatedComponentIs({json.dumps(name)})" for name in application.tested) or "false"


def nudges_of(graph: Graph, key: Key, existing: Iterable[str]) -> list[str]:
    """Whom builds of a Component nudge, in order; names that are no edge, but may become one, stay (C9)."""
    gone = {other.name for other in graph.deleted if other.namespace == key.namespace}
    return sorted({dependant.name for dependant in graph.dependants(key)} | (set(existing) - gone))


def repository_context(components: Sequence[Component]) -> tuple[str, str]:
    """The directory that a Repository is about, and what to say where it has several Components (I7)."""
    contexts = sorted({normalised(component.context) for component in components})
    directory = common(contexts)
    if len(contexts) < 2:
        return directory, ""
    names = ", ".join(component.key.name for component in components)
    return directory, f"{names} share it: its context is {directory}, their PipelineRuns tell them apart"


def trigger_expression(text: str, component: Component, graph: Graph, files: Collection[str]) -> tuple[str, list[str]]:
    """The expression of a PipelineRun in git, restricted to its Component's directory and safe from loops.

    One that somebody wrote is only guarded. `files` are those that digest updates edit, where they are known. The
    problems that are left come with it.
    """
    problems: list[str] = []
    text = text.strip()
    for event in ("push", "pull_request"):
        # What the build-service writes for a Component without a directory.
        head = f'event == "{event}" && target_branch == '
        if text.startswith(head) and "pathChanged" not in text and "||" not in text[len(head) :]:
            branch = text[len(head) :].strip().strip("\"'")
            if branch.isprintable() and not set(branch) & set("\"'&|() "):
                text = expression(event, branch, component.key.name, component.context)
    nudged = [graph.components[key] for key in graph.dependants(component.key)]
    inside = [one for one in nudged if _shares(component, one)]
    guard = sorted({file for one in inside for file in files if touches(one.context, [file])})
    try:
        text = guarded(text, guard)
    except CelError as error:
        problems.append(f"its expression cannot be read: {error}")
        return text, problems
    for one in inside:
        edited = [file for file in guard if touches(one.context, [file])] or [_some_file(one)]
        if may_trigger(text, edited, component.branch or "main", "push") != "false":
            remedy = f"name the files that are edited in digest.files, or give {component.key.name} another context"
            problems.append(f"updates of {one.key.name} may build {component.key.name} again; {remedy}")
    return text, problems


def _shares(component: Component, other: Component) -> bool:
    return same_repository(component.repository) == same_repository(other.repository)


def _some_file(component: Component) -> str:
    context = normalised(component.context)
    return "Dockerfile" if context == "." else f"{context}/Dockerfile"


def without(names: Iterable[str], gone: Collection[str]) -> list[str]:
    """The names that are left when Components are deleted (R5)."""
    return [name for name in names if name not in gone]
