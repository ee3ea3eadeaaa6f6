"""Finds mistakes that the next update of a package, or kpt, would stumble over, and names for functions (rule F1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from posixpath import basename, dirname, normpath

from krm_merge.functions import API_VERSION, KINDS
from krm_merge.functions.patch_resources import read_jobs
from krm_merge.krm import KPTFILE, FieldPath, Identity, Resource, ResourceList, check, flaw_of, format_path, parse_path
from krm_merge.merge import (
    Member,
    PipelineFunction,
    Resolution,
    children_at,
    functions_at,
    reaches,
    read_functions,
)
from krm_merge.packages import (
    KRMIGNORE,
    File,
    Kptfile,
    PackageGraph,
    PackageVersion,
    Tree,
    broken_files,
    holds_resources,
    is_kptfile,
    is_naming,
    lines_of_conflicts,
)
from krm_merge.policy import PackagePolicy, PolicyError, find_policy
from krm_merge.schema import FILES as KUSTOMIZATION_FILES
from krm_merge.schema import FUNCTION_LISTS
from krm_merge.text import (
    Comments,
    Editor,
    Entry,
    MappingNode,
    Node,
    TextError,
    Value,
    document_text,
    from_value,
    is_null,
    key_text,
    read,
    read_all,
    resolved,
    to_value,
)


@dataclass(frozen=True, slots=True)
class PackageProblem:
    """A mistake: `file` is its path in the package, `line` counts from 1 and is 0 where no line shows it."""

    file: str
    message: str
    line: int = 0

    def to_value(self) -> dict[str, Value]:
        """As programs read it."""
        place: dict[str, Value] = {"file": self.file, "line": self.line} if self.line else {"file": self.file}
        return place | {"message": self.message}


def line_of(root: MappingNode, path: str) -> int:
    """The line of a field, from 1, or of the nearest one above it that is there; 0 where `path` is no path."""
    try:
        steps = parse_path(path)
    except ValueError:
        return 0
    node: Node = root
    for step in steps:
        children = children_at(resolved(node), step)
        if not children:
            break
        node = children[0]
    return 0 if node.source is None else node.source.text.count("\n", 0, node.start) + 1


def kptfile_problems(tree: Tree) -> Iterator[PackageProblem]:
    """The mistakes in the Kptfile of a package; `tree` holds the package's own files."""
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
        config = function.node.get("configPath") if isinstance(function.node, MappingNode) else None
        path_text = "" if config is None else key_text(config)
        if path_text and (problem := _config_file_problem(path_text, tree)):
            field = f"{place}.configPath"
            yield PackageProblem(KPTFILE, f"{field}: {problem}", line_of(root, field))


def _config_file_problem(path_text: str, tree: Tree) -> str:
    path = normpath(path_text)
    if path.startswith("/") or ".." in path:
        return f"{path_text} is outside the package; kpt only reads functionConfigs inside it, by paths without `..`"
    if path not in tree:
        return f"the package has no file {path_text}"
    try:
        documents = [root for root in read_all(tree[path].data.decode("utf-8")) if not is_null(root)]
    except (UnicodeDecodeError, TextError) as error:
        return f"{path_text} cannot be read: {error}"
    if len(documents) != 1:
        return f"{path_text} holds {len(documents)} documents; a functionConfig is one resource"
    flaw = flaw_of(documents[0])
    return f"{path_text} {flaw}" if flaw else ""


