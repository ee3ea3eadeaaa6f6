"""Choices that a repository remembers: those on hidden values hold for their place, and settle the same merge again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from krm_merge.git.program import WorkingTree
from krm_merge.merge import Resolutions
from krm_merge.policy import memory_path, recall, recall_around, remember
from krm_merge.resolve.session import Session, Task
from krm_merge.startup import replace
from resolve.packages import session_of

WIDGET = """\
apiVersion: example.com/v1
kind: Widget
metadata: {{name: {name}}}
spec:
  env:
  - name: DB_PASSWORD
    value: {value}1
  - name: LEVEL
    value: {value}2
  - name: API_TOKEN
    value: {value}3
"""


def widget(name: str) -> Session:
    return session_of(*({"w.yaml": WIDGET.format(name=name, value=value).encode()} for value in "oul"))


def remembering(task: Task, choices: Resolutions) -> Task:
    return replace(task, choices=task.choices.remembering(choices))


def test_choices_on_hidden_values_are_remembered_for_their_place(tmp_path: Path) -> None:
    session = widget("w")
    for record, choice in zip(session.open, ("upstream", "local", "local"), strict=True):
        session.choose([record.id], choice)  # type: ignore[arg-type]
    saved = session.save()
    remember(tmp_path / "choices.yaml", saved.choices, "w.yaml")
    assert not any(f": {side}" in (tmp_path / "choices.yaml").read_text() for side in ("o1", "u1", "l1", "u3", "l3"))
    choices = recall(tmp_path / "choices.yaml")
    again = Session(remembering(widget("w").task, choices))
    assert again.open == []
    assert again.save().changes["w.yaml"] == saved.changes["w.yaml"]
    # Equal values of another resource are another conflict.
    assert len(Session(remembering(widget("x").task, choices)).open) == 3


def test_a_repository_remembers_choices_in_its_own_folder(tmp_path: Path) -> None:
    assert memory_path(tmp_path) is None
    assert recall_around(tmp_path).all == ()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "package").mkdir()
    file = memory_path(tmp_path / "package")
    assert file == tmp_path / ".git" / "krm-merge" / "choices.yaml"
    assert recall_around(tmp_path / "package").all == ()
    session = widget("w")
    session.choose([record.id for record in session.open], "local")
    remember(file, session.save().choices, "w.yaml")
    assert memory_path(tmp_path / "package") == file
    assert [choice.choice for choice in recall_around(tmp_path / "package").all] == ["local"] * 3
    # Nothing is written where nothing was chosen.
    remember(tmp_path / "none.yaml", [], "w.yaml")
    assert not (tmp_path / "none.yaml").exists()
    assert recall(None).all == recall(tmp_path / "none.yaml").all == ()


def test_git_is_not_asked_about_a_repository_that_remembers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of git would take half as long as a merge."""
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(WorkingTree, "around", lambda _: pytest.fail("starts git"))
    assert recall_around(tmp_path).all == ()
