"""The effects of builds by the specification: tests, candidates, releases, and the pull requests that get results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from components.observations import digest, key
from krm_merge.components.graph import BranchNames, Graph, Role, build_graph
from krm_merge.components.konflux.history import History
from krm_merge.components.konflux.model import Build, BuildEvent, BuildOutcome, Component, PullRequest
from krm_merge.components.plan.model import MARK, Planning
from krm_merge.components.plan.planner import plan
from krm_merge.components.plan.simulation import BuildFate, Simulation, Snapshot, World, fate, simulate
from krm_merge.forges.proposals import MarkedPart

YES, NO = True, False

# S12: tests, global candidate list, dev environment, Release.
MATRIX: list[tuple[Role, BuildEvent, BuildOutcome, tuple[bool, bool, bool]]] = [
    ("dependency", "pull_request", "succeeded", (NO, NO, NO)),
    ("dependency", "push", "succeeded", (NO, YES, NO)),
    ("dependency", "merge_queue", "succeeded", (NO, NO, NO)),
    ("dependency", "push", "failed", (NO, NO, NO)),
    ("dependant", "pull_request", "succeeded", (YES, NO, NO)),
    ("dependant", "push", "succeeded", (YES, YES, YES)),
    ("dependant", "merge_queue", "succeeded", (YES, NO, NO)),
    ("dependant", "push", "failed", (NO, NO, NO)),
    ("both", "pull_request", "succeeded", (NO, NO, NO)),
    ("both", "push", "succeeded", (NO, YES, NO)),
    ("both", "merge_queue", "succeeded", (NO, NO, NO)),
    ("both", "push", "failed", (NO, NO, NO)),
    ("independent", "pull_request", "succeeded", (YES, NO, NO)),
    ("independent", "push", "succeeded", (YES, YES, YES)),
    ("independent", "merge_queue", "succeeded", (YES, NO, NO)),
    ("independent", "push", "failed", (NO, NO, NO)),
]


@pytest.mark.parametrize(("role", "event", "outcome", "expected"), MATRIX)
def test_s12_matrix(role: Role, event: BuildEvent, outcome: BuildOutcome, expected: tuple[bool, bool, bool]) -> None:
    """CR14 to CR18."""
    assert fate(role, event, outcome) == BuildFate(*expected)


def component(name: str, *depends_on: str, at: str = "0", app: str = "app") -> Component:
    url = f"https://example.com/o/{name}"
    return Component(key(name), app, url, "main", ".", f"quay.io/o/{name}", digest(at), depends_on=depends_on)


def pull_request(name: str, number: int, branch: str) -> PullRequest:
    repository = f"https://example.com/o/{name}"
    return PullRequest(number, branch, "main", "", "", False, "open", f"h{number}", name="", repository=repository)


def build(name: str, letter: str, at: int, number: int = 0, event: BuildEvent = "pull_request") -> Build:
    return Build(
        f"{name}-{at}",
        key(name),
        event,
        "succeeded",
        f"https://example.com/o/{name}",
        f"c{at}",
        "",
        "main",
        number,
        f"quay.io/o/{name}",
        digest(letter),
        f"2024-01-01T00:00:{at:02}Z",
    )


WORLD = World({("team", "app"): ["e2e"]}, {("team", "app"): ["prod"]})


def planning(graph: Graph, builds: Sequence[Build], pulls: Sequence[PullRequest]) -> Planning:
    return Planning(graph, History(builds, pulls, graph.components), BranchNames())


def play(
    components: list[Component], builds: list[Build], pulls: list[PullRequest], world: World = WORLD
) -> Simulation:
    """Plays, in any order and with repetitions: what comes of it is the same."""
    graph, findings = build_graph(components)
    assert not [finding for finding in findings if finding.severity == "error"]
    expected = simulate(planning(graph, builds, pulls), world)
    for seed in range(5):
        random = Random(seed)
        some, others = [*builds, *random.sample(builds, len(builds) // 2)], [*pulls, *pulls]
        random.shuffle(some)
        random.shuffle(others)
        assert simulate(planning(graph, some, others), world) == expected
    return expected[0]


def images(snapshot: Snapshot) -> dict[str, str]:
    return {part.name: part.image.partition("@")[2][7:8] for part in snapshot.parts}


PARENT = [component("parent"), component("child", "parent", at="c")]


def test_s1_a_group_is_tested_as_a_whole() -> None:
    """CR14, CR24, CR25: the parent alone is not tested; with the child's build both are, and both get the result."""
    pulls = [pull_request("parent", 1, "update"), pull_request("child", 2, "update/child")]
    alone = play(PARENT, [build("parent", "1", 1, 1)], pulls[:1])
    assert [(snapshot.type, snapshot.tests, snapshot.reports) for snapshot in alone.snapshots] == [
        ("component", (), ("o/parent#1",))
    ]
    assert images(alone.snapshots[0]) == {"parent": "1", "child": "c"}
    both = play(PARENT, [build("parent", "1", 1, 1), build("child", "d", 2, 2)], pulls)
    (group,) = [snapshot for snapshot in both.snapshots if snapshot.type == "group"]
    assert (group.tests, set(group.reports)) == (("e2e",), {"o/parent#1", "o/child#2"})
    assert images(group) == {"parent": "1", "child": "d"}
    assert not both.releases


