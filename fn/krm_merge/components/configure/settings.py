"""What makes today's Konflux obey the graph, as values of its resources.

Source of the rules that Konflux knows: contexts of IntegrationTestScenarios, auto-release expressions of ReleasePlans,
build-nudges-ref of Components, expressions of Pipelines as Code (facts as of 2026-08).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from krm_merge.components.configure.cel_evaluating import may_trigger
from krm_merge.components.configure.cel_tokens import CelError
from krm_merge.components.configure.cel_values import Beginning
from krm_merge.components.configure.nudged_files import beginning, below, is_file, regular_expression
from krm_merge.components.configure.release_expressions import released, theirs_of
from krm_merge.components.configure.trigger_expressions import expression, guarded
from krm_merge.components.graph.graph import Graph
from krm_merge.components.konflux.contexts import common, normalised
from krm_merge.components.konflux.model import Component, Key
from krm_merge.forges.addresses import same_repository

ALL_TESTS: Final = frozenset(("application", "component", "pull_request", "push"))
"""Contexts in which a scenario tests every component."""
GROUP_TESTS: Final = "group"
_OF_COMPONENT: Final = "component_"


@dataclass(frozen=True, slots=True)
class Application:
    """The Components of an application, those that are tested and those that are only depended on."""

    tested: tuple[str, ...]
    untested: tuple[str, ...]


def applications(graph: Graph) -> dict[tuple[str, str], Application]:
    """The applications by namespace and name."""
    found: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for key, component in sorted(graph.components.items()):
        tested, untested = found.setdefault((key.namespace, component.application), ([], []))
        (tested if graph.is_tested(key) else untested).append(key.name)
    return {at: Application(tuple(yes), tuple(no)) for at, (yes, no) in found.items()}


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a scenario, and those that it had in their place; None where it has its own."""

    names: list[str]
    replaced: list[str] | None
    untested: tuple[str, ...] = ()
    """The Components that a scenario of some named and does not test any more."""


def scenario_contexts(existing: Sequence[str], replaced: Sequence[str] | None, application: Application) -> Contexts:
    """The contexts of a scenario that tests no dependency (R14); what it tests besides stays.

    `replaced` is what an earlier run remembered. Without any dependency the scenario gets that back (R6).
    """
    if replaced is not None and (not replaced or ALL_TESTS & set(replaced)):
        more = (name for name in existing if name in ALL_TESTS and name not in replaced)
        return _of_all(existing, [*replaced, *more], application)
    if not existing or ALL_TESTS & set(existing):
        return _of_all(existing, [name for name in existing if _is_replaced(name)], application)
    return _of_some(existing, replaced or (), application)


def _is_replaced(name: str) -> bool:
    return name in ALL_TESTS or name == GROUP_TESTS or name.startswith(_OF_COMPONENT)


def _of_all(existing: Sequence[str], replaced: list[str], application: Application) -> Contexts:
    """For a scenario that tests every Component."""
    if not application.untested:
        return Contexts([*replaced, *(name for name in existing if not _is_replaced(name))], None)
    own = [f"{_OF_COMPONENT}{name}" for name in application.tested]
    gone = ALL_TESTS | {GROUP_TESTS, *own, *(f"{_OF_COMPONENT}{name}" for name in application.untested)}
    return Contexts([*own, GROUP_TESTS, *(name for name in existing if name not in gone)], replaced)


def _of_some(existing: Sequence[str], replaced: Sequence[str], application: Application) -> Contexts:
    """For a scenario that is limited: nothing is added, but what keeps it from testing everything."""
    is_stand_in = list(existing) == [GROUP_TESTS] and replaced and GROUP_TESTS not in replaced
    now = [] if is_stand_in else list(existing)
    before = [*(name for name in replaced if name not in now and name != GROUP_TESTS), *now]
    untested = {f"{_OF_COMPONENT}{name}": name for name in application.untested}
    taken = [name for name in before if name in untested]
    if not taken:
        return Contexts(before, None)
    group = [GROUP_TESTS] if GROUP_TESTS in before else []
    left = [name for name in before if name not in untested]
    return Contexts(left or [GROUP_TESTS], [*taken, *group], tuple(untested[name] for name in taken))


def release_expression(now: str, replaced: str | None, application: Application) -> tuple[str, str | None]:
    """The expression of a ReleasePlan that releases no dependency (R16), and the one in whose place it is.

    That is '' where there was none, and None where nothing was replaced. `replaced` is what an earlier run remembered;
    without any dependency the ReleasePlan gets its own back (R6). Raises CelError where that cannot be read.
    """
    theirs = now if replaced in (None, now) else theirs_of(now)
    if not application.untested:
        return theirs, None
    ours = released("", application.tested)
    return (ours, None) if theirs == ours else (released(theirs, application.tested), theirs)


