"""The commands that write packages, each with a package of its own: built once, copied for every trial."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.world import World
from krm_merge.packages.files.tree import File
from packages.repositories import Repository, Text, kptfile, write

FILES = 30
"""Files that a command changes: the exchange takes long enough to be met."""
MARK = "edited: "
"""What the second process writes behind this belongs to no state."""

_PLUGIN = """\
import json, sys
for line in sys.stdin:
    resource = json.loads(line)
    is_old = resource.get("data", {}).get("value") == "old"
    patches = [{"op": "replace", "path": "/data/value", "value": "new"}] if is_old else []
    metadata = {"name": "plugin", "version": "v1", "requestVersion": ["v1"], "responseVersion": ["v1"]}
    print(json.dumps({"version": "v1", "patches": patches} if resource else metadata), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A command at work; all paths are relative to the directory of a trial.

    `changes` are the directories that it changes, each as a whole; `edited` the files that somebody may edit.
    """

    name: str
    command: tuple[str, ...]
    changes: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    forge: str = ""
    """The bare repository beside which pull requests are recorded."""
    code: int = 0
    """The exit code where nothing strikes."""


def config_map(name: str, value: str) -> str:
    about = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
    return f'{about}data:\n  value: {value}\n  size: "{"x" * 2000}"\n  {MARK}"0"\n'


def resources(value: str, **more: str) -> dict[str, Text | None]:
    return {
        **{f"changed-{at}.yaml": config_map(f"changed-{at}", value) for at in range(FILES)},
        **{f"kept/{at}.yaml": config_map(f"kept-{at}", "kept") for at in range(3)},
        **more,
    }


EDITED = ("changed-0.yaml", f"changed-{FILES // 2}.yaml", f"changed-{FILES - 1}.yaml", "kept/0.yaml")


def update(root: Path) -> Scene:
    upstream = Repository.at(root / "upstream")
    first = upstream.version("v1", resources("old", Kptfile=kptfile(root / "upstream"), **{"gone/a.yaml": "a: b\n"}))
    upstream.version("v2", {**resources("new"), "gone/a.yaml": None, "added/a.yaml": config_map("added", "new")})
    files = resources("old", Kptfile=kptfile(root / "upstream", commit=first), **{"gone/a.yaml": "a: b\n"})
    write(root / "pkg", files)
    return Scene(
        "update", ("update", "pkg@v2", "--allow-dirty"), ("pkg",), (*(f"pkg/{path}" for path in EDITED), "pkg/Kptfile")
    )


def merge(root: Path) -> Scene:
    old, new = resources("old", **{"gone.txt": "gone\n"}), resources("new", **{"added/b.txt": "added\n"})
    for name, files in (("original", old), ("upstream", new), ("pkg", old)):
        write(root / name, dict(files))
    command = ("merge", "original", "upstream", "pkg", "--in-place")
    return Scene("merge", command, ("pkg",), tuple(f"pkg/{path}" for path in EDITED))


def _with_plugin(root: Path) -> None:
    write(root / "pkg", resources("old"))
    write(root / "plugins", {"plugin": File(f"#!{sys.executable} -IS\n{_PLUGIN}".encode(), "executable")})
    config = "apiVersion: fn.kpt.dev/v1alpha1\nkind: TransformResources\nmetadata: {name: t}\n"
    plugin = "exec: {file: plugin, timeoutSeconds: 300}"
    write(root, {"config.yaml": f"{config}plugins:\n- {{name: plugin, {plugin}}}\n"})


def transform(root: Path) -> Scene:
    _with_plugin(root)
    command = ("transform", "pkg", "--config", "config.yaml", "--plugin-dir", "plugins")
    return Scene("transform", command, ("pkg",), tuple(f"pkg/{path}" for path in EDITED))


def apply(root: Path) -> Scene:
    world = World(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRM_MERGE_CACHE_DIR", str(root / "cache"))
        world.repository("parent", {"Dockerfile": "FROM scratch\n"})
        world.component("parent", "parent")
        for name in ("child", "other"):
            world.repository(name, {"Dockerfile": f"FROM quay.io/o/parent@sha256:{'0' * 64}\n"})
            world.component(name, name, "parent", at="c")
        world.commit("child", "person", {"README": "a person's\n"})
        world.open("child", "person")
        world.commit("parent", "update", {"Dockerfile": "FROM scratch\nRUN new\n"})
        world.open("parent", "update")
        world.build("parent", "parent", "1", 1)
        assert len(world.plan("parent", "child", "other")) == 2
    shutil.rmtree(root / "cache")
    return Scene("apply", ("components", "apply", "package/plans"), (), (), forge="child.git")


SCENES: tuple[Callable[[Path], Scene], ...] = (update, merge, transform, apply)