def policy_problems(members: Sequence[Member], policy: PackagePolicy) -> Iterator[PackageProblem]:
    """The mistakes in a readable policy. Only an update shows whether a choice fits it (M2)."""
    if policy.root is None:
        return
    identities = {member.identity for member in members}
    for rule in policy.rules:
        if not reaches(rule, members):
            place = _in_file(rule.place, policy)
            message = f"{place}: matches nothing in the package; check its kind, name and path"
            yield PackageProblem(policy.file, message, line_of(policy.root, place))
    for resolution in policy.resolutions.all:
        # A choice between keeping and deleting a resource holds for one that is not there any more.
        is_deletion = resolution.nature == "resource" and not resolution.path
        if resolution.identity is not None and resolution.identity not in identities and not is_deletion:
            place = _in_file(resolution.place, policy)
            message = f"{place}: {place_of(resolution)}: the package has no such resource; remove it"
            yield PackageProblem(policy.file, message, line_of(policy.root, place))
    if "config.kubernetes.io/local-config" not in str(to_value(policy.root.get("metadata"))):
        note = 'metadata.annotations: {config.kubernetes.io/local-config: "true"}'
        yield PackageProblem(policy.file, f"add {note}, so that it is not applied to a cluster")


def _in_file(place: str, policy: PackagePolicy) -> str:
    return place.removeprefix(policy.file).strip()


def place_of(resolution: Resolution) -> str:
    """The conflict that a choice is for, as people name it."""
    named = resolution.identity
    about = "any resource"
    if named is not None:
        about = " ".join(part for part in (named.kind, named.namespace, named.name) if part)
    path = format_path(resolution.path) if resolution.path else "as a whole"
    return f"{about} {path} ({resolution.nature})"


def package_problems(tree: Tree) -> list[PackageProblem]:
    """The mistakes in a package's own files, in the order of files and lines.

    `tree` may hold packages inside; they are packages of their own and not looked at. Raises PackageError where a file
    cannot be read.
    """
    own_files = _own_files(tree)
    conflicts = lines_of_conflicts(own_files)
    problems = [PackageProblem(path, "a conflict between markers; settle it", line) for path, line in conflicts.items()]
    if not any(is_kptfile(path) for path in conflicts):
        problems += kptfile_problems(own_files)
    version = PackageVersion("local", own_files)
    members = version.members()
    if not any(holds_resources(path) for path in conflicts):
        problems += _policy_problems(own_files, members)
    problems += _unreadable_files(tree, own_files, conflicts)
    problems += _config_problems(version, members)
    problems += _double_resources(own_files, members)
    problems += _missing_files(tree, own_files)
    return sorted(problems, key=lambda problem: (problem.file, problem.line))


def _unreadable_files(tree: Tree, own_files: Tree, conflicts: Collection[str]) -> Iterator[PackageProblem]:
    """Files that kpt fails to read."""
    remedy = f"fix the file, or list it in {KRMIGNORE} if it is a template"
    for path, flaw in broken_files(
        tree, (path for path in own_files if not is_kptfile(path) and path not in conflicts)
    ):
        yield PackageProblem(path, f"{flaw.problem}; kpt refuses the package: {remedy}", flaw.line)


def _config_problems(version: PackageVersion, members: Sequence[Member]) -> Iterator[PackageProblem]:
    """The mistakes in functionConfigs of our own kinds."""
    if not any(member.identity.kind in KINDS for member in members):
        return
    from krm_merge.functions import models

    items = [Resource.from_tree(member.root, member.place, member.index) for member in members]
    for member, item in zip(members, items, strict=True):
        if item.api_version != API_VERSION or item.kind not in KINDS:
            continue
        problems = [(path, f"{path}{message}") for path, message in check(getattr(models, item.kind), member.value)[1]]
        if item.kind == "PatchResources" and not problems:
            resource_list = ResourceList.with_config(member.text)
            resource_list.items = items
            read_jobs(resource_list)
            errors = resource_list.results.errors
            problems = [(error.path or "", error.message.removeprefix("functionConfig: ")) for error in errors]
        # Each document was read alone.
        line = sum(data.count(b"\n") for data in version.documents[member.place][: member.index])
        for path, message in problems:
            yield PackageProblem(member.place, message, line + max(line_of(member.root, path), 1))


