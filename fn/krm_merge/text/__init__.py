r"""Lossless YAML: read, edit, and write again only what changed. Knows YAML, nothing of Kubernetes.

`read` gives a tree whose nodes know where their text is, `Editor` collects edits of it, `rendered` writes the text
with them: what no edit reaches keeps its bytes, comments and layout included.

>>> from krm_merge.text import Editor, from_value, read, rendered
>>> root = read("replicas:   3   # enough\nimage: web   # ours\n")
>>> editor = Editor(root)
>>> editor.replace(root.entry("replicas"), from_value(5))
>>> print(rendered(editor).text, end="")
replicas:   5   # enough
image: web   # ours
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_face

if TYPE_CHECKING:
    from krm_merge.text.document import rendered
    from krm_merge.text.editing.editor import Editor
    from krm_merge.text.reading.nodes import Entry, MappingNode, Node, Scalar, SequenceNode, TextError
    from krm_merge.text.reading.reader import read, read_all
    from krm_merge.text.reading.values import Value, from_value, to_value

__all__ = [
    "Editor",
    "Entry",
    "MappingNode",
    "Node",
    "Scalar",
    "SequenceNode",
    "TextError",
    "Value",
    "from_value",
    "read",
    "read_all",
    "rendered",
    "to_value",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "krm_merge.text.document": "rendered",
        "krm_merge.text.editing.editor": "Editor",
        "krm_merge.text.reading.nodes": "Entry MappingNode Node Scalar SequenceNode TextError",
        "krm_merge.text.reading.reader": "read read_all",
        "krm_merge.text.reading.values": "Value from_value to_value",
    },
)
