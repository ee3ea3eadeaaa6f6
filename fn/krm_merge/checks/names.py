"""Names for the functions of a pipeline that have none, so that updates recognise them by name (rule F1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from posixpath import basename

from krm_merge.krm.fieldpath import format_path
from krm_merge.krm.resource import Resource
from krm_merge.merge.values.identity import PipelineFunction, read_functions
from krm_merge.merge.values.kptfile import functions_at
from krm_merge.schema.kptfile import FUNCTION_LISTS
from krm_merge.text.document import document_text
from krm_merge.text.editing.editor import Editor
from krm_merge.text.reading.layout import Comments
from krm_merge.text.reading.nodes import Entry, MappingNode, TextError
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.values import from_value


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
        name = next(each for each in _number_names(program) if each not in names)
        names.add(name)
        yield position, name


def _number_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _insert_name(editor: Editor, function: MappingNode, name: str) -> None:
    """Puts the name behind the program that the function runs."""
    empty = function.entry("name")
    if empty is not None:
        editor.replace(empty, from_value(name))
        return
    behind = function.entry("image") or function.entry("exec")
    editor.insert(function, Entry(from_value("name"), from_value(name)), behind, Comments())
