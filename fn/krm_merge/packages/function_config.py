"""A MergePackage functionConfig that holds both upstream versions of a package, and its declaration in a pipeline."""

from __future__ import annotations

from krm_merge.krm.identity import KPTFILE, flaw_of
from krm_merge.krm.resource import INDEX, PATH, Resource
from krm_merge.krm.result import Results
from krm_merge.packages.files.tree import Changes, File, PackageError, Tree, holds_resources
from krm_merge.schema.kptfile import FUNCTION_LISTS
from krm_merge.text.document import written
from krm_merge.text.reading.layout import NO_COMMENTS
from krm_merge.text.reading.nodes import MappingNode, SequenceNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.stream import cut, is_empty
from krm_merge.text.reading.values import Value, from_value

CONFIG_FILE = "merge-package.yaml"
_KIND = "MergePackage"


def function_config(original: Tree, upstream: Tree, choices: dict[str, str], results: Results) -> bytes:
    """The functionConfig as text; `choices` are its further fields. What cannot be read is reported, not held."""
    fields: dict[str, Value] = {
        "apiVersion": "fn.kpt.dev/v1alpha1",
        "kind": _KIND,
        "metadata": {"name": "merge", "annotations": {"config.kubernetes.io/local-config": "true"}},
        **choices,
        "original": _text(original, "original", results),
        "upstream": _text(upstream, "upstream", results),
    }
    root = from_value(fields)
    assert isinstance(root, MappingNode)
    return written(root).encode()


def add_function(package: Tree, config: bytes, image: str) -> Changes:
    """The changes that run the merge at every render: the functionConfig as a file, and a function that comes first.

    Raises PackageError where the Kptfile cannot be read.
    """
    changes = dict(remove_function(package))
    kptfile = _kptfile(changes.get(KPTFILE) or package[KPTFILE])
    function = from_value({"image": image, "configPath": CONFIG_FILE})
    pipeline = kptfile.root.get("pipeline")
    mutators = pipeline.get("mutators") if isinstance(pipeline, MappingNode) else None
    try:
        if isinstance(mutators, SequenceNode):
            kptfile.editor.insert(mutators, function, None, NO_COMMENTS)
        elif mutators is None or mutators.canonical == ("null",):
            kptfile.set("pipeline.mutators", [{"image": image, "configPath": CONFIG_FILE}])
        else:
            raise KeyError("pipeline.mutators is no list")
    except KeyError as error:
        raise PackageError(f"{KPTFILE}: {error.args[0]}; nothing was changed") from None
    return {**changes, CONFIG_FILE: File(config), KPTFILE: _kptfile_of(kptfile, package)}


def remove_function(package: Tree) -> Changes:
    """The changes that take it out again, whatever image runs it; none where it is not declared.

    Raises PackageError.
    """
    kptfile = _kptfile(package[KPTFILE])
    changes: dict[str, File | None] = {}
    for path in FUNCTION_LISTS:
        functions = kptfile.root.get("pipeline")
        functions = functions.get(path[1]) if isinstance(functions, MappingNode) else None
        if not isinstance(functions, SequenceNode):
            continue
        for node in functions.items:
            config = node.get("configPath") if isinstance(node, MappingNode) else None
            if config is not None and config.canonical == CONFIG_FILE:
                kptfile.editor.remove(functions, node)
    if kptfile.is_changed:
        changes[KPTFILE] = _kptfile_of(kptfile, package)
    if CONFIG_FILE in package:
        changes[CONFIG_FILE] = None
    return changes


def _text(package: Tree, side: str, results: Results) -> str:
    """All resources of a package as one text, each with its place."""
    documents = []
    for path, file in package.items():
        if not holds_resources(path) or file.mode == "link":
            continue
        try:
            documents += _documents(path, file)
        except (TextError, UnicodeDecodeError) as error:
            results.warning(f"{path}: left out of {side}: {error}", file=path)
    return "---\n".join(documents)


def _documents(path: str, file: File) -> list[str]:
    documents = []
    for index, data in enumerate(cut(file.data, path)):
        root = None if is_empty(data) else read(data.decode("utf-8").replace("\r\n", "\n"))
        if root is None:
            continue
        if flaw := flaw_of(root):
            raise TextError(flaw)
        assert isinstance(root, MappingNode)
        resource = Resource.from_tree(root)
        resource.set(f'metadata.annotations["{PATH}"]', path)
        resource.set(f'metadata.annotations["{INDEX}"]', str(index))
        text = resource.text().removeprefix("---\n")
        documents.append(text if text.endswith("\n") else f"{text}\n")
    return documents


def _kptfile(file: File) -> Resource:
    try:
        root = read(file.data.decode("utf-8"))
    except (UnicodeDecodeError, TextError) as error:
        raise PackageError(f"{KPTFILE}: {error}; nothing was changed") from None
    if not isinstance(root, MappingNode):
        raise PackageError(f"{KPTFILE}: no Kptfile (kpt.dev/v1)")
    return Resource.from_tree(root)


def _kptfile_of(kptfile: Resource, package: Tree) -> File:
    return File(kptfile.text().encode(), package[KPTFILE].mode)
