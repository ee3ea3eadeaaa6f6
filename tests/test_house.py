"""The house as CONTRIBUTING describes it: small folders, one name for one thing, one base of errors, public faces."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import krm_merge
from checkout import ROOT

SOURCES = Path(krm_merge.__file__).parent
MODULES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.rglob("*.py"))}
FACES = ["krm_merge", "krm_merge.krm", "krm_merge.text", "krm_merge.patch", "krm_merge.transform"]
MOST_MODULES = 12
ONE_MODULE_EACH = {"cli/commands": "one module for each command"}
"""Folders with more modules than one can look over, with their reason; CONTRIBUTING names it, too."""
TESTS = ROOT / "tests"
MOST_LINES = 600
OF_NO_ROOM = {"e2e", "fuzz", "generated", "integrations", "kills"}
"""Folders of tests that take the program as a whole, or that hold what is generated for several rooms."""


def public_types(tree: ast.Module) -> Iterator[str]:
    """The classes and the aliases of types that other modules may import."""
    for node in tree.body:
        name = ""
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            is_alias = isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
            name = node.target.id if is_alias else ""
        if name and not name.startswith("_"):
            yield name


def test_no_folder_has_more_modules_than_one_can_look_over() -> None:
    held: dict[str, int] = defaultdict(int)
    for path in MODULES:
        if path.name != "__init__.py":
            held[path.parent.relative_to(SOURCES).as_posix()] += 1
    crowded = {folder: count for folder, count in held.items() if count > MOST_MODULES}
    assert set(crowded) <= set(ONE_MODULE_EACH)
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(reason in contributing for reason in ONE_MODULE_EACH.values())


def test_every_folder_says_what_it_is_for() -> None:
    folders = {path.parent for path in MODULES}
    silent = [folder for folder in folders if not ast.get_docstring(MODULES.get(folder / "__init__.py", ast.parse("")))]
    assert silent == []


def test_tests_lie_where_the_code_lies_that_they_test() -> None:
    """In the folder of the same name; a module with many tests has a folder of its name."""
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("*.py")}
    of_rooms = {folder for folder in folders if folder.parts and folder.parts[0] not in OF_NO_ROOM}
    places = {folder: SOURCES / folder for folder in of_rooms}
    assert [folder for folder, at in places.items() if not (at.is_dir() or at.with_suffix(".py").is_file())] == []
    assert {folder.name for folder in TESTS.iterdir()} >= OF_NO_ROOM


def test_no_file_of_tests_is_longer_than_one_reads() -> None:
    lines = {
        str(file.relative_to(TESTS)): len(file.read_text(encoding="utf-8").splitlines()) for file in TESTS.rglob("*.py")
    }
    assert {file: count for file, count in lines.items() if count > MOST_LINES} == {}


def test_no_two_public_types_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path, tree in MODULES.items():
        for name in public_types(tree):
            homes[name].append(path.relative_to(SOURCES).as_posix())
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_every_public_error_has_the_base() -> None:
    bases = {
        node.name: [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        for tree in MODULES.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }

    def ancestors(name: str) -> set[str]:
        return {name}.union(*(ancestors(base) for base in bases.get(name, [])))

    errors = {name for name in bases if name.endswith("Error") and not name.startswith("_")}
    assert {name for name in errors if "KrmMergeError" not in ancestors(name)} == set()


@pytest.mark.parametrize("face", [*FACES, "krm_merge.policy"])
def test_what_a_face_names_can_be_imported_from_it(face: str) -> None:
    from importlib import import_module

    module = import_module(face)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("face", ["krm_merge", "krm_merge.text"])
def test_the_examples_of_faces_run(face: str) -> None:
    import doctest
    from importlib import import_module

    done = doctest.testmod(import_module(face))
    assert done.failed == 0
    assert done.attempted > 3
