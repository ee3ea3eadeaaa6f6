"""Mistakes in several resources together, in missing ones, and in the functionConfig."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.konflux.wrong_input import (
    ANNOTATIONS,
    GOOD,
    MODES,
    SPEC,
    Object,
    change,
    items_with,
    places,
)
from components.observations import Observations, run
from krm_merge.functions import process
from krm_merge.functions.component_items import read_items
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.text.reading.nodes import MappingNode, from_value

# --- What several resources say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_one_component_twice(mode: str) -> None:
    """Both files are named; the API groups of Konflux are one."""
    place = (*ANNOTATIONS, "internal.config.kubernetes.io/path")
    again = change(change(GOOD["Component parent"], place, "old/parent.yaml"), ("apiVersion",), "konflux-ci.dev/v1")
    items = [*items_with(), yaml.safe_dump(again)]
    answer = run(items, mode)
    assert (answer.exit_code, answer.items) == (1, items)
    (error,) = answer.results
    assert "parent.yaml and old/parent.yaml describe the same Component; remove one of them" in str(error["message"])
    assert error["file"] == {"path": "old/parent.yaml"}
    assert error["field"] == {"path": "metadata.name"}
    elsewhere = change(again, ("metadata", "namespace"), "other")
    assert run([*items_with(), yaml.safe_dump(elsewhere)], mode).exit_code == 0


def test_a_pull_request_may_be_observed_twice() -> None:
    """A late observation of another state is not an error."""
    later = change(GOOD["PullRequest parent-7"], ("status", "state"), "closed")
    answer = run([*items_with(), yaml.safe_dump(change(later, ("metadata", "name"), "later"))], "plan")
    assert answer.exit_code == 0


ADMITTED: list[tuple[Object, bool]] = [
    ({"origin": "team", "applications": ["app"]}, True),
    ({"origin": "team", "applications": ["other", "app"]}, True),
    ({"origin": "team"}, True),
    ({"applications": ["app"]}, True),
    ({}, True),
    ({"origin": None, "applications": None}, True),
    ({"origin": "other", "applications": ["app"]}, False),
    ({"origin": "team", "applications": ["other"]}, False),
    ({"origin": "team", "applications": []}, False),
]


@pytest.mark.parametrize(("whose", "counts"), ADMITTED)
def test_admissions_of_others(whose: Object, counts: bool) -> None:
    """The names apply to the applications of the admission, not to every Component of that name."""
    admission = change(
        GOOD["ReleasePlanAdmission admission"],
        SPEC,
        {
            "data": {
                "mapping": {
                    "components": [
                        {
                            "name": "parent",
                            "repositories": [{"url": "quay.io/released/parent"}, {"url": "quay.io/released/parent:1"}],
                        },
                        {"name": "child", "repositories": [{"url": "quay.io/released/child"}]},
                    ]
                }
            },
            **whose,
        },
    )
    answer = run(items_with(admission), "plan")
    (plan,) = [yaml.safe_load(item) for item in answer.items if "kind: PullRequestPlan" in item]
    released = ["quay.io/released/parent"] if counts else []
    assert plan["spec"]["commits"][0]["repositories"] == ["quay.io/acme/parent", *released]


# --- What is not there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_no_component(mode: str) -> None:
    """C3: silence would look like success."""
    others = [
        yaml.safe_dump(resource)
        for resource in GOOD.values()
        if resource["kind"] not in ("Component", "PullRequestPlan")
    ]
    foreign = yaml.safe_dump(change(GOOD["Component child"], ("apiVersion",), "example.com/v1"))
    for items in ([], others, [foreign]):
        answer = run(items, mode)
        assert answer.exit_code == 0
        (message,) = answer.messages("C3")
        assert f"so there is nothing to {mode}; add them" in message
    assert run(items_with(), mode).messages("C3") == []


def test_removed_without_a_manifest() -> None:
    """CR5, C9: what was planned for a deleted dependency is closed, also where nothing but `removed` tells of it."""
    state = Observations()
    state.component("parent")
    state.component("child", "parent")
    state.open("parent", "feature")
    state.build("parent", "1", 1)
    state.step()
    pull = state.pulls["child", 1]
    spec = {"repository": pull.repository, "number": 1, "sourceBranch": pull.source_branch, "targetBranch": "main"}
    observed = change(GOOD["PullRequest parent-7"], SPEC, {**spec, "description": pull.body})
    source = {"url": pull.repository, "revision": "main"}
    child = change(GOOD["Component child"], SPEC, {"application": "app", "source": {"git": source}})
    items = [yaml.safe_dump(resource) for resource in (change(child, ANNOTATIONS, {}), observed)]
    assert run(items, "plan").rules() == ["CR6"]
    answer = run(items, "plan", "{removed: [parent]}")
    assert answer.rules() == ["CR5"]
    assert answer.messages("CR5") == ["child#1 is closed: its dependencies are deleted"]


def test_removed_is_in_what_configure_wrote() -> None:
    """C9: what `configure` derived declares nothing, but is to be taken out."""
    derived = "components.krm-merge.dev/derived-nudges"
    parent = change(GOOD["Component parent"], (*ANNOTATIONS, derived), "child")
    nudges = change(GOOD["NudgeConfig nudge-config"], (*ANNOTATIONS, derived), "parent>child")
    for resource in (parent, change(nudges, (*SPEC, "nudges", 0, "from"), "other")):
        messages = run([yaml.safe_dump(resource)], "configure", "{removed: [child]}").messages("C9")
        assert not [message for message in messages if "nothing is known" in message]


def test_removed_in_a_config_map() -> None:
    data = {"function": "PlanComponentUpdates", "mode": "configure", "removed": "ghost, parent"}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}
    items = [yaml.safe_load(item) for item in items_with()]
    whole = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": config}
    results = yaml.safe_load(process(yaml.safe_dump(whole).encode()).output)["results"]
    assert "CR5" in {result["tags"]["rule"] for result in results}


# --- The functionConfig ----------------------------------------------------------------------------------------------

CONFIGS = [
    ("{digest: x}", "digest", "functionConfig: digest is 'x'; a mapping is expected"),
    ("{digest: [a]}", "digest", "functionConfig: digest is a list; a mapping is expected"),
    ("{removed: parent}", "removed", "functionConfig: removed is 'parent'; a list is expected"),
    ("{removed: [1]}", "removed[0]", "functionConfig: removed[0] is 1; a string is expected"),
    (
        "{digest: {fils: []}}",
        "digest.fils",
        "digest.fils is an unknown field; choose from files, exclude",
    ),
    ("{digests: {}}", "digests", "ignoredPrefixes, digest, removed"),
]


@pytest.mark.parametrize(("config", "path", "says"), CONFIGS)
def test_function_config(config: str, path: str, says: str) -> None:
    """The expected type, in YAML's terms; for an unknown field, the known ones."""
    items = items_with()
    answer = run(items, "plan", config)
    assert (answer.exit_code, answer.items) == (1, items)
    (error,) = answer.results
    assert error["field"] == {"path": path}
    assert says in str(error["message"])


