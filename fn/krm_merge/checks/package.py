"""All mistakes in one package."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname

from krm_merge.checks.kptfile import kptfile_problems
from krm_merge.checks.policy import policy_problems
from krm_merge.checks.problem import PackageProblem
from krm_merge.packages.files.tree import Tree, holds_resources, is_kptfile
from krm_merge.packages.merge.conflict_markers import lines_of_conflicts
from krm_merge.packages.references.graph import PackageGraph, is_naming
from krm_merge.policy import PolicyError, find_policy


def package_problems(tree: Tree) -> list[PackageProblem]:
    """The mistakes in a package's own files, in the order of files and lines.

    `tree` may hold packages inside; they are packages of their own and not looked at. Raises PackageError where a file
    cannot be read.
    """
    own = _own_files(tree)
    conflicts = lines_of_conflicts(own)
    problems = [PackageProblem(path, "a conflict between markers; settle it", line) for path, line in conflicts.items()]
    if not any(is_kptfile(path) for path in conflicts):
        problems += kptfile_problems(own)
    if not any(holds_resources(path) for path in conflicts):
        problems += _policy_problems(own)
    problems += _missing_files(tree, own)
    return sorted(problems, key=lambda problem: (problem.file, problem.line))


def _missing_files(tree: Tree, own: Tree) -> Iterator[PackageProblem]:
    """Files and folders of the package that its Kustomizations name, and that are not there (law I)."""
    graph = PackageGraph(tree, tuple)
    # What is behind a link is not known.
    links = tuple(f"{path}/" for path, file in tree.items() if file.mode == "link")
    for path in own:
        if not is_naming(path) or is_kptfile(path):
            continue
        for named, target in graph.files_of(path):
            is_outside = "://" in named.file or f"{target}/".startswith(("../", "/", *links))
            is_path = named.file.startswith(("./", "../")) or holds_resources(named.file)
            if is_path and not is_outside and not graph.has_file(target):
                problem = f"names {named.file}, which the package does not have; remove the entry, or add the file"
                yield PackageProblem(path, problem)


def _policy_problems(own: Tree) -> Iterator[PackageProblem]:
    try:
        policy = find_policy(own)
    except PolicyError as error:
        file, _, message = str(error).partition(": ")
        yield PackageProblem(file, message)
        return
    yield from policy_problems(own, policy)


def _own_files(tree: Tree) -> Tree:
    """The files outside of packages inside, and of hidden directories: those hold environments and caches."""
    inside = {dirname(path) for path in tree if is_kptfile(path)} - {""}
    return {path: tree[path] for path in tree if not _is_hidden(path) and not _is_in(path, inside)}


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/")[:-1])


def _is_in(path: str, folders: set[str]) -> bool:
    folder = dirname(path)
    while folder:
        if folder in folders:
            return True
        folder = dirname(folder)
    return False