def _double_resources(own_files: Tree, members: Sequence[Member]) -> Iterator[PackageProblem]:
    """Resources that are there twice. What a Kustomization is for may be patches, or alternatives."""
    kustomized = tuple(f"{dirname(path)}/".lstrip("/") for path in own_files if basename(path) in KUSTOMIZATION_FILES)
    first: dict[Identity, str] = {}
    for member in members:
        identity, place = member.identity, member.place
        if not identity.name or place.startswith(kustomized):
            continue
        if identity in first:
            ref = Resource.from_tree(member.root).ref
            message = f"{ref} is defined twice: in {first[identity]}, too; keep one"
            yield PackageProblem(place, message)
        first.setdefault(identity, place)


def _missing_files(tree: Tree, own_files: Tree) -> Iterator[PackageProblem]:
    """Files and folders of the package that its Kustomizations name, and that are not there (law I)."""
    graph = PackageGraph(tree, tuple)
    # What is behind a link is not known.
    links = tuple(f"{path}/" for path, file in tree.items() if file.mode == "link")
    for path in own_files:
        if not is_naming(path) or is_kptfile(path):
            continue
        for named, target in graph.files_of(path):
            is_outside = "://" in named.file or f"{target}/".startswith(("../", "/", *links))
            is_path = named.file.startswith(("./", "../")) or holds_resources(named.file)
            if is_path and not is_outside and not graph.has_file(target):
                problem = f"names {named.file}, which the package does not have; remove the entry, or add the file"
                yield PackageProblem(path, problem)


def _policy_problems(own_files: Tree, members: Sequence[Member]) -> Iterator[PackageProblem]:
    try:
        policy = find_policy(own_files)
    except PolicyError as error:
        file, _, message = str(error).partition(": ")
        yield PackageProblem(file, message)
        return
    yield from policy_problems(members, policy)


def _own_files(tree: Tree) -> Tree:
    """The files outside of packages inside, and of hidden directories: those hold environments and caches."""
    inside = {dirname(path) for path in tree if is_kptfile(path)} - {""}
    own_files: dict[str, File] = {}
    for path, file in tree.items():
        parts = path.split("/")[:-1]
        folders = {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
        if inside.isdisjoint(folders) and not any(part.startswith(".") for part in parts):
            own_files[path] = file
    return own_files


@dataclass(frozen=True, slots=True)
class NamedFunctions:
    """A Kptfile whose functions have names: its text, and the new names by their place in it."""

    data: bytes
    names: dict[str, str]


def with_names(data: bytes) -> NamedFunctions:
    """Gives each function without a name the one of its program; comments and layout stay. Raises TextError.

    A name that another function of the list has gets a number.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise TextError("not UTF-8; save the file as UTF-8") from None
    root = read(text)
    if not isinstance(root, MappingNode):
        raise TextError("not a Kptfile: a mapping with apiVersion, kind and metadata is expected")
    resource = Resource.from_tree(root)
    names: dict[str, str] = {}
    for path in FUNCTION_LISTS:
        functions = read_functions(functions_at(root, path))
        for position, name in _missing_names(functions):
            node = functions[position].node
            assert isinstance(node, MappingNode)
            _insert_name(resource.editor, node, name)
            names[format_path((*path, position))] = name
    if not names:
        return NamedFunctions(data, names)
    return NamedFunctions(text.replace(document_text(root), resource.text(), 1).encode(), names)


def _missing_names(functions: list[PipelineFunction]) -> Iterator[tuple[int, str]]:
    """The position and the new name of each function that lacks one and runs something."""
    names = {function.name for function in functions}
    for position, function in enumerate(functions):
        if function.name or not function.program or not isinstance(function.node, MappingNode):
            continue
        program = basename(function.program.split()[0])
        numbered = (f"{program}-{number}" for number in count(2))
        name = next(each for each in chain([program], numbered) if each not in names)
        names.add(name)
        yield position, name


def _insert_name(editor: Editor, function: MappingNode, name: str) -> None:
    """Puts the name behind the program that the function runs."""
    empty = function.entry("name")
    if empty is not None:
        editor.replace(empty, from_value(name))
        return
    behind = function.entry("image") or function.entry("exec")
    editor.insert(function, Entry(from_value("name"), from_value(name)), behind, Comments())
