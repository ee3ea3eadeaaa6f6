"""A package of an upstream repository, and `krm-merge` on it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from packages.repositories import Snapshot, Text, config_map, snapshot

Run = subprocess.CompletedProcess[str]
Files = dict[str, Text | None]
OWN_KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: upstream\n"
V1: Files = {
    "Kptfile": OWN_KPTFILE,
    "a.yaml": config_map("a", color="red", size="one"),
    "b.yaml": config_map("b", x="one"),
    "folder/d.yaml": config_map("d", x="one"),
    "notes.txt": "one\n",
}
V2: Files = {
    "a.yaml": config_map("a", color="blue", size="one"),
    "b.yaml": None,
    "c.yaml": config_map("c"),
    "folder/d.yaml": config_map("d", x="two"),
    "notes.txt": "two\n",
}


@dataclass(frozen=True)
class Upstream:
    """A repository with a package in its root, and the commits of its tags v1 and v2."""

    path: Path
    commits: dict[str, str]


def check_refusal(done: Run, *phrases: str, code: int = 3) -> None:
    """It failed with one line on stderr, which holds the phrases."""
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr + done.stdout
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("error ")
    for phrase in phrases:
        assert phrase in line


def assert_unchanged(package: Path, before: Snapshot) -> None:
    assert snapshot(package) == before
    assert [entry.name for entry in package.parent.iterdir()] == [package.name]
