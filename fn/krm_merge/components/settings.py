"""The values of today's Konflux resources that make Konflux follow the graph.

Source of the rules that Konflux knows: contexts of IntegrationTestScenarios, auto-release expressions of ReleasePlans,
build-nudges-ref of Components, expressions of Pipelines as Code (facts as of 2026-08).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from krm_merge.components.expressions import TriggerEvent, expression
from krm_merge.components.graph import Graph
from krm_merge.components.konflux.model import Component, ComponentKey, common, normalise
from krm_merge.forges.interface import same_repository

ALL_TESTS: Final = frozenset(("application", "component", "pull_request", "push"))
"""Contexts in which a scenario tests every component."""
GROUP_TESTS: Final = "group"
OF_COMPONENT: Final = "component_"


@dataclass(frozen=True, slots=True)
class Application:
    """The Components of an application, split into those that are tested and mere dependencies."""

    tested: tuple[str, ...]
    untested: tuple[str, ...]


def applications(graph: Graph) -> dict[tuple[str, str], Application]:
    """The applications by namespace and name."""
    return {
        at: Application(
            tuple(key.name for key in keys if graph.is_tested(key)),
            tuple(key.name for key in keys if not graph.is_tested(key)),
        )
        for at, keys in graph.applications.items()
    }


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a scenario, and the contexts that they replaced; None if nothing was replaced."""

    names: list[str]
    replaced: list[str] | None


def scenario_contexts(
    existing: Sequence[str], replaced: Sequence[str] | None, application: Application
) -> Contexts | None:
    """The contexts of a scenario that tests every Component but dependencies (CR14); its other contexts are kept.

    `replaced` are the contexts that an earlier run replaced. Without any dependency they are restored (CR6). Gives None
    for a scenario that a person limited to some contexts.
    """
    if replaced is not None:
        replaced = [*replaced, *(name for name in existing if name in ALL_TESTS and name not in replaced)]
    elif existing and not ALL_TESTS & set(existing):
        return None
    else:
        replaced = [name for name in existing if _is_replaced(name)]
    if not application.untested:
        return Contexts([*replaced, *(name for name in existing if not _is_replaced(name))], None)
    tested = [f"{OF_COMPONENT}{name}" for name in application.tested]
    replaceable = ALL_TESTS | {GROUP_TESTS, *tested, *(f"{OF_COMPONENT}{name}" for name in application.untested)}
    return Contexts([*tested, GROUP_TESTS, *(name for name in existing if name not in replaceable)], replaced)


def _is_replaced(name: str) -> bool:
    return name in ALL_TESTS or name == GROUP_TESTS or name.startswith(OF_COMPONENT)


def nudges_of(
    graph: Graph, key: ComponentKey, existing: Iterable[str], derived: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Which components the builds of a Component nudge, in order, and which of them only because of the graph.

    A declared nudge that is not an edge yet is kept (C9). `derived` are the nudges that an earlier run added from the
    graph alone (CR6).
    """
    if key not in graph.components:
        return [], []
    declared = set(existing) - set(derived) - graph.deleted_names(key.namespace)
    dependants = {dependant.name for dependant in graph.dependants(key)}
    return sorted(dependants | declared), sorted(dependants - declared)


def repository_context(components: Sequence[Component]) -> tuple[str, str]:
    """The directory that a Repository covers, and a message if it has several Components (I7)."""
    contexts = sorted({normalise(component.context) for component in components})
    directory = common(contexts)
    if len(contexts) < 2:
        return directory, ""
    names = ", ".join(component.key.name for component in components)
    return directory, f"{names} share it: its context is {directory}, their PipelineRuns distinguish them"


@dataclass(frozen=True, slots=True)
class TriggerExpression:
    """The expression of a PipelineRun, with its changes and problems."""

    text: str
    changes: list[str]
    problems: list[str]


def trigger_expression(text: str, component: Component, graph: Graph) -> TriggerExpression:
    """The expression of a PipelineRun in git, restricted to its Component's directory (CR12).

    One that a person wrote is kept and not evaluated (C11).
    """
    restricted = _restrict(text.strip(), component)
    changes = [f"only changes in {normalise(component.context)} start it"] if restricted != text.strip() else []
    problems = [
        f"updates of {dependant.key.name} may build {component.key.name} again; leave the files in "
        f"{normalise(dependant.context)} that name its image out of its expression"
        for dependant in map(graph.components.__getitem__, graph.dependants(component.key))
        if same_repository(dependant.repository) == same_repository(component.repository)
        and not (_is_restricted(restricted, component) and _is_apart(component, dependant))
    ]
    return TriggerExpression(restricted, changes, problems)


def _is_apart(component: Component, other: Component) -> bool:
    """Whether neither directory holds the other."""
    directory, other_directory = normalise(component.context), normalise(other.context)
    return common([directory, other_directory]) not in (directory, other_directory)


def _is_restricted(text: str, component: Component) -> bool:
    """Whether Konflux or krm-merge wrote the expression for the Component's directory."""
    match = _PLAIN.match(text)
    context = normalise(component.context)
    if match is None or context == ".":
        return False
    event: TriggerEvent = "push" if match["event"] == "push" else "pull_request"
    return text == expression(event, match["branch"], component.key.name, context)


_PLAIN = re.compile(r'event == "(?P<event>push|pull_request)" && target_branch == "(?P<branch>[^"\\]*)" && ')


def _restrict(text: str, component: Component) -> str:
    """Restricts an expression that build-service wrote for the whole repository to the Component's directory."""
    context = normalise(component.context)
    events: tuple[TriggerEvent, ...] = ("push", "pull_request")
    for event in events:
        head = f'event == "{event}" && target_branch == '
        if text.startswith(head) and "pathChanged" not in text and "||" not in text[len(head) :] and context != ".":
            branch = text[len(head) :].strip().strip("\"'")
            if branch.isprintable() and not set(branch) & set("\"'&|() "):
                return expression(event, branch, component.key.name, context)
    return text


def without(names: Iterable[str], deleted: Collection[str]) -> list[str]:
    """The names that remain when Components are deleted (CR5)."""
    return [name for name in names if name not in deleted]