def nudges_of(graph: Graph, key: Key, existing: Iterable[str], derived: Iterable[str]) -> tuple[list[str], list[str]]:
    """Whom builds of a Component nudge, in order, and who of them for no other reason than the graph.

    What is declared here and is no edge, but may become one, stays (C9). `derived` is what the graph alone brought
    before (R6).
    """
    if key not in graph.components:
        return [], []
    declared = set(existing) - set(derived) - graph.gone(key.namespace)
    dependants = {dependant.name for dependant in graph.dependants(key)}
    return sorted(dependants | declared), sorted(dependants - declared)


def repository_context(components: Sequence[Component]) -> tuple[str, str]:
    """The directory that a Repository is about, and what to say where it has several Components (I7)."""
    contexts = sorted({normalised(component.context) for component in components})
    directory = common(contexts)
    if len(contexts) < 2:
        return directory, ""
    names = ", ".join(component.key.name for component in components)
    return directory, f"{names} share it: its context is {directory}, their PipelineRuns tell them apart"


@dataclass(frozen=True, slots=True)
class TriggerExpression:
    """The expression of a PipelineRun, what is new in it, and what is wrong with it."""

    text: str
    said: list[str]
    problems: list[str]


def trigger_expression(text: str, component: Component, graph: Graph, files: Collection[str]) -> TriggerExpression:
    """The expression of a PipelineRun in git, restricted to its Component's directory and safe from loops.

    One that somebody wrote is only guarded. `files` are the globs of what digest updates edit, where they are known.
    """
    restricted = _restricted(text.strip(), component)
    said = [f"only changes in {normalised(component.context)} start it"] if restricted != text.strip() else []
    nudged = [graph.components[key] for key in graph.dependants(component.key)]
    inside = [one for one in nudged if same_repository(one.repository) == same_repository(component.repository)]
    edited = {one.key: [glob for file in files for glob in below(file, normalised(one.context))] for one in inside}
    globs = sorted({glob for of_one in edited.values() for glob in of_one})
    patterns = {glob: regular_expression(glob) for glob in globs if not is_file(glob)}
    odd = {glob for glob, pattern in patterns.items() if pattern is None}
    try:
        literal = [glob for glob in globs if glob not in patterns]
        text = guarded(restricted, literal, [pattern for pattern in patterns.values() if pattern is not None])
    except CelError as error:
        return TriggerExpression(text.strip(), [], [f"its expression cannot be read: {error}"])
    if text != restricted:
        tested = ", ".join(glob for glob in globs if glob not in odd)
        said.append(f"changes of nothing but {tested} do not start it" if tested else "its guard is taken out")
    starts = {start for one in inside for start in _starts(one, edited[one.key])}
    branch = component.branch or "main"
    # A guard is false for the files that it names, but not where others are edited with them.
    loops = may_trigger(text, [Beginning(start) for start in sorted(starts)], branch, "push") != "false"
    problems = [
        f"updates of {one.key.name} may build {component.key.name} again; {_remedy(component, edited[one.key], odd)}"
        for one in inside
        if loops and (not edited[one.key] or odd & set(edited[one.key]))
    ]
    return TriggerExpression(text, said, problems)


def _restricted(text: str, component: Component) -> str:
    """An expression that the build-service wrote for a Component without a directory, for the one that it has."""
    context = normalised(component.context)
    for event in ("push", "pull_request"):
        head = f'event == "{event}" && target_branch == '
        if text.startswith(head) and "pathChanged" not in text and "||" not in text[len(head) :] and context != ".":
            branch = text[len(head) :].strip().strip("\"'")
            if branch.isprintable() and not set(branch) & set("\"'&|() "):
                return expression(event, branch, component.key.name, context)
    return text


def _starts(nudged: Component, edited: Sequence[str]) -> list[str]:
    """What the paths begin with that updates of a dependant edit; it may be any in its directory where none is told."""
    context = normalised(nudged.context)
    return [beginning(glob) for glob in edited] or ["" if context == "." else f"{context}/"]


def _remedy(component: Component, edited: Sequence[str], odd: Collection[str]) -> str:
    if edited:
        return f"write {', '.join(glob for glob in edited if glob in odd)} in digest.files without brackets"
    return f"name the files that are edited in digest.files, or give {component.key.name} another context"


def without(names: Iterable[str], gone: Collection[str]) -> list[str]:
    """The names that are left when Components are deleted (R5)."""
    return [name for name in names if name not in gone]
