"""Mistakes in a Kptfile: fields that kpt refuses, names that are not unique, references that lead nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from posixpath import normpath

from krm_merge.checks.problem import PackageProblem, line_of
from krm_merge.krm.fieldpath import FieldPath, format_path
from krm_merge.krm.identity import KPTFILE, flaw_of, identity_of
from krm_merge.krm.validation import check
from krm_merge.merge.values.identity import PipelineFunction, read_functions
from krm_merge.merge.values.kptfile import functions_at
from krm_merge.packages.files.tree import Tree, holds_resources
from krm_merge.schema.kptfile import FUNCTION_LISTS
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.reader import read, read_all
from krm_merge.text.reading.values import key_text, to_value

_REFERENCE = ("apiVersion", "kind", "namespace", "name")


def kptfile_problems(tree: Tree) -> Iterator[PackageProblem]:
    """The mistakes in the Kptfile of a package; `tree` holds the package's own files."""
    from krm_merge.packages.kptfile_model import Kptfile

    try:
        root = read(tree[KPTFILE].data.decode("utf-8"))
    except TextError as error:
        yield PackageProblem(KPTFILE, error.problem, error.line)
        return
    except UnicodeDecodeError:
        yield PackageProblem(KPTFILE, "not UTF-8; save the file as UTF-8")
        return
    value = to_value(root)
    if not isinstance(root, MappingNode) or not isinstance(value, dict):
        yield PackageProblem(KPTFILE, "not a Kptfile: a mapping with apiVersion, kind and metadata is expected")
        return
    for path, message in check(Kptfile, value)[1]:
        yield PackageProblem(KPTFILE, f"{path}{message}", line_of(root, path))
    for functions_path in FUNCTION_LISTS:
        yield from _function_problems(root, functions_path, tree)


def _function_problems(root: MappingNode, path: FieldPath, tree: Tree) -> Iterator[PackageProblem]:
    functions = read_functions(functions_at(root, path))
    names = Counter(function.name for function in functions if function.name)
    for position, function in enumerate(functions):
        place = format_path((*path, position))
        if names[function.name] > 1:
            message = (
                f"{place}.name: {names[function.name]} functions have the name {function.name}; rename all but one"
            )
            yield PackageProblem(KPTFILE, message, line_of(root, f"{place}.name"))
        for field, message in _reference_problems(function, tree):
            yield PackageProblem(KPTFILE, f"{place}.{field}: {message}", line_of(root, f"{place}.{field}"))


def _reference_problems(function: PipelineFunction, tree: Tree) -> Iterator[tuple[str, str]]:
    """The references of a function that lead nowhere: the field, and what is wrong with it."""
    node = function.node
    if not isinstance(node, MappingNode):
        return
    config_path, config_ref = node.get("configPath"), node.get("configRef")
    if config_path is not None and (path := key_text(config_path)):
        problem = _config_file_problem(path, tree)
        if problem:
            yield "configPath", problem
    if isinstance(config_ref, MappingNode):
        wanted = {field: key_text(value) for field in _REFERENCE if (value := config_ref.get(field)) is not None}
        if wanted.keys() >= {"kind", "name"} and not _holds(tree, wanted):
            yield "configRef", f"the package has no {wanted['kind']} {wanted['name']}"


def _config_file_problem(given: str, tree: Tree) -> str:
    path = normpath(given)
    if path.startswith(("/", "../")) or path == "..":
        return f"{given} is outside of the package; kpt reads functionConfigs inside of it only"
    if path not in tree:
        return f"the package has no file {given}"
    try:
        documents = [root for root in read_all(tree[path].data.decode("utf-8")) if root.canonical != ("null",)]
    except (UnicodeDecodeError, TextError) as error:
        return f"{given} cannot be read: {error}"
    if len(documents) != 1:
        return f"{given} holds {len(documents)} documents; a functionConfig is one resource"
    flaw = flaw_of(documents[0])
    return f"{given} {flaw}" if flaw else ""


def _holds(tree: Tree, wanted: dict[str, str]) -> bool:
    """Whether a resource of the package has these values."""
    for path, file in tree.items():
        if not holds_resources(path) or file.mode == "link":
            continue
        try:
            roots = list(read_all(file.data.decode("utf-8")))
        except (UnicodeDecodeError, TextError):
            continue
        for root in roots:
            if isinstance(root, MappingNode) and _has(root, wanted):
                return True
    return False


def _has(root: MappingNode, wanted: dict[str, str]) -> bool:
    identity = identity_of(root)
    version = root.get("apiVersion")
    held = {"kind": identity.kind, "name": identity.name, "namespace": identity.namespace}
    held["apiVersion"] = "" if version is None else key_text(version)
    return all(held[field] == value for field, value in wanted.items())
