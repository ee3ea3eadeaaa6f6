"""Every choice that is offered settles its conflict, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pytest

from e2e.hosts import git
from fleet.world import World
from krm_merge.fleet.campaign_file import CampaignDirectory
from krm_merge.fleet.conflicts import GroupSession, groups_of
from krm_merge.fleet.ledger import Ledger
from krm_merge.merge import Choice
from krm_merge.resolve.interface import NO_VALUE
from packages.repositories import Repository, kptfile, write
from resolve.packages import all_natures


def manifest(kind: str, name: str, body: str, *, api: str = "v1") -> str:
    return f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n{body}"


def secret(password: str, *, name: str = "login") -> str:
    return manifest("Secret", name, f"stringData:\n  password: {password}\n")


def tree_of(world: World, original: dict[str, str], upstream: dict[str, str], locals_: list[dict[str, str]]) -> Path:
    """A working tree with a package for each of the local sides."""
    source = world.place / "upstream"
    for files, message in ((original, "w1"), (upstream, "w2")):
        for file in (source / "other").glob("*.yaml"):
            file.unlink()
        write(
            source / "other", {"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: other\n", **files}
        )
        git(source, "add", "--all")
        git(source, "commit", "--quiet", f"--message={message}")
        git(source, "tag", message)
    tree = Repository.at(world.tree)
    text = kptfile(world.upstream, "w1", world.commit("w1"), "/other").replace("name: pkg", "name: other")
    for number, files in enumerate(locals_):
        write(world.tree / f"pkg-{number}", {"Kptfile": text, **files})
    tree.commit({})
    done = world.fleet("init", "campaign", "--upstream", f"{world.upstream}/other", "--to", "w2", "--packages", "tree")
    assert done.returncode == 0, done.stderr
    world.fleet("run", "campaign")
    return world.tree


def reported_groups(world: World) -> list[dict[str, Any]]:
    done = world.fleet("conflicts", "campaign", "--format", "json")
    groups: list[dict[str, Any]] = json.loads(done.stdout)["groups"]
    return groups


def resolve(world: World, answers: Iterable[str]) -> None:
    done = world.fleet("resolve", "campaign", "--terminal", stdin="".join(f"{answer}\n" for answer in answers))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("answer", "passwords"), [("l", ["own-0", "own-1"]), ("u", ["new", "new"])])
def test_values_of_secrets_are_settled_to_the_end(world: World, answer: str, passwords: list[str]) -> None:
    locals_ = [{"secret.yaml": secret(f"own-{number}")} for number in range(2)]
    tree = tree_of(world, {"secret.yaml": secret("old")}, {"secret.yaml": secret("new")}, locals_)
    assert [group["count"] for group in reported_groups(world)] == [2]
    resolve(world, answer)
    done = world.fleet("run", "campaign")
    assert done.returncode == 0, done.stdout
    texts = [(tree / f"pkg-{number}/secret.yaml").read_text() for number in range(2)]
    assert [text.rpartition("password: ")[2].strip() for text in texts] == passwords
    assert (world.place / "campaign/policy.yaml").read_text().count("own-") == 0


@pytest.mark.parametrize(("answer", "is_kept"), [("l", True), ("u", False)])
def test_whole_secrets_are_settled_to_the_end(world: World, answer: str, is_kept: bool) -> None:
    locals_ = [{"secret.yaml": secret(f"own-{number}"), "keep.yaml": secret("k", name="k")} for number in range(2)]
    first = {"secret.yaml": secret("old"), "keep.yaml": secret("k", name="k")}
    tree = tree_of(world, first, {"keep.yaml": secret("k", name="k")}, locals_)
    resolve(world, answer)
    done = world.fleet("run", "campaign")
    assert done.returncode == 0, done.stdout
    assert [(tree / f"pkg-{number}/secret.yaml").exists() for number in range(2)] == [is_kept] * 2


def cluster(api: str, name: str, instances: int) -> str:
    return manifest("Cluster", name, f"spec:\n  instances: {instances}\n", api=api)


CNPG, CAPI = "postgresql.cnpg.io/v1", "cluster.x-k8s.io/v1beta1"


def test_kinds_that_only_share_a_name_are_two_groups(world: World) -> None:
    def files(instances: int) -> dict[str, str]:
        return {"pg.yaml": cluster(CNPG, "pg", instances), "capi.yaml": cluster(CAPI, "capi", instances)}

    tree = tree_of(world, files(1), files(3), [files(5)])
    groups = reported_groups(world)
    assert sorted(group["apiGroup"] for group in groups) == ["cluster.x-k8s.io", "postgresql.cnpg.io"]
    answers = ["u" if group["apiGroup"] == "postgresql.cnpg.io" else "l" for group in groups]
    resolve(world, answers)
    assert world.fleet("run", "campaign").returncode == 0
    assert "instances: 3" in (tree / "pkg-0/pg.yaml").read_text()
    assert "instances: 5" in (tree / "pkg-0/capi.yaml").read_text()


def test_resources_of_one_package_are_settled_by_name(world: World) -> None:
    def files(replicas: int) -> dict[str, str]:
        return {
            f"{name}.yaml": manifest("Deployment", name, f"spec:\n  replicas: {replicas}\n", api="apps/v1")
            for name in ("database", "web")
        }

    tree = tree_of(world, files(1), files(3), [files(5), files(5)])
    groups = reported_groups(world)
    assert [(group["names"], group["count"]) for group in groups] == [(["database"], 2), (["web"], 2)]
    resolve(world, "lu")
    assert world.fleet("run", "campaign").returncode == 0
    for number in range(2):
        assert "replicas: 5" in (tree / f"pkg-{number}/database.yaml").read_text()
        assert "replicas: 3" in (tree / f"pkg-{number}/web.yaml").read_text()


def test_always_deletes_what_upstream_deleted(world: World) -> None:
    def deployment(*containers: str) -> dict[str, str]:
        body = "spec:\n  template:\n    spec:\n      containers:\n"
        body += "".join(f"      - name: {image[0]}\n        image: {image}\n" for image in containers)
        return {"web.yaml": manifest("Deployment", "web", body, api="apps/v1")}

    tree = tree_of(world, deployment("a:1", "b:1"), deployment("a:1"), [deployment("a:1", "b:2")])
    resolve(world, ["!u"])
    assert "onDelete: upstream" in (world.place / "campaign/policy.yaml").read_text()
    world.fleet("run", "campaign")
    assert (tree / "pkg-0/web.yaml").read_text() == deployment("a:1")["web.yaml"]


@pytest.mark.parametrize("choice", get_args(Choice))
def test_every_choice_of_every_nature_settles_to_the_end(world: World, choice: Choice) -> None:
    original, upstream, local = ({path: data.decode() for path, data in files.items()} for files in all_natures())
    tree_of(world, original, upstream, [local, local])
    groups = reported_groups(world)
    assert {group["nature"] for group in groups} >= {"value", "resource", "file", "element", "sequence", "text"}
    assert all(group["choices"] and group["count"] == 2 for group in groups)
    while groups:
        choose(world, choice)
        done = world.fleet("run", "campaign")
        before, groups = groups, reported_groups(world)
        # What the choices lead to is asked next: a reference that dangles shows when all else is settled.
        assert not {group["fingerprint"] for group in before} & {group["fingerprint"] for group in groups}
    assert done.returncode == 0, done.stdout
    assert world.states() == {"clean": 2}


def choose(world: World, choice: Choice) -> None:
    """Chooses the same for all groups, or their first choice."""
    directory = CampaignDirectory(world.place / "campaign")
    with Ledger.open(directory.ledger) as ledger:
        session = GroupSession(directory.read(), groups_of(ledger.conflicts()))
    for record in session.records:
        selected = choice if choice in record.choices else record.choices[0]
        session.choose([record.id], selected, "1" if selected == "value" else NO_VALUE)
    policy = session.save().changes["policy.yaml"]
    assert policy is not None
    (directory.path / "policy.yaml").write_bytes(policy.data)