def test_s1_pushes_are_promoted_and_the_child_released() -> None:
    """CR15, CR16, CR17: the parent only becomes a candidate; the child is released once its tests have passed."""
    pushes = [build("parent", "8", 1, event="push"), build("child", "9", 2, event="push")]
    played = play(PARENT, pushes, [])
    child = next(snapshot for snapshot in played.snapshots if snapshot.component == "child")
    assert images(child) == {"parent": "8", "child": "9"}
    assert child.tests == ("e2e",)
    assert not played.releases
    passed = play(PARENT, pushes, [], replace(WORLD, passed=[snapshot.name for snapshot in played.snapshots]))
    assert [(release.snapshot, release.plan) for release in passed.releases] == [(child.name, "prod")]


def test_s3_a_mix_is_held() -> None:
    """S3, step 6: a bundle that was built without the controller beside it is not released before it has that."""
    components = [component("controller"), component("bundle", "controller", at="b")]
    builds = [build("controller", "9", 1, event="push"), build("bundle", "e", 2, event="push")]
    graph, _ = build_graph(components)
    plans, _ = plan(graph, History(builds, [], graph.components), BranchNames())
    assert [plan.branch for plan in plans] == ["component-update-controller/bundle"]
    names = ["app-20240101-000001-000", "app-20240101-000002-000"]
    played = play(components, builds, [], replace(WORLD, passed=names, plans=plans))
    assert [(snapshot.component, snapshot.blocker) for snapshot in played.snapshots] == [
        ("controller", ""),
        ("bundle", "bundle was built without this controller, which component-update-controller/bundle updates"),
    ]
    assert not played.releases
    # Built before, it goes with the controller of then.
    early = [replace(builds[1], started="2024-01-01T00:00:00Z", name="bundle-0"), builds[0]]
    played = play(components, early, [], replace(WORLD, passed=["app-20240101-000000-000"], plans=plans))
    assert images(played.snapshots[0]) == {"controller": "0", "bundle": "e"}
    assert [release.snapshot for release in played.releases] == ["app-20240101-000000-000"]


def test_snapshots_do_not_change() -> None:
    """CR15: what is promoted later is in none that was made before."""
    builds = [build("parent", "8", 3, event="push"), build("child", "9", 2, event="push")]
    promoted = [component("parent", at="8"), component("child", "parent", at="c")]
    assert images(play(promoted, builds, []).snapshots[0]) == {"child": "9"}


