"""Components whose images have one name: each reference is of one of them, by its digest or its tag (C5)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from components.observations import Observations, digest, key
from components.world import World
from krm_merge.components.digests import ImageIdentity, replace_digests

BASE = "quay.io/o/base"
OF_P = ImageIdentity(
    frozenset({digest("0"), digest("1")}),
    frozenset({"rhel8"}),
    frozenset({digest("5"), digest("6")}),
    frozenset({"rhel9"}),
)


def reference(tag: str, letter: str) -> str:
    return f"FROM {BASE}{tag}@{digest(letter)}\n"


@pytest.mark.parametrize(
    ("tag", "letter", "owner"),
    [
        (":rhel8", "0", "ours"),
        (":rhel8", "9", "ours"),
        ("", "0", "ours"),
        (":v1", "0", "ours"),
        (":rhel9", "5", "theirs"),
        (":rhel9", "9", "theirs"),
        ("", "5", "theirs"),
        ("", "9", "unclear"),
        (":v1", "9", "unclear"),
        (":rhel8", "5", "unclear"),
        (":rhel9", "0", "unclear"),
    ],
)
def test_whose_a_reference_is(tag: str, letter: str, owner: str) -> None:
    data = reference(tag, letter).encode()
    edited = replace_digests(data, [BASE], OF_P, digest("1"), "Dockerfile")
    # A tag says whose a reference is; whether its digest is known is another matter.
    is_replaced = owner == "ours" and letter == "0"
    assert edited.data == (reference(tag, "1").encode() if is_replaced else data)
    doubts = [problem for problem in edited.problems if "may belong to another Component" in problem.message]
    assert [doubt.severity for doubt in doubts] == ["warning"] * (owner == "unclear")
    assert all(digest(letter) in doubt.message for doubt in doubts)


def test_those_of_others_are_no_catalog_of_versions() -> None:
    """Two digests of one name in a file, each of a component of its own."""
    data = reference(":rhel8", "0") + reference(":rhel9", "5")
    edited = replace_digests(data.encode(), [BASE], OF_P, digest("1"), "Dockerfile")
    assert edited.data.decode() == reference(":rhel8", "1") + reference(":rhel9", "5")
    assert edited.problems == ()


def test_what_both_are_known_of_is_told_by_its_tag() -> None:
    image = replace(OF_P, other_digests=OF_P.digests)
    for tag, expected in ((":rhel8", "1"), (":rhel9", "0"), ("", "0")):
        edited = replace_digests(reference(tag, "0").encode(), [BASE], image, digest("1"), "Dockerfile")
        assert edited.data.decode() == reference(tag, expected)


# ---- plans ---------------------------------------------------------------------------------------------------------


def sharing(*child: str) -> Observations:
    state = Observations()
    for name, at, tag in (("p", "0", "rhel8"), ("q", "5", "rhel9")):
        state.component(name, at=at)
        state.components[name] = replace(state.components[name], image=BASE, tags=("latest", tag))
    state.component("child", *child)
    return state


def test_plans_tell_what_is_of_others() -> None:
    """All known digests of the other Component, including those of this plan."""
    state = sharing("p", "q")
    for name, letter in (("p", "1"), ("q", "6")):
        state.open(name, "feat")
        state.build(name, letter, 1)
    state.open("q", "other")
    state.build("q", "7", 2)
    plan = next(update for update in state.plan()[0] if update.group == "feat")
    p, q = plan.digests
    assert (p.tags, p.other_digests, p.other_tags) == (("rhel8",), (digest("5"), digest("6"), digest("7")), ("rhel9",))
    assert (q.tags, q.other_digests, q.other_tags) == (("rhel9",), (digest("0"), digest("1")), ("rhel8",))


def test_plans_remember_what_other_plans_brought() -> None:
    """Builds are not kept for long; descriptions are."""
    state = sharing("p", "q")
    state.open("q", "feat")
    state.build("q", "6", 1)
    state.step()
    state.builds.clear()
    state.push("p", "1")
    p = next(plan for plan in state.plan()[0] if plan.group == "component-update-p").digests[0]
    assert p.other_digests == (digest("5"), digest("6"))


def test_what_the_dependant_does_not_depend_on() -> None:
    """A digest of both is of the one that is depended on; in another namespace nothing is shared."""
    state = sharing("p")
    state.components["q"] = replace(state.components["q"], digest=digest("0"))
    state.push("p", "1")
    (edit,) = state.plan()[0][0].digests
    assert (edit.replaceable, edit.other_digests, edit.other_tags) == ((digest("0"),), (), ("rhel9",))
    state.components["q"] = replace(state.components["q"], key=replace(key("q"), namespace="other"))
    (edit,) = state.plan()[0][0].digests
    assert (edit.tags, edit.other_digests, edit.other_tags) == ((), (), ())


# ---- on git --------------------------------------------------------------------------------------------------------


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two base images of one name, and who is built from both."""
    monkeypatch.setenv("KRM_MERGE_CACHE_DIR", str(tmp_path / "cache"))
    world = World(tmp_path)
    for name, at, tag in (("p", "0", "rhel8"), ("q", "5", "rhel9")):
        world.repository(name, {"a": "a"})
        world.component(name, name, at=at)
        place = world.package / f"components/{name}.yaml"
        place.write_text(place.read_text().replace(f"quay.io/o/{name}@", f"{BASE}:{tag}@"))
    world.repository("child", {"Dockerfile": reference(":rhel8", "0"), "Dockerfile9": reference(":rhel9", "5")})
    world.component("child", "child", "p", "q")
    return world


def test_each_file_gets_its_own(world: World) -> None:
    """C4, C5: and a second round pushes nothing."""
    for name, letter in (("p", "1"), ("q", "6")):
        world.commit(name, "feat", {"a": "b"})
        world.build(name, name, letter, world.open(name, "feat"))
    world.go_on("p", "q", "child")
    expected = {"Dockerfile": reference(":rhel8", "1").strip(), "Dockerfile9": reference(":rhel9", "6").strip()}
    assert world.files("child", "feat/child") == expected
    assert len(world.subjects("child", "feat/child")) == 2


def test_the_other_one_is_left(world: World) -> None:
    """C5: a push of one alone."""
    world.commit("child", "main", {"Dockerfile9": None})
    world.build("q", "q", "6", event="push")
    world.plan("p", "q", "child")
    assert world.apply() == 0
    assert world.branches("child") == {"main"}
