"""Equal conflicts of many packages: shown once, and settled once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from e2e.hosts import SECONDS, git, installed_program
from fleet.world import World
from packages.repositories import write


def values(tree: Path) -> list[str]:
    """What local has in `data.a`, by package."""
    lines = (path.read_text().splitlines() for path in sorted(tree.glob("team-*/pkg-*/a.yaml")))
    return [next(line for line in text if line.startswith("  a: ")).removeprefix("  a: ") for text in lines]


def test_equal_conflicts_are_one_group(world: World) -> None:
    tree = world.working_tree(6, conflicts=3)
    write(tree / "team-3/pkg-003", world.package(a="four"))
    git(tree, "commit", "--quiet", "--all", "--message=four")
    world.plan()
    world.fleet("run", "campaign")
    done = world.fleet("conflicts", "campaign", "--format", "json", "--report", "conflicts.md")
    groups = json.loads(done.stdout)["groups"]
    assert [(group["count"], group["values"]["local"]) for group in groups] == [(3, "three"), (1, "four")]
    assert groups[0]["packages"] == ["team-0/pkg-000", "team-1/pkg-001", "team-2/pkg-002"]
    assert "3 packages: team-0/pkg-000" in (world.place / "conflicts.md").read_text()
    output = world.fleet("conflicts", "campaign").stdout
    assert output.startswith("3 x ConfigMap data.a\n")


def test_a_choice_for_a_group_touches_its_packages_alone(world: World) -> None:
    tree = world.working_tree(6, conflicts=3)
    write(tree / "team-3/pkg-003", world.package(a="four"))
    git(tree, "commit", "--quiet", "--all", "--message=four")
    world.plan()
    world.fleet("run", "campaign")
    assert values(tree) == ["three", "three", "three", "four", "two", "two"]
    done = world.fleet("resolve", "campaign", "--terminal", stdin="u\ns\n")
    assert done.returncode == 0, done.stderr
    again = world.fleet("run", "campaign")
    assert (again.returncode, again.stdout.partition(" in ")[0]) == (1, "3 merged")
    assert values(tree) == ["two", "two", "two", "four", "two", "two"]
    assert world.states() == {"clean": 5, "conflicts": 1}
    assert world.fleet("run", "campaign").stdout.startswith("0 merged")
    output = world.fleet("conflicts", "campaign", "--all").stdout
    assert "[settled by resolution policy.yaml resolutions[0]]" in output


def test_always_is_a_rule(world: World) -> None:
    tree = world.working_tree(3, conflicts=2)
    world.plan()
    world.fleet("run", "campaign")
    world.fleet("resolve", "campaign", "--terminal", stdin="!l\n")
    assert world.fleet("run", "campaign").stdout.startswith("2 merged")
    assert values(tree) == ["three", "three", "two"]
    assert world.states() == {"clean": 3}


def test_a_choice_of_the_package_comes_first(world: World) -> None:
    tree = world.working_tree(2, conflicts=2)
    policy = (
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata:\n  name: own\n"
        '  annotations: {config.kubernetes.io/local-config: "true"}\n'
        "rules:\n- {kind: ConfigMap, path: data.a, onConflict: upstream}\n"
    )
    write(tree / "team-0/pkg-000", {"merge-policy.yaml": policy})
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message=policy")
    world.plan()
    world.fleet("run", "campaign")
    world.fleet("resolve", "campaign", "--terminal", stdin="!l\n")
    world.fleet("run", "campaign")
    assert values(tree) == ["two", "three"]


@pytest.mark.parametrize("options", [[], ["--on-conflict", "fail"]])
def test_what_nothing_settles_is_left_as_it_is_until_it_is_settled(world: World, options: list[str]) -> None:
    tree = world.working_tree(3, conflicts=1)
    world.plan("--packages", "tree", *options)
    done = world.fleet("run", "campaign")
    assert done.returncode == 1
    assert "1 x ConfigMap data.a: upstream changed it, local changed it" in done.stdout
    assert "  krm-merge fleet resolve campaign " in done.stdout
    assert world.states() == {"clean": 2, "conflicts": 1}
    assert values(tree) == ["three", "two", "two"]
    world.fleet("resolve", "campaign", "--terminal", stdin="u\n")
    assert world.fleet("run", "campaign").returncode == 0
    assert values(tree) == ["two"] * 3


@pytest.mark.parametrize(("winner", "value"), [("upstream", "two"), ("local", "three")])
def test_what_the_campaign_decides_is_merged_and_can_still_be_settled(world: World, winner: str, value: str) -> None:
    tree = world.working_tree(2, conflicts=1)
    world.plan("--packages", "tree", "--on-conflict", winner)
    done = world.fleet("run", "campaign")
    assert done.returncode == 0, done.stdout
    assert "see the conflicts: krm-merge fleet conflicts campaign" in done.stdout
    assert world.states() == {"clean": 2}
    assert values(tree) == [value, "two"]
    world.fleet("resolve", "campaign", "--terminal", stdin="o\n")
    assert world.fleet("run", "campaign").stdout.startswith("1 merged")
    assert values(tree) == ["one", "two"]


def test_the_page_settles_a_group(world: World) -> None:
    tree = world.working_tree(5, conflicts=4)
    world.plan()
    world.fleet("run", "campaign")
    with page_of(world) as ask:
        (record,) = ask("/api/report")["records"]
        assert ask("/api/choose", {"revision": 0, "ids": [record["id"]], "choice": "upstream"})["open"] == 0
        assert ask("/api/save", {"revision": 1})["files"] == ["policy.yaml"]
        ask("/api/close", {})
    assert world.fleet("run", "campaign").stdout.startswith("4 merged")
    assert values(tree) == ["two"] * 5


def test_a_policy_that_somebody_edits_meanwhile_is_not_overwritten(world: World) -> None:
    world.working_tree(1, conflicts=1)
    world.plan()
    world.fleet("run", "campaign")
    world.fleet("resolve", "campaign", "--terminal", stdin="u\n")
    place = world.place / "campaign/policy.yaml"
    with page_of(world) as ask:
        (record,) = ask("/api/report")["records"]
        assert record["chosen"] == "upstream"
        ask("/api/choose", {"revision": 0, "ids": [record["id"]], "choice": "local"})
        edited = place.read_text() + "# mine\n"
        place.write_text(edited)
        assert "policy.yaml" in ask("/api/save", {"revision": 1})["error"]
        ask("/api/close", {})
    assert place.read_text() == edited


def test_packages_in_policy_yaml_are_names_or_patterns(world: World) -> None:
    tree = world.working_tree(4, conflicts=4)
    world.plan()
    world.fleet("run", "campaign")
    world.fleet("resolve", "campaign", "--terminal", stdin="u\n")
    place = world.place / "campaign/policy.yaml"
    place.write_text(place.read_text().replace("- path:", "- packages: [team-1/pkg-001, 'team-[23]/*']\n  path:"))
    assert world.fleet("run", "campaign").stdout.startswith("3 merged")
    assert values(tree) == ["three", "two", "two", "two"]
    place.write_text(place.read_text().replace("team-1/pkg-001", "0"))
    done = world.fleet("run", "campaign")
    assert (done.returncode, done.stderr) == (
        3,
        "error campaign/policy.yaml: resolutions[0].packages[0] is 0; a string is expected\n",
    )


@contextmanager
def page_of(world: World) -> Iterator[Callable[..., Any]]:
    """Asks the server of `fleet resolve`, until it ends."""
    command = [installed_program(), "fleet", "resolve", "campaign", "--no-browser"]
    process = subprocess.Popen(command, cwd=world.place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = urlsplit(process.stdout.readline().strip())

    def ask(path: str, body: object = None) -> Any:
        connection = HTTPConnection("127.0.0.1", address.port or 0, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {address.fragment}", "Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    try:
        yield ask
    finally:
        process.communicate(timeout=SECONDS)
