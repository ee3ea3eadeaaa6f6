"""Who made local's value in a conflict, when and why: from git, where the package is in it (D3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from krm_merge.packages import Directory, File
from krm_merge.resolve.api import Api, Host
from krm_merge.resolve.interface import OF_GIT, OF_PACKAGES, RefusedChoiceError, change_words
from krm_merge.resolve.session import Session, Task
from krm_merge.resolve.terminal import Screen, Terminal
from krm_merge.safe_text import REDACTED
from krm_merge.startup import replace
from krm_merge.usecases import LineCommit, MergeSides, line_history
from resolve.packages import FORK, HOSTILE, fork, session_of

IMAGE = "spec.template.spec.containers[name=web].image"
DAY = 24 * 60 * 60


def commits(task: Task) -> dict[tuple[str, str], LineCommit | None]:
    """The commits of all conflicts, by the name of the resource and the path."""
    session = Session(task)
    return {
        (record.resource.name if record.resource else "", record.path): session.local_commit(record.id)
        for record in session.open
    }


def test_each_conflict_has_the_commit_of_its_own_lines(tmp_path: Path) -> None:
    by_place = commits(fork(tmp_path / "fork"))
    subjects = {place: commit and (commit.author, commit.subject) for place, commit in by_place.items()}
    scaled, password = ("Ann", "scale for the launch"), ("Cleo", REDACTED)
    container = IMAGE.removesuffix(".image")
    image = by_place["other", IMAGE]
    assert image is not None
    assert image.subject.startswith(HOSTILE[:20])
    assert subjects == {
        **dict.fromkeys((("web", "spec.replicas"), ("other", "spec.replicas")), scaled),
        **dict.fromkeys((("web", IMAGE), ("other", IMAGE)), (image.author, image.subject)),
        # M6: not the words of who set it either.
        **dict.fromkeys((((n, f"{container}.env[name=DB_PASSWORD].value")) for n in ("web", "other")), password),
        # Nobody committed it.
        **dict.fromkeys((((n, f"{container}.args")) for n in ("web", "other")), None),
    }


def test_elements_resources_and_files_have_the_newest_commit_of_what_changed_in_them(tmp_path: Path) -> None:
    task = fork(tmp_path / "fork")
    assert isinstance(task.sides, MergeSides)
    local = Directory(tmp_path / "fork/web")
    (tmp_path / "fork/web/web.yaml").write_text(FORK.replace("replicas: 1", "replicas: 9"))
    # Upstream deleted the resource that Ann scaled.
    deleted = replace(task, sides=MergeSides({"web.yaml": File(FORK.encode())}, {}, local))
    ((place, commit),) = commits(deleted).items()
    assert place == ("web", "")
    assert commit is not None
    assert (commit.author, commit.subject) == ("Ann", "scale for the launch")


def test_what_local_removed_has_none(tmp_path: Path) -> None:
    task = fork(tmp_path / "fork")
    assert isinstance(task.sides, MergeSides)
    text = task.sides.original["web.yaml"].data.decode()
    local = {"web.yaml": File(text.replace("  replicas: 1\n", "").encode())}
    assert set(commits(replace(task, sides=replace(task.sides, local=local))).values()) == {None}


def test_a_package_outside_of_git_has_none(tmp_path: Path) -> None:
    task = fork(tmp_path / "fork")
    assert set(commits(replace(task, history=line_history(tmp_path))).values()) == {None}
    assert set(commits(replace(task, history=None)).values()) == {None}


def test_git_is_asked_once_about_each_file_and_only_then(tmp_path: Path) -> None:
    task = fork(tmp_path / "fork")
    paths: list[str] = []
    history = task.history
    assert history is not None

    def counting(path: str) -> Sequence[LineCommit | None]:
        paths.append(path)
        return history(path)

    session = Session(replace(task, history=counting))
    assert paths == []
    session.local_commit(session.open[0].id)
    assert paths == ["web.yaml"]
    # Another answer from git would be empty.
    (tmp_path / "fork/.git").rename(tmp_path / "gone")
    assert session.local_commit(session.open[0].id) is not None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (10, "less than an hour ago"),
        (-10, "less than an hour ago"),
        (3600, "1 hour ago"),
        (DAY, "1 day ago"),
        (6.9 * DAY, "6 days ago"),
        (29 * DAY, "4 weeks ago"),
        (100 * DAY, "3 months ago"),
        (800 * DAY, "2 years ago"),
    ],
)
def test_words_for_people(seconds: float, words: str) -> None:
    commit = LineCommit("1" * 40, "Ann", 1_000_000, "scale for the launch")
    phrase = change_words(commit, OF_PACKAGES, 1_000_000 + seconds)
    assert phrase == f"Your change: {words}, Ann, 'scale for the launch'"
    assert change_words(commit, OF_GIT) == "Our side's change: 1970-01-12, Ann, 'scale for the launch'"


def test_text_of_strangers_is_short_and_controls_nothing() -> None:
    commit = LineCommit("1" * 40, "", 0, f"{HOSTILE}\n{'x' * 500}")
    words = change_words(commit, OF_PACKAGES)
    assert words.isprintable()
    assert "somebody, '<img src=x" in words
    assert len(words) < 250


def test_the_terminal_says_it(tmp_path: Path) -> None:
    printed: list[str] = []
    host = Host(Session(fork(tmp_path / "fork")), None, lambda _: None)
    Terminal(host, Screen(printed.append, lambda _: "s", lambda _: None), OF_PACKAGES).settle()
    changes = [line for line in printed if line.startswith("  Your change: ")]
    assert len(changes) == 6
    assert changes[0] == "  Your change: 2026-02-03, Ann, 'scale for the launch'"
    assert not any("hunter2" in line for line in printed)


def test_the_page_asks_about_one_at_a_time(tmp_path: Path) -> None:
    session = Session(fork(tmp_path / "fork"))
    api = Api(Host(session, None, lambda _: None), OF_PACKAGES)
    status, value, _ = api.ask("/api/change", session.open[0].id)
    assert status == 200
    assert str(value["words"]).endswith(" ago, Ann, 'scale for the launch'")
    assert b"Ann" not in api.view() + api.report()
    assert api.ask("/api/change", "none").status == 404


def test_sessions_without_one_package_have_none() -> None:
    session = session_of({"a": b"1"}, {"a": b"2"}, {"a": b"3"})
    assert session.local_commit(session.open[0].id) is None
    with pytest.raises(RefusedChoiceError):
        session.local_commit("none")
