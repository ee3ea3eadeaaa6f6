"""The edited tree as it will be written: aliases and merge keys that are no longer possible are written out."""

from __future__ import annotations

from krm_merge.text.editing.editor import Editor
from krm_merge.text.reading.layout import CannotEditError, Comments, source_of
from krm_merge.text.reading.nodes import (
    Alias,
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    SequenceNode,
    is_merge_key,
    merged_mappings,
    value_of,
)
from krm_merge.text.reading.scalars import Canonical


class EditPlan:
    """The edits of an editor, and which aliases are kept or written out (V9).

    An alias is kept while its anchor precedes it and has the value that is wanted here, too. A merge key is kept
    while it adds the wanted fields; an inherited field with another value is set beside it.
    """

    def __init__(self, editor: Editor) -> None:
        """Plans the writing of all edits made so far."""
        self._editor = editor
        self._lists: dict[int, list[Child]] = {}
        self._marked: set[int] = set()
        # Aliases that stay, whatever was edited inside: their anchors were edited to the same value.
        self._kept: set[int] = set()
        # The anchors before the current place of the walk.
        self._anchored: dict[str, Node] = {}
        if _has_aliases(editor.root):
            self._walk(editor.root)

    def children(self, collection: Collection) -> list[Child]:
        """The children to be written."""
        now = self._lists.get(id(collection))
        return self._editor.children(collection) if now is None else list(now)

    def value(self, child: Child) -> Node:
        """The value of a child after the edits."""
        return self._editor.value(child)

    def comments(self, child: Child) -> Comments | None:
        """The comments that an edit gave the child."""
        return self._editor.comments(child)

    def inherited(self, mapping: MappingNode) -> dict[Canonical, Entry]:
        """The fields that merge keys add."""
        return self._editor.inherited(mapping)

    def is_touched(self, child: Child) -> bool:
        """Whether a child must be written differently from its source text."""
        if id(value_of(child)) in self._kept:
            return self.value(child) is not value_of(child) or self.comments(child) is not None
        return id(value_of(child)) in self._marked or self._editor.is_child_touched(child)

    def _walk(self, node: Node) -> bool:
        """Walks the nodes that stay in place, in the order of the text. True where something must be written out."""
        if isinstance(node, Alias):
            is_anchored = self._anchored.get(node.name) is node.target
            marked = not is_anchored or self._editor.canonical(node) != self._editor.canonical(node.target)
            if not marked:
                self._kept.add(id(node))
        else:
            if node.anchor is not None:
                self._anchored[node.anchor] = node
            marked = False
            if isinstance(node, MappingNode):
                marked = self._keep_merge_keys(node)
            if isinstance(node, MappingNode | SequenceNode):
                native = {id(child) for child in node.children}
                for child in self.children(node):
                    if id(child) in native and self.value(child) is value_of(child):
                        if isinstance(child, Entry):
                            self._walk_key(child.key)
                        marked |= self._walk(value_of(child))
        if marked:
            self._marked.add(id(node))
        return marked

    def _walk_key(self, key: Node) -> None:
        if self._walk(key):
            raise CannotEditError("a key that is an alias whose anchor changes")

    def _is_changed(self, node: Node) -> bool:
        return self._editor.is_touched(node) and self._editor.canonical(node) != node.canonical

    def _keep_merge_keys(self, node: MappingNode) -> bool:
        """Decides on the merge keys of a mapping. True where they are not kept as they are."""
        editor = self._editor
        children = editor.children(node)
        merges = [child for child in children if isinstance(child, Entry) and is_merge_key(child)]
        if not merges:
            return False
        keys = {child.key.canonical for child in children if isinstance(child, Entry) and not is_merge_key(child)}
        inherited = editor.inherited(node)
        # An edited field is written beside the merge keys, which still add the others.
        edited = {key: entry for key, entry in inherited.items() if editor.is_child_touched(entry)}
        merged_keys = {key for merge in merges for parent in merged_mappings(merge.value) for key in parent.fields}
        can_stay = all(self._can_keep(merge) for merge in merges) and merged_keys - keys == inherited.keys()
        if can_stay and not edited:
            return False
        now = [child for child in children if can_stay or not any(child is merge for merge in merges)]
        at = next(index for index, child in enumerate(children) if child is merges[0]) + can_stay
        now[at:at] = (edited if can_stay else inherited).values()
        self._lists[id(node)] = now
        return True

    def _can_keep(self, merge: Entry) -> bool:
        """Whether a merge key can stay: it is unchanged, and the anchors that it names precede it."""
        if self._editor.value(merge) is not merge.value or self._editor.is_touched(merge.value):
            return False
        named = merge.value.items if isinstance(merge.value, SequenceNode) else [merge.value]
        aliases = [node for node in named if isinstance(node, Alias)]
        return all(self._anchored.get(a.name) is a.target and not self._is_changed(a.target) for a in aliases)


def _has_aliases(node: Node) -> bool:
    return "*" in source_of(node).text
