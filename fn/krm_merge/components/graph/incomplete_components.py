"""Finds fields that Components lack and that pull requests between them need."""

from __future__ import annotations

from collections.abc import Iterator

from krm_merge.components.graph.findings import finding
from krm_merge.components.graph.graph import Graph
from krm_merge.components.konflux.history import History
from krm_merge.krm.result import Result

_REPOSITORY = "spec.source.git.url"
_IMAGE = "spec.containerImage"


def incomplete_components(graph: Graph, history: History) -> Iterator[Result]:
    """Components of the graph without a repository, and dependencies without the name of an image.

    The graph must have no cycle.
    """
    for key in graph.order:
        if not graph.components[key].repository and graph.role(key) != "independent":
            message = f"{key} names no repository, so it gets and triggers no pull requests; set {_REPOSITORY}"
            yield finding("warning", "R21", message, key, _REPOSITORY)
        if graph.dependants(key) and not history.image_names(key):
            message = f"{key} names no image, and no build does, so its dependants get no digests; set {_IMAGE}"
            yield finding("warning", "C5", message, key, _IMAGE)
