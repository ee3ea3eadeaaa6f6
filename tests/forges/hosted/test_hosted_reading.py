"""What GitHub, GitLab and Forgejo say of pull requests, read alike."""

from __future__ import annotations

import pytest

from forges.connected import HOSTED, Time, connect, open_pull
from forges.fake_forge import TOKEN, FakeForge, FakeRepository, Fault
from krm_merge.forges.interface import Forge, ForgeError


@pytest.fixture(params=[*HOSTED])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("page", [1, 3, 100])
def test_all_pages_are_read(forge: Forge, server: FakeForge, app: FakeRepository, url: str, page: int) -> None:
    server.page = page
    app.push("x", *(f"{number}.yaml" for number in range(7)))
    for number in range(5):
        app.open_pull("x", f"target-{number}", "", None, draft=False)
    assert [pull.number for pull in forge.pull_requests(url)] == [1, 2, 3, 4, 5]
    assert [pull.number for pull in forge.open_pull_requests(url)] == [1, 2, 3, 4, 5]
    assert forge.changed_files(url, 1) == [f"{number}.yaml" for number in range(7)]


def test_open_closed_and_merged(forge: Forge, app: FakeRepository, url: str) -> None:
    app.open_pull("x", "main", "", None, draft=False)
    app.open_pull("x", "main", "", None, draft=False, state="closed")
    app.open_pull("x", "main", "", None, draft=False, state="closed", merged="a" * 40)
    pulls = forge.pull_requests(url)
    assert [(pull.state, pull.merge_commit, pull.merged_at) for pull in pulls] == [
        ("open", "", ""),
        ("closed", "", ""),
        ("merged", "a" * 40, "2026-01-02T03:04:05Z"),
    ]


def test_branches_of_forks_have_their_owner(forge: Forge, app: FakeRepository, url: str) -> None:
    """CR21: somebody else's branch of the same name is not ours."""
    app.push("x")
    app.open_pull("x", "main", "", None, draft=False, fork="eve", author=None if forge_names_forks(url) else "eve")
    app.open_pull("x", "main", "", None, draft=False, fork="", author=None)
    assert [pull.source_branch for pull in forge.pull_requests(url)] == ["eve:x", "unknown:x"]
    assert forge.pull_requests_from(url, "x") == []
    assert open_pull(forge, url=url).number == 3


def forge_names_forks(url: str) -> bool:
    """GitLab says only who opened it."""
    return "gitlab" not in url


def test_renamed_files_have_both_names(forge: Forge, app: FakeRepository, url: str) -> None:
    pull = app.open_pull("x", "main", "", None, draft=False)
    pull.files = [("new.yaml", "old.yaml"), ("b.yaml", ""), ("old.yaml", "")]
    assert forge.changed_files(url, 1) == ["b.yaml", "new.yaml", "old.yaml"]


def test_a_repository_that_was_renamed_is_followed(forge: Forge, server: FakeForge, url: str) -> None:
    """Also with the filters of a list: what is asked for of one branch is of that branch."""
    server.repositories["acme/app"] = renamed = FakeRepository()
    server.move("acme/app", "acme/renamed")
    renamed.push("x", "a.yaml")
    renamed.open_pull("y", "main", "", None, draft=False)
    renamed.open_pull("z", "main", "", None, draft=False, state="closed")
    assert open_pull(forge, url=url).number == 3
    forge.edit(url, 3, "Other", "")
    assert renamed.pulls[2].title == "Other"
    assert [pull.number for pull in forge.pull_requests_from(url, "x")] == [3]
    assert [pull.number for pull in forge.open_pull_requests(url)] == [1, 3]


def test_a_repository_that_moved_to_another_owner_is_followed(forge: Forge, server: FakeForge, url: str) -> None:
    server.repositories["acme/app"] = app = FakeRepository()
    app.push("x", "a.yaml")
    app.push("y", "a.yaml")
    assert open_pull(forge, url=url).number == 1
    server.move("acme/app", "other/app")
    assert [pull.number for pull in forge.pull_requests_from(url, "x")] == [1]
    # The open one is found instead of opened again, and another one can be opened and closed.
    assert open_pull(forge, url=url).number == 1
    assert open_pull(forge, "y", url=url).number == 2
    forge.close(url, 2)
    forge.comment(url, 2, "closed")
    assert [(pull.state, pull.comments) for pull in app.pulls] == [("open", []), ("closed", ["closed"])]
    assert forge.pull_requests_from(url, "z") == []


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_token_goes_to_no_other_server(
    forge: Forge, server: FakeForge, app: FakeRepository, kind: str, url: str, method: str
) -> None:
    app.push("x")
    with HOSTED[kind].server(TOKEN) as other:
        server.elsewhere = other.api
        with pytest.raises(ForgeError, match=r"redirects to http://127\.0\.0\.1, which is not sent the token"):
            forge.pull_requests(url) if method == "GET" else open_pull(forge, url=url)
        assert not other.seen


