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

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.text.cut import Cut as Cut
    from krm_merge.text.cut import Slice as Slice
    from krm_merge.text.cut import cut_items as cut_items
    from krm_merge.text.cut import has_open_end as has_open_end
    from krm_merge.text.cut import is_json as is_json
    from krm_merge.text.document import Rendered as Rendered
    from krm_merge.text.document import document_text as document_text
    from krm_merge.text.document import rendered
    from krm_merge.text.document import text_of as text_of
    from krm_merge.text.document import with_separators_of as with_separators_of
    from krm_merge.text.document import without_separators as without_separators
    from krm_merge.text.document import written as written
    from krm_merge.text.document import yaml_of as yaml_of
    from krm_merge.text.editing.change import Change as Change
    from krm_merge.text.editing.change import KeysOf as KeysOf
    from krm_merge.text.editing.editor import Editor
    from krm_merge.text.editing.render import longest_rising as longest_rising
    from krm_merge.text.reading.layout import NO_COMMENTS as NO_COMMENTS
    from krm_merge.text.reading.layout import STEP as STEP
    from krm_merge.text.reading.layout import CannotEditError as CannotEditError
    from krm_merge.text.reading.layout import Chunk as Chunk
    from krm_merge.text.reading.layout import Comments as Comments
    from krm_merge.text.reading.layout import block_scalar_header as block_scalar_header
    from krm_merge.text.reading.layout import chunks as chunks
    from krm_merge.text.reading.layout import comments_of as comments_of
    from krm_merge.text.reading.layout import content_end as content_end
    from krm_merge.text.reading.layout import is_block_scalar as is_block_scalar
    from krm_merge.text.reading.layout import source_of as source_of
    from krm_merge.text.reading.nodes import MERGE_KEY as MERGE_KEY
    from krm_merge.text.reading.nodes import Alias as Alias
    from krm_merge.text.reading.nodes import Child as Child
    from krm_merge.text.reading.nodes import Collection as Collection
    from krm_merge.text.reading.nodes import (
        Entry,
        MappingNode,
        Node,
        Scalar,
        SequenceNode,
        TextError,
        Value,
        from_value,
        to_value,
    )
    from krm_merge.text.reading.nodes import Object as Object
    from krm_merge.text.reading.nodes import Source as Source
    from krm_merge.text.reading.nodes import canonical_text as canonical_text
    from krm_merge.text.reading.nodes import copied as copied
    from krm_merge.text.reading.nodes import copy as copy
    from krm_merge.text.reading.nodes import field_at as field_at
    from krm_merge.text.reading.nodes import is_null as is_null
    from krm_merge.text.reading.nodes import is_opaque as is_opaque
    from krm_merge.text.reading.nodes import is_requoted as is_requoted
    from krm_merge.text.reading.nodes import is_template as is_template
    from krm_merge.text.reading.nodes import key_text as key_text
    from krm_merge.text.reading.nodes import mapping_canonical as mapping_canonical
    from krm_merge.text.reading.nodes import opaque as opaque
    from krm_merge.text.reading.nodes import resolved as resolved
    from krm_merge.text.reading.nodes import same as same
    from krm_merge.text.reading.nodes import value_of as value_of
    from krm_merge.text.reading.reader import BOM as BOM
    from krm_merge.text.reading.reader import IN_COLLECTIONS as IN_COLLECTIONS
    from krm_merge.text.reading.reader import MAX_DEPTH as MAX_DEPTH
    from krm_merge.text.reading.reader import check as check
    from krm_merge.text.reading.reader import documents_in as documents_in
    from krm_merge.text.reading.reader import mapping_in as mapping_in
    from krm_merge.text.reading.reader import read, read_all
    from krm_merge.text.reading.scalar_text import block_text as block_text
    from krm_merge.text.reading.scalar_text import needs_block as needs_block
    from krm_merge.text.reading.scalars import Canonical as Canonical
    from krm_merge.text.reading.scalars import python_value as python_value
    from krm_merge.text.reading.scalars import quoted as quoted
    from krm_merge.text.reading.scalars import scalar_text as scalar_text
    from krm_merge.text.reading.scalars import type_of as type_of
    from krm_merge.text.reading.stream import BOM_BYTES as BOM_BYTES
    from krm_merge.text.reading.stream import detached_head as detached_head
    from krm_merge.text.reading.stream import in_lines_of as in_lines_of
    from krm_merge.text.reading.stream import is_empty as is_empty
    from krm_merge.text.reading.stream import joined as joined
    from krm_merge.text.reading.stream import plain_lines as plain_lines
    from krm_merge.text.reading.stream import scalars_below as scalars_below
    from krm_merge.text.reading.stream import split_documents as split_documents
    from krm_merge.text.reading.stream import usual_line_end as usual_line_end
    from krm_merge.text.reading.stream import without_separator as without_separator

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

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "cut": "Cut Slice cut_items has_open_end is_json",
        "document": "Rendered document_text rendered text_of with_separators_of without_separators written yaml_of",
        "editing.change": "Change KeysOf",
        "editing.editor": "Editor",
        "editing.render": "longest_rising",
        "reading.layout": "CannotEditError Chunk Comments NO_COMMENTS STEP block_scalar_header chunks "
        "comments_of content_end is_block_scalar source_of",
        "reading.nodes": "Alias Child Collection Entry MERGE_KEY MappingNode Node Object Scalar SequenceNode "
        "Source TextError Value canonical_text copied copy field_at from_value is_null is_opaque is_requoted "
        "is_template "
        "key_text mapping_canonical opaque resolved same to_value value_of",
        "reading.reader": "BOM IN_COLLECTIONS MAX_DEPTH check documents_in mapping_in read read_all",
        "reading.scalar_text": "block_text needs_block",
        "reading.scalars": "Canonical python_value quoted scalar_text type_of",
        "reading.stream": "BOM_BYTES detached_head in_lines_of is_empty joined plain_lines scalars_below "
        "split_documents usual_line_end without_separator",
    },
)
