"""What all plans are made from, and what is told on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from krm_merge.components.graph import Finding, Graph
from krm_merge.components.history import History
from krm_merge.components.model import Component, Key, PullRequest, same_repository
from krm_merge.components.planned import Choices


class Planning:
    """What is observed, what the user chose, and what was found so far. `rank` is the order of the graph."""

    def __init__(self, graph: Graph, history: History, choices: Choices) -> None:
        """Nothing is found at first."""
        self.graph = graph
        self.history = history
        self.choices = replace(
            choices,
            branches=replace(
                choices.branches,
                dependants={_suffix(c, choices) for c in (*graph.components.values(), *graph.deleted.values())},
            ),
        )
        self.rank = {key: at for at, key in enumerate(graph.order)}
        self.findings: list[Finding] = []

    def suffix(self, component: Component) -> str:
        """What the branches of a dependant end in."""
        # I17: stable, so that the branch is found again.
        return _suffix(component, self.choices)

    def tell(self, severity: Literal["warning", "info"], rule: str, message: str, key: Key) -> None:
        """Tells of a Component what a rule says."""
        self.findings.append(Finding(severity, rule, message, key))


def _suffix(component: Component, choices: Choices) -> str:
    if choices.suffix == "component" or not component.repository:
        return component.key.name
    return same_repository(component.repository).rpartition("/")[2]


def named(one: PullRequest) -> str:
    """A pull request as findings name it."""
    return f"{same_repository(one.repository).rpartition('/')[2]}#{one.number}"