def test_an_older_push_is_no_candidate() -> None:
    """CR15: whatever order they are seen in."""
    pushes = [build("parent", "2", 2, event="push"), build("parent", "1", 1, event="push")]
    assert images(play(PARENT, pushes, []).snapshots[0])["parent"] == "2"


def test_s4_a_group_without_edges() -> None:
    """CR10, CR11, CR18, CR24, CR25: two independent Components are tested together; another application's are not."""
    components = [component("a"), component("b"), component("other", app="app2")]
    pulls = [
        pull_request("a", 1, "my-feature/x"),
        pull_request("b", 2, "my-feature/y"),
        pull_request("other", 3, "my-feature/z"),
    ]
    builds = [build("a", "1", 1, 1), build("b", "2", 2, 2), build("other", "3", 3, 3)]
    played = play(components, builds, pulls)
    (group,) = [snapshot for snapshot in played.snapshots if snapshot.type == "group"]
    assert images(group) == {"a": "1", "b": "2"}
    assert set(group.reports) == {"o/a#1", "o/b#2"}
    only = play(components, builds[:1], pulls[:1])
    assert [snapshot.type for snapshot in only.snapshots] == ["component"]
    assert only.snapshots[0].tests == ("e2e",)


def test_s5_only_the_end_of_a_chain_is_tested() -> None:
    """I4: what is both is treated as a dependency."""
    components = [component("base"), component("op", "base"), component("bundle", "op")]
    played = play(components, [build("op", "1", 1, event="push"), build("bundle", "2", 2, event="push")], [])
    assert {snapshot.component: snapshot.tests for snapshot in played.snapshots} == {"op": (), "bundle": ("e2e",)}


def test_i14_a_group_of_dependencies_is_not_tested() -> None:
    """CR14, I14: their snapshot is reported as untested as long as nothing is built that depends on them."""
    components = [component("a"), component("b"), component("bundle", "a", "b", at="c")]
    pulls = [pull_request("a", 1, "f/x"), pull_request("b", 2, "f/y")]
    builds = [build("a", "1", 1, 1), build("b", "2", 2, 2)]
    (group,) = [snapshot for snapshot in play(components, builds, pulls).snapshots if snapshot.type == "group"]
    assert (group.tests, images(group)) == ((), {"a": "1", "b": "2", "bundle": "c"})
    graph, _ = build_graph(components)
    _, findings = simulate(planning(graph, builds, pulls), WORLD)
    warnings = [finding.message for finding in findings if finding.severity == "warning"]
    assert warnings == ["group f: not tested: nothing that depends on its Components is built in it"]


def test_names_are_those_of_konflux() -> None:
    """`<application>-YYYYMMDD-HHMMSS-mmm` of the start of the build; one second may have several."""
    played = play(
        [component("a"), component("b")], [build("a", "1", 1, event="push"), build("b", "2", 1, event="push")], []
    )
    assert [snapshot.name for snapshot in played.snapshots] == ["app-20240101-000001-000", "app-20240101-000001-000-b"]


@pytest.mark.parametrize(("branch", "counts"), [("f/bundle", "1"), ("f/1", "2")])
def test_i13_what_was_planned_is_known_by_its_branch(branch: str, counts: str) -> None:
    """I13: a person may quote the block of another pull request."""
    components = [component("op"), component("bundle", "op")]
    pulls = [
        pull_request("op", 1, "f/op"),
        replace(pull_request("bundle", 1, branch), body=f"See:\n{MarkedPart(MARK, '')}\n"),
        pull_request("bundle", 2, "f/2"),
    ]
    builds = [build("op", "9", 1, 1), build("bundle", "1", 2, 1), build("bundle", "2", 3, 2)]
    (group,) = [snapshot for snapshot in play(components, builds, pulls).snapshots if snapshot.type == "group"]
    assert images(group) == {"op": "9", "bundle": counts}
