"""The parts of components import one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import krm_merge

ROOT = Path(krm_merge.__file__).parent
BELOW = {
    "konflux": set[str](),
    "graph": {"konflux"},
    "digests": {"konflux"},
    "searched_files": set(),
    "plan": {"konflux", "graph", "digests"},
    "repository": {"konflux", "graph", "digests", "plan"},
    "execution": {"konflux", "graph", "digests", "searched_files", "plan", "repository"},
    "expressions": set(),
    "settings": {"konflux", "graph", "expressions"},
    "drawing": {"konflux", "graph"},
}
"""The parts that each folder or module may import."""


def imports_of(file: Path) -> set[str]:
    """The modules of this package that a module imports."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def test_folders_import_one_way() -> None:
    for folder, below in BELOW.items():
        place = ROOT / "components" / folder
        for file in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            names = [name.split(".") for name in imports_of(file)]
            others = {name[2] for name in names if name[:2] == ["krm_merge", "components"]}
            assert others <= below | {folder}, file


def test_forges_know_nothing_of_components() -> None:
    for file in (ROOT / "forges").rglob("*.py"):
        assert not [
            name for name in imports_of(file) if name.startswith(("krm_merge.components", "krm_merge.functions"))
        ]


def test_only_the_command_line_of_forges_needs_their_libraries() -> None:
    """C13: the function never imports them, nor does a command before a repository on such a forge is named."""
    program = (
        "import sys, krm_merge.cli.commands.components, krm_merge.functions.plan_component_updates\n"
        "print(*sorted({'github', 'gitlab', 'requests', 'urllib3'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
