"""The versions of Components: each is planned like a separate Component (C10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from krm_merge.components.graph.findings import finding
from krm_merge.components.graph.graph import Edge, Graph
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import Build, Component, ComponentKey, ComponentVersion
from krm_merge.krm.result import Result


@dataclass(frozen=True, slots=True)
class VersionedGraph:
    """A graph in which each version is a Component; `of` maps a version to its Component."""

    graph: Graph
    of: Mapping[ComponentKey, ComponentKey]
    findings: tuple[Result, ...] = ()

    def builds(self, history: History) -> list[Build]:
        """All builds; those of a further version are attributed to the Component of that version."""
        by_branch = {(self.of[key], self.graph.components[key].branch): key for key in self.of}
        found = ((build, by_branch.get((build.component, history.branch_of(build)))) for build in history.builds)
        return [build if key is None else replace(build, component=key) for build, key in found]


def with_versions(graph: Graph) -> VersionedGraph:
    """The graph with all versions of its Components; the first of each is the Component itself.

    A version of a dependant depends on the version of the same name, else of the same branch, else on the first.
    """
    components, of = dict(graph.components), dict[ComponentKey, ComponentKey]()
    by_name: dict[ComponentKey, dict[str, ComponentKey]] = {}
    findings: list[Result] = []
    for key, component in sorted(graph.components.items()):
        for version in component.versions[1:]:
            its_key = ComponentKey(key.namespace, f"{key.name}-{version.name}")
            if its_key in components:
                message = f"{key}: its version {version.name} is not planned: there is a Component {its_key}"
                findings.append(finding("warning", "C10", message, key, "spec.source.versions"))
                continue
            components[its_key] = _of_version(component, its_key, version)
            of[its_key] = key
            by_name.setdefault(key, {})[version.name] = its_key
    edges, validated = (
        frozenset(edge for one in some for edge in _edges(one, graph, by_name))
        for some in (graph.edges, graph.validated)
    )
    versioned = replace(graph, components=components, edges=edges, validated=validated)
    return VersionedGraph(versioned, of, tuple(findings))


def _of_version(component: Component, key: ComponentKey, version: ComponentVersion) -> Component:
    # The promoted digest of a Component belongs to its first version.
    plain = replace(component, digest=version.digest, promoted=version.promoted, commit=version.commit, versions=())
    return replace(plain, key=key, branch=version.branch, context=version.context, is_declared=False)


def _edges(edge: Edge, graph: Graph, by_name: Mapping[ComponentKey, Mapping[str, ComponentKey]]) -> Iterator[Edge]:
    yield edge
    dependencies = by_name.get(edge.dependency, {})
    known = graph.components[edge.dependency].versions
    for name, dependant in by_name.get(edge.dependant, {}).items():
        version = next(one for one in graph.components[edge.dependant].versions if one.name == name)
        yield Edge(dependant, dependencies.get(_same(version, known), edge.dependency))


def _same(version: ComponentVersion, known: Sequence[ComponentVersion]) -> str:
    """The name of the version that matches another Component's version, '' for none."""
    by_name = next((one.name for one in known if one.name == version.name), "")
    return by_name or next((one.name for one in known if one.branch == version.branch), "")