# --- Whatever else ---------------------------------------------------------------------------------------------------

ANYTHING: list[Any] = [None, 1, True, "", "x", [], {}, [None], {"a": 1}]
CHANGES = [(name, place, value) for name, resource in GOOD.items() for place in places(resource) for value in ANYTHING]


def read(value: Object) -> Results:
    root, results = from_value(value), Results()
    assert isinstance(root, MappingNode)
    read_items([Resource.from_tree(root, "a.yaml")], results)
    return results


def test_any_field_may_be_wrong() -> None:
    """Every field of every resource, by itself: read or refused with its field."""
    for name, place, value in CHANGES:
        for error in read(change(GOOD[name], place, value)).errors:
            assert error.file is not None
            assert error.path is not None or "metadata" in error.message or "apiVersion and kind" in error.message


@given(
    st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3, unique_by=lambda change: change[0]),
    st.sampled_from(MODES),
)
def test_what_is_read_can_be_planned(changes: list[tuple[str, tuple[str | int, ...], Any]], mode: str) -> None:
    """No mode breaks on what was not refused; refused is untouched."""
    resources = GOOD | {name: change(GOOD[name], place, value) for name, place, value in changes}
    items = [yaml.safe_dump(resource) for resource in resources.values()]
    answer = run(items, mode)
    assert answer.exit_code in (0, 1)
    assert answer.exit_code == 0 or answer.items == items