def test_the_token_does_not_follow_the_next_page(
    forge: Forge, server: FakeForge, app: FakeRepository, kind: str, url: str
) -> None:
    app.open_pull("x", "main", "", None, draft=False)
    forge.pull_requests(url)
    page = server.answer(server.seen[-1])[2]
    with HOSTED[kind].server(TOKEN) as other:
        link = {"Link": f'<{other.api}/next>; rel="next"', "Content-Type": "application/json"}
        server.faults.append(Fault(200, link, page))
        with pytest.raises(ForgeError):
            forge.pull_requests(url)
        assert not other.seen


def test_a_password_of_netrc_is_not_taken_for_the_token(
    server: FakeForge, time: Time, kind: str, url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password other\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETRC", str(netrc))
        assert connect(server, time, kind=kind).pull_requests(url) == []
    assert {seen.headers["Authorization"] for seen in server.seen} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    "body", [None, {}, {"message": "hello"}, [7], [{}], [{"number": "1", "iid": "1", "state": "open"}], "text", 5]
)
def test_an_answer_of_another_shape(forge: Forge, server: FakeForge, url: str, body: object) -> None:
    server.faults.append(Fault(200, body=body))
    with pytest.raises(ForgeError, match=r"^acme/app: listing the pull requests: .*; correct the address of the API$"):
        forge.pull_requests(url)


@pytest.mark.parametrize(
    ("mark", "is_draft"),
    [("Draft: ", True), ("[Draft] ", True), ("(draft) ", True), ("draft:", True), ("Drafting ", False)],
)
def test_gitlab_has_several_marks_of_drafts(mark: str, is_draft: bool, time: Time) -> None:
    """What is edited has the mark that is usual, and only one."""
    hosted = HOSTED["gitlab"]
    with hosted.server(TOKEN) as server:
        server.repositories["acme/app"] = app = FakeRepository()
        pull = app.open_pull("x", "main", f"{mark}Title", "", draft=False)
        url = "https://gitlab.com/acme/app"
        forge = connect(server, time, kind="gitlab")
        title = "Title" if is_draft else f"{mark}Title"
        assert forge.pull_requests(url)[0].title == title
        pull.draft = True
        forge.edit(url, 1, forge.pull_requests(url)[0].title, "")
        assert (pull.title, pull.draft) == (title, True)


def test_gitlab_behind_a_proxy_may_know_its_host_by_another_name(time: Time) -> None:
    with HOSTED["gitlab"].server(TOKEN, page=1) as server:
        server.repositories["acme/app"] = app = FakeRepository()
        for _ in range(3):
            app.open_pull("x", "main", "", None, draft=False)
        forge = connect(server, time, kind="gitlab")
        url = "https://gitlab.com/acme/app"
        assert len(forge.pull_requests(url)) == 3
        _, headers, page = server.answer(server.requests("GET", "/merge_requests")[0])
        link = headers["Link"].replace(server.origin, "http://gitlab.internal:8080")
        server.faults.append(Fault(200, {"Link": link}, page))
        assert [pull.number for pull in forge.pull_requests(url)] == [1, 2, 3]


def test_gitlab_has_groups_in_groups(time: Time) -> None:
    hosted = HOSTED["gitlab"]
    with hosted.server(TOKEN) as server:
        server.repositories["acme/team/sub/app"] = app = FakeRepository()
        app.push("x")
        forge = connect(server, time, kind="gitlab")
        assert open_pull(forge, url="git@gitlab.com:acme/team/sub/app.git").number == 1
        with pytest.raises(ForgeError, match=r"gitlab\.com/acme is not a repository of gitlab\.com"):
            forge.pull_requests("https://gitlab.com/acme")


def test_forgejo_lists_only_the_last_that_ended(time: Time) -> None:
    """C13: it has no filter for branches, and requests must not grow with history."""
    with HOSTED["forgejo"].server(TOKEN) as server:
        server.repositories["acme/app"] = app = FakeRepository()
        app.push("x")
        for _ in range(500):
            app.open_pull("old", "main", "", None, draft=False, state="closed")
        app.open_pull("x", "main", "", None, draft=False, state="closed")
        forge = connect(server, time, kind="forgejo")
        pulls = forge.pull_requests_from("https://codeberg.org/acme/app", "x")
        assert [(pull.number, pull.state) for pull in pulls] == [(501, "closed")]
        assert len(server.seen) <= 4
