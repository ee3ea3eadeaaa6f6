"""What all forges have in common, GitHub, GitLab and Forgejo against servers that speak as they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from forges.connected import HOSTED, Time, connect
from forges.fake_forge import TOKEN, FakeRepository
from forges.origins import Origin, comments_of
from krm_merge.forges.interface import Attention, Forge, ForgeError, ForgePullRequest
from krm_merge.forges.local import LocalForge


class World(Protocol):
    """A forge with one repository."""

    url: str

    @property
    def forge(self) -> Forge: ...

    def push(self, branch: str, file: str) -> str:
        """A branch off main that changes a file."""
        ...

    def comments(self, number: int) -> list[str]: ...


class LocalWorld:
    def __init__(self, place: Path) -> None:
        self.origin = Origin(place)
        self.url = self.origin.url
        self.forge = LocalForge()

    def push(self, branch: str, file: str) -> str:
        return self.origin.push(branch, {file: f"branch: {branch}\n"})

    def comments(self, number: int) -> list[str]:
        return comments_of(self.url, number)


class HostedWorld:
    def __init__(self, kind: str, app: FakeRepository, forge: Forge) -> None:
        self.url = f"https://{HOSTED[kind].host}/acme/app.git"
        self.app = app
        self.forge = forge

    def push(self, branch: str, file: str) -> str:
        return self.app.push(branch, file)

    def comments(self, number: int) -> list[str]:
        return self.app.pulls[number - 1].comments


@contextmanager
def hosted_world(kind: str, time: Time) -> Iterator[HostedWorld]:
    with HOSTED[kind].server(TOKEN) as server:
        server.repositories["acme/app"] = app = FakeRepository()
        yield HostedWorld(kind, app, connect(server, time, kind=kind))


@contextmanager
def open_request(kind: str, time: Time) -> Iterator[HostedWorld]:
    """A hosted forge with an open pull request."""
    with hosted_world(kind, time) as world:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        yield world


@pytest.fixture(params=["local", *HOSTED])
def world(request: pytest.FixtureRequest, tmp_path: Path, time: Time) -> Iterator[World]:
    if request.param == "local":
        yield LocalWorld(tmp_path)
        return
    with hosted_world(request.param, time) as world:
        yield world


class TestAllForges:
    def test_have_no_pull_requests_at_first(self, world: World) -> None:
        assert world.forge.pull_requests(world.url) == []

    def test_list_what_was_opened(self, world: World) -> None:
        head = world.push("x/child", "a.yaml")
        pull = world.forge.create(world.url, "x/child", "main", "Title", "Body\n", draft=True)
        assert pull == ForgePullRequest(
            1, "x/child", "main", "Title", "Body\n", True, "open", head=head, author=pull.author
        )
        assert world.forge.pull_requests(world.url) == [pull]
        assert world.forge.changed_files(world.url, 1) == ["a.yaml"]

    def test_give_the_one_that_is_open_for_a_branch(self, world: World) -> None:
        world.push("x", "a.yaml")
        first = world.forge.create(world.url, "x", "main", "Title", "Body", draft=True)
        assert world.forge.create(world.url, "x", "main", "Other", "Other", draft=False) == first
        assert world.forge.pull_requests(world.url) == [first]

    def test_open_another_one_for_another_target(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.push("stable", "b.yaml")
        numbers = [
            world.forge.create(world.url, "x", target, "Title", "Body", draft=False).number
            for target in ("main", "stable")
        ]
        assert numbers == [1, 2]

    def test_open_another_one_after_closing(self, world: World) -> None:
        world.push("x", "a.yaml")
        for number in (1, 2):
            assert world.forge.create(world.url, "x", "main", "Title", "Body", draft=False).number == number
            world.forge.close(world.url, number)
            world.forge.close(world.url, number)
        assert [pull.state for pull in world.forge.pull_requests(world.url)] == ["closed", "closed"]

    def test_edit(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=True)
        world.forge.edit(world.url, 1, "Größe", "")
        [pull] = world.forge.pull_requests(world.url)
        assert (pull.title, pull.body, pull.draft) == ("Größe", "", True)

    def test_draft_and_back(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        for draft in (True, True, False, False):
            world.forge.set_draft(world.url, 1, draft=draft)
            assert [pull.draft for pull in world.forge.pull_requests(world.url)] == [draft]

    def test_draft_nothing_that_is_closed(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        world.forge.close(world.url, 1)
        with pytest.raises(ForgeError, match="#1"):
            world.forge.set_draft(world.url, 1, draft=True)

    def test_comment_on_all(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        world.forge.comment(world.url, 1, "First")
        world.forge.close(world.url, 1)
        world.forge.comment(world.url, 1, "Größe\n\n- again")
        assert world.comments(1) == ["First", "Größe\n\n- again"]

    def test_refuse_what_is_not_there(self, world: World) -> None:
        world.push("x", "a.yaml")
        calls: list[Callable[[], object]] = [
            lambda: world.forge.create(world.url, "y", "main", "", "", draft=False),
            lambda: world.forge.create(world.url, "x", "y", "", "", draft=False),
            lambda: world.forge.create(world.url, "main", "main", "", "", draft=False),
            lambda: world.forge.edit(world.url, 7, "", ""),
            lambda: world.forge.set_draft(world.url, 7, draft=True),
            lambda: world.forge.close(world.url, 7),
            lambda: world.forge.comment(world.url, 7, ""),
            lambda: world.forge.changed_files(world.url, 7),
        ]
        for ask in calls:
            with pytest.raises(ForgeError, match=r"app.*; |no pull request #7"):
                ask()
        assert world.forge.pull_requests(world.url) == []

    def test_find_those_of_a_branch_in_whatever_state(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.push("y", "b.yaml")
        for branch in ("x", "y"):
            world.forge.create(world.url, branch, "main", "Title", "Body", draft=False)
        world.forge.close(world.url, 1)
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=False)
        pulls = world.forge.pull_requests_from(world.url, "x")
        assert [(pull.number, pull.state) for pull in pulls] == [(1, "closed"), (3, "open")]
        assert [pull.number for pull in world.forge.open_pull_requests(world.url)] == [2, 3]

    def test_find_one_by_its_number(self, world: World) -> None:
        world.push("x", "a.yaml")
        pull = world.forge.create(world.url, "x", "main", "Title", "Body", draft=True)
        assert world.forge.pull_request(world.url, 1) == pull
        assert world.forge.pull_request(world.url, 2) is None

    def test_a_draft_stays_one_whatever_its_title(self, world: World) -> None:
        world.push("x", "a.yaml")
        world.forge.create(world.url, "x", "main", "Title", "Body", draft=True)
        world.forge.edit(world.url, 1, "Other", "Body")
        world.forge.set_draft(world.url, 1, draft=False)
        [pull] = world.forge.pull_requests(world.url)
        assert (pull.title, pull.draft) == ("Other", False)


class TestAttention:
    @pytest.mark.parametrize("kind", [*HOSTED])
    def test_is_added_to_what_there_is(self, kind: str, time: Time) -> None:
        with open_request(kind, time) as world:
            world.app.pulls[0].assignees = ["sam"]
            world.forge.request_attention(world.url, 1, Attention(("fleet", "shop"), ("kim",), ("kim",)))
        pull = world.app.pulls[0]
        assert (pull.labels, pull.reviewers, pull.assignees) == (["fleet", "shop"], ["kim"], ["sam", "kim"])

    @pytest.mark.parametrize("kind", ["github", "forgejo"])
    def test_reaches_teams(self, kind: str, time: Time) -> None:
        with open_request(kind, time) as world:
            world.forge.request_attention(world.url, 1, Attention(reviewers=("acme/web", "kim")))
        assert world.app.pulls[0].reviewers == ["kim", "web"]

    def test_of_nobody_names_the_user(self, time: Time) -> None:
        with (
            open_request("gitlab", time) as world,
            pytest.raises(ForgeError, match="there is no user nobody; correct the name"),
        ):
            world.forge.request_attention(world.url, 1, Attention(reviewers=("nobody",)))


CHECKS = {
    "github": {
        "SUCCESS": "passed",
        "ERROR": "failed",
        "skipped": "passed",
        "cancelled": "failed",
        "stale": "pending",
        "": "",
    },
    "gitlab": {"success": "passed", "canceled": "failed", "running": "pending", "": ""},
    "forgejo": {"success": "passed", "failure": "failed", "pending": "pending", "": ""},
}


@pytest.mark.parametrize("kind", [*HOSTED])
def test_the_state_of_checks(kind: str, time: Time) -> None:
    with open_request(kind, time) as world:
        for state, meaning in CHECKS[kind].items():
            world.app.pulls[0].checks = state
            assert world.forge.checks(world.url, 1) == meaning
