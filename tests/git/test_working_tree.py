"""The user's repository around a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.hosts import git
from krm_merge.git.program import WorkingTree
from packages.repositories import Repository, write

FAKE = {"HEAD": "ref: refs/heads/main\n", "objects/k": "", "refs/k": "", "config": "[core]\nbare = false\n"}


@pytest.fixture
def user(tmp_path: Path) -> Repository:
    repository = Repository.at(tmp_path / "user")
    repository.commit({"a/b/c": "1\n"})
    return repository


def test_the_nearest_above_a_folder_is_found(user: Repository) -> None:
    work_tree = WorkingTree.around(user.path / "a" / "b")
    assert work_tree is not None
    assert (work_tree.top, work_tree.repository, work_tree.common) == (
        user.path,
        user.path / ".git",
        user.path / ".git",
    )


def test_a_folder_like_a_bare_repository_is_passed_by(user: Repository) -> None:
    write(user.path / "a", dict(FAKE))
    work_tree = WorkingTree.around(user.path / "a" / "b")
    assert work_tree is not None
    assert work_tree.top == user.path


def test_outside_of_all_repositories_there_is_none(tmp_path: Path) -> None:
    write(tmp_path / "web", dict(FAKE))
    assert WorkingTree.around(tmp_path / "web") is None


def test_a_link_leads_to_where_it_points(user: Repository, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(user.path / "a")
    work_tree = WorkingTree.around(tmp_path / "link")
    assert work_tree is not None
    assert work_tree.top == user.path


def test_a_second_working_tree_shares_the_repository(user: Repository, tmp_path: Path) -> None:
    git(user.path, "worktree", "add", "--quiet", str(tmp_path / "second"))
    work_tree = WorkingTree.around(tmp_path / "second" / "a")
    assert work_tree is not None
    assert work_tree.top == tmp_path / "second"
    assert work_tree.repository == user.path / ".git" / "worktrees" / "second"
    assert work_tree.common == user.path / ".git"


def test_a_submodule_is_its_own_repository(user: Repository, tmp_path: Path) -> None:
    inner = Repository.at(tmp_path / "inner")
    inner.commit({"x": "1\n"})
    git(user.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "inner")
    work_tree = WorkingTree.around(user.path / "inner")
    assert work_tree is not None
    assert work_tree.top == user.path / "inner"
    assert work_tree.repository == user.path / ".git" / "modules" / "inner"


def test_a_folder_named_git_that_is_no_repository_is_passed_by(user: Repository) -> None:
    (user.path / "a" / ".git").mkdir()
    work_tree = WorkingTree.around(user.path / "a" / "b")
    assert work_tree is not None
    assert work_tree.top == user.path
