"""The fallback for layouts that text edits cannot express: the document written again by ruamel.yaml.

Every plain scalar is a text to ruamel here, so that it neither resolves nor rewrites any: `0644`, `TRUE`, `2024-01-01`
are written unchanged. This module alone decides what is quoted.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.emit import Emitter
from krm_merge.text.reading.layout import (
    CannotEditError,
    Comments,
    chunks,
    comments_of,
    has_nothing_above,
    indents_of,
    is_block,
    known_chunks,
    source_of,
)
from krm_merge.text.reading.nodes import (
    Alias,
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    is_merge_key,
    value_of,
)
from krm_merge.text.reading.scalars import literal_is_safe, plain_is_safe, type_of

_MERGE = re.compile(r"<<\Z")
_NO_FOLDING = 1 << 20


def reemit(text: str, editor: Editor) -> str:
    """The document with its edits as ruamel.yaml writes it; the caller checks what it means.

    `text` is the text that the editor's root was read from. Comments away from the edits stay. A document that ruamel
    cannot read or write is written anew.
    """
    try:
        with warnings.catch_warnings():
            # A duplicate anchor does not matter here.
            warnings.simplefilter("ignore")
            return _Reemitter(text, editor).text()
    # Besides ruamel's errors, `zip` with `strict` raises where ruamel's keys are not the entries of the text.
    except Exception:
        return written_anew(text, editor)


def written_anew(text: str, editor: Editor) -> str:
    """The whole document as new text; only comments whose place is known stay. Raises CannotEdit."""
    root = editor.value(editor.root)
    old = editor.root
    newline = "\r\n" if "\r\n" in text else "\n"
    start = text.rfind("\n", 0, old.start) + 1
    column = old.start - start if not text[start : old.start].strip(" ") else 0
    emitter = Emitter(editor, old)
    root = emitter.resolved(root)
    above = text[:start] if has_nothing_above(text, start) else ""
    if isinstance(root, MappingNode | SequenceNode) and not emitter.is_flow(root):
        if is_block(old):
            # The comments above the first child come with it.
            above = text[: _first_start(old)] if _first_start(old) < start else above
        return above + emitter.block(root, column, newline)
    return above + " " * column + emitter.value(root, column, "", item=True, newline=newline).lstrip(" ")


def _first_start(root: Node) -> int:
    try:
        return chunks(root)[0].start  # type: ignore[arg-type]
    except CannotEditError:
        return root.start


class _Reemitter:
    """Changes what ruamel read of a text to what the editor wants, and has it written."""

    def __init__(self, text: str, editor: Editor) -> None:
        self._editor = editor
        self._newline = "\r\n" if "\r\n" in text else "\n"
        source = source_of(editor.root)
        self._pad = " " * source.column(editor.root.start) if is_block(editor.root) else ""
        # ruamel remembers columns and writes at column 0.
        lines = text.replace("\r\n", "\n").split("\n")
        lines = [line.removeprefix(self._pad) if line.startswith(self._pad) else line.lstrip(" ") for line in lines]
        self._text = "\n".join(lines)
        self._indents = indents_of(editor.root)
        self._yaml = self._ruamel()

    def _ruamel(self) -> Any:
        from ruamel.yaml import YAML
        from ruamel.yaml.resolver import VersionedResolver

        class Texts(VersionedResolver):
            """Takes every plain scalar for a text, but for merge keys."""

            @property
            def versioned_resolver(self) -> Any:
                return {"<": [("tag:yaml.org,2002:merge", _MERGE)]}

        yaml = YAML(typ="rt")
        yaml.Resolver = Texts
        yaml.preserve_quotes = True
        yaml.width = _NO_FOLDING
        offset = self._indents.sequence or 0
        yaml.indent(mapping=self._indents.mapping, sequence=offset + 2, offset=offset)
        yaml.explicit_start = self._text.lstrip().startswith("---")
        return yaml

    def text(self) -> str:
        """The document."""
        root = self._editor.root
        data = self._yaml.load(self._text)
        out = io.StringIO()
        self._yaml.dump(self._changed(root, self._editor.value(root), data), out)
        # ruamel ends a document after an open scalar; our own text has an end already.
        lines = out.getvalue().removesuffix("...\n").split("\n")
        return self._newline.join(self._pad + line if line else line for line in lines)

    def _changed(self, before: Node, after: Node, data: Any) -> Any:
        """The replacement in ruamel's tree for `data`, which ruamel read from `before`."""
        if after is not before or isinstance(before, Alias):
            changed = after is not before or self._editor.canonical(before) != before.canonical
            return self._new(after) if changed or self._is_changed_target(before) else data
        if isinstance(before, Scalar) or not self._editor.is_touched(before):
            return data
        if isinstance(before, SequenceNode):
            self._change_sequence(before, data)
            return data
        # ruamel lists inherited fields among the keys, but no merge keys: its keys are not the entries of the text.
        if any(is_merge_key(entry) for entry in before.entries):
            return self._new(before)
        self._change_mapping(before, data)
        return data

    def _is_changed_target(self, node: Node) -> bool:
        return isinstance(node, Alias) and self._editor.canonical(node.target) != node.target.canonical

    def _change_mapping(self, node: MappingNode, data: Any) -> None:
        keys = dict(zip((id(entry) for entry in node.entries), list(data), strict=True))
        now = [child for child in self._editor.children(node) if isinstance(child, Entry)]
        staying = {id(entry) for entry in now}
        for gone in node.entries:
            if id(gone) not in staying:
                del data[keys[id(gone)]]
                # ruamel would give the comments of a deleted key to a new field of that name.
                data.ca.items.pop(keys[id(gone)], None)
        for entry in now:
            after = self._editor.value(entry)
            if id(entry) in keys:
                key = keys[id(entry)]
                data[key] = self._changed(entry.value, after, data[key])
            else:
                key = self._new(entry.key)
                data[key] = self._new(after)
            data.move_to_end(key)
            self._comment(node, entry, data, key)

    def _change_sequence(self, node: SequenceNode, data: Any) -> None:
        old = {id(item): (index, data[index]) for index, item in enumerate(node.items)}
        comments = dict(data.ca.items)
        data.ca.items.clear()
        now = self._editor.children(node)
        items: list[Any] = []
        for index, item in enumerate(now):
            after = self._editor.value(item)
            if id(item) in old:
                position, before = old[id(item)]
                items.append(self._changed(value_of(item), after, before))
                if position in comments:
                    data.ca.items[index] = comments[position]
            else:
                items.append(self._new(after))
        # The `clear` of ruamel's own list would move the comments that were just set.
        list.clear(data)
        list.extend(data, items)
        for index, item in enumerate(now):
            self._comment(node, item, data, index)

    def _comment(self, node: Collection, child: Child, data: Any, key: Any) -> None:
        """Sets the comments that an edit gave a child, where ruamel has none."""
        comments = self._editor.comments(child)
        if comments is None or key in data.ca.items or comments == self._old_comments(node, child):
            return
        if comments.head:
            before = "\n".join(line.removeprefix("#").removeprefix(" ") for line in comments.head)
            data.yaml_set_comment_before_after_key(key, before=before, indent=data.lc.col)
        if comments.line:
            data.yaml_add_eol_comment(comments.line, key=key)

    def _old_comments(self, node: Collection, child: Child) -> Comments | None:
        try:
            places = dict(zip(map(id, node.children), known_chunks(node), strict=True))
        except CannotEditError:
            return None
        place = places.get(id(child))
        return None if place is None else comments_of(node, child, place)

    def _new(self, node: Node) -> Any:
        """A value for ruamel that shares nothing with what it read."""
        from ruamel.yaml.comments import CommentedMap, CommentedSeq

        emitter = Emitter(self._editor, self._indents)
        node = emitter.resolved(node)
        if isinstance(node, Scalar):
            return _new_scalar(node, emitter)
        assert not isinstance(node, Alias)
        children = emitter.children(node)
        value: Any
        if isinstance(node, SequenceNode):
            value = CommentedSeq(self._new(self._editor.value(child)) for child in children)
        else:
            entries = (child for child in children if isinstance(child, Entry))
            value = CommentedMap((self._new(e.key), self._new(self._editor.value(e))) for e in entries)
        if emitter.is_flow(node):
            value.fa.set_flow_style()
        return value


def _new_scalar(node: Scalar, emitter: Emitter) -> Any:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString, PlainScalarString

    kind = type_of(node.canonical)
    if kind == "binary":
        raise CannotEditError("binary values are not for ruamel")
    if kind != "str":
        return PlainScalarString(emitter.flow(node).rpartition(" ")[2])
    if literal_is_safe(node.text):
        return LiteralScalarString(node.text)
    if plain_is_safe(node.text, flow=True):
        return node.text
    return DoubleQuotedScalarString(node.text)
