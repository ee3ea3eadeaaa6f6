"""Keeps the edits of a tree, and the tree that they yield: aliases that are no longer possible are written out."""

from __future__ import annotations

from collections.abc import Sequence

from krm_merge.text.reading.layout import CannotEditError, Comments, source_of
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
    mapping_canonical,
    merged_mappings,
    sequence_canonical,
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
        # Hardly any document has aliases, and without them there is nothing to decide.
        if source_of(editor.root).has_aliases:
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
        if self._kept and id(value_of(child)) in self._kept:
            return self.value(child) is not value_of(child) or self.comments(child) is not None
        return (bool(self._marked) and id(value_of(child)) in self._marked) or self._editor.is_child_touched(child)

    def _walk(self, node: Node) -> bool:
        """Walks the nodes that stay in place, in the order of the text. True where something must be written out."""
        if id(node) in self._kept:
            # A merge key that stays.
            return False
        if isinstance(node, Alias):
            # By identity: an anchor of the same name may have come in between.
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
                    # The emitter writes new children without anchors and aliases, so they are not walked.
                    if id(child) in native and self.value(child) is value_of(child):
                        if isinstance(child, Entry):
                            # The key first, as in the text: its anchor may have an alias in the value.
                            self._walk_key(child.key)
                        # Not `or`, which would skip the walk: it notes anchors and marks aliases in every child.
                        marked |= self._walk(value_of(child))
        if marked:
            self._marked.add(id(node))
        return marked

    def _walk_key(self, key: Node) -> None:
        if self._walk(key):
            raise CannotEditError("a key that is an alias whose anchor changes; write the key out", key)

    def _is_changed(self, node: Node) -> bool:
        return self._editor.is_touched(node) and self._editor.canonical(node) != node.canonical

    def _keep_merge_keys(self, node: MappingNode) -> bool:
        """Decides on the merge keys of a mapping. True where they are not kept as they are."""
        editor = self._editor
        children = editor.children(node)
        merges = [child for child in children if isinstance(child, Entry) and is_merge_key(child)]
        if not merges:
            return False
        if (rest := self._beside_anchors(node, children, merges)) is not None:
            self._kept.update(id(merge.value) for merge in merges)
            self._lists[id(node)] = rest
            return True
        keys = {child.key.canonical for child in children if isinstance(child, Entry) and not is_merge_key(child)}
        inherited = editor.inherited(node)
        # An edited field is written beside the merge keys, which still add the others.
        edited = {key: entry for key, entry in inherited.items() if editor.is_child_touched(entry)}
        merged_keys = {key for merge in merges for parent in merged_mappings(merge.value) for key in parent.fields}
        # A merge key that stays would add a field again that an edit removed.
        can_stay = all(self._can_keep(merge) for merge in merges) and merged_keys - keys == inherited.keys()
        if can_stay and not edited:
            return False
        now = [child for child in children if can_stay or not any(child is merge for merge in merges)]
        at = next(index for index, child in enumerate(children) if child is merges[0]) + can_stay
        now[at:at] = (edited if can_stay else inherited).values()
        self._lists[id(node)] = now
        return True

    def _beside_anchors(self, node: MappingNode, children: list[Child], merges: list[Entry]) -> list[Child] | None:
        """What is to be written beside merge keys whose anchors get the same edits; None where they get others."""
        editor = self._editor
        parents = [parent for merge in merges for parent in merged_mappings(merge.value)]
        if not any(map(editor.is_touched, parents)) or not all(map(self._is_anchored, merges)):
            return None
        # The strongest comes last here.
        shared = {key: value for parent in parents[::-1] for key, value in _fields(editor.canonical(parent))}
        native = set(map(id, node.children))
        rest = [
            child
            for child in children
            if id(child) in native
            or not isinstance(child, Entry)
            or shared.get(child.key.canonical) != editor.canonical(editor.value(child))
        ]
        own = {
            child.key.canonical: editor.canonical(editor.value(child))
            for child in rest
            if isinstance(child, Entry) and not is_merge_key(child)
        }
        return rest if shared | own == dict(_fields(editor.canonical(node))) else None

    def _can_keep(self, merge: Entry) -> bool:
        """Whether a merge key can stay: it is unchanged, and the anchors that it names precede it."""
        if self._editor.is_touched(merge.value) or not self._is_anchored(merge):
            return False
        return not any(isinstance(node, Alias) and self._is_changed(node.target) for node in _named(merge))

    def _is_anchored(self, merge: Entry) -> bool:
        """Whether a merge key has its value, and the anchors that it names precede it."""
        aliases = [node for node in _named(merge) if isinstance(node, Alias)]
        is_same = self._editor.value(merge) is merge.value
        return is_same and all(self._anchored.get(alias.name) is alias.target for alias in aliases)


def _named(merge: Entry) -> list[Node]:
    """What a merge key names: one mapping, or a list of them."""
    return merge.value.items if isinstance(merge.value, SequenceNode) else [merge.value]


def _fields(mapping: Canonical) -> frozenset[tuple[Canonical, Canonical]]:
    fields = mapping[-1]
    assert isinstance(fields, frozenset)
    return fields


class _Order:
    """The children of a collection in their order, as a ring: lists of thousands of elements may change altogether."""

    __slots__ = ("_after", "_before", "_children", "_listed")

    def __init__(self, children: list[Child]) -> None:
        numbers = [_START, *map(id, children)]
        self._children = {id(child): child for child in children}
        self._after = dict(zip(numbers, [*numbers[1:], _START], strict=True))
        self._before = dict(zip([*numbers[1:], _START], numbers, strict=True))
        self._listed: list[Child] | None = None

    def listed(self) -> list[Child]:
        """All of them."""
        if self._listed is None:
            self._listed = []
            at = self._after[_START]
            while at != _START:
                self._listed.append(self._children[at])
                at = self._after[at]
        return self._listed

    def put(self, child: Child, after: Child | None) -> None:
        """Puts a child behind another one, first where `after` is None. Raises ValueError."""
        before = _START if after is None else id(after)
        if before not in self._after or id(child) in self._children:
            raise ValueError("the child is not in this collection")
        behind = self._after[before]
        self._after[before] = self._before[behind] = id(child)
        self._after[id(child)], self._before[id(child)] = behind, before
        self._children[id(child)] = child
        self._listed = None

    def take_out(self, child: Child) -> None:
        """Removes a child. Raises ValueError."""
        if self._children.pop(id(child), None) is None:
            raise ValueError("the child is not in this collection")
        before, behind = self._before.pop(id(child)), self._after.pop(id(child))
        self._after[before], self._before[behind] = behind, before
        self._listed = None


_START = 0
"""In place of a child's id(): the place before the first one and behind the last."""


class Editor:
    """Edits of the document with this root.

    Edits name nodes and entries of the tree themselves, so that one edit does not shift the place of another. New
    children may come from other texts (their style and comments come along) or from `values.from_value`. Where a
    mapping inherits a field by a merge key, edits name the entry in its `fields`.
    """

    def __init__(self, root: Node) -> None:
        """Starts with no edits."""
        self.root = root
        self._children: dict[int, _Order] = {}
        self._values: dict[int, Node] = {}
        self._comments: dict[int, Comments] = {}
        self._uninherited: dict[int, set[Canonical]] = {}
        self._touched: dict[int, bool] = {}
        # Nodes are known by id(): hold on to those that only an edit names.
        self._alive: list[Child] = []

    # ---- edits -------------------------------------------------------------------------------------------------

    def replace(self, child: Child, value: Node) -> None:
        """Gives an entry another value, or puts another item in the place of an item."""
        self._edited(child)
        self._values[id(child)] = value

    def insert(
        self, collection: Collection, child: Child, after: Child | None, comments: Comments | None = None
    ) -> None:
        """Puts a new child behind another one, first where `after` is None."""
        if comments is not None:
            self.comment(child, comments)
        self._edited(child)
        _put(self._order(collection), child, after)

    def remove(self, collection: Collection, child: Child) -> None:
        """Removes a child, with its comments."""
        self._edited(collection)
        if isinstance(child, Entry) and child.inherited:
            self._uninherited.setdefault(id(collection), set()).add(child.key.canonical)
            return
        self._order(collection).take_out(child)

    def move(self, collection: Collection, child: Child, after: Child | None) -> None:
        """Moves a child behind another one, first where `after` is None. Inherited fields have no place to move to."""
        if (isinstance(child, Entry) and child.inherited) or child is after:
            return
        now = self._order(collection)
        now.take_out(child)
        _put(now, child, after)

    def comment(self, child: Child, comments: Comments) -> None:
        """Gives a child these comments instead of its own; in a flow collection there is no place for them.

        Raises ValueError for a line that is not a comment.
        """
        for line in (*comments.head, *([comments.line] if comments.line is not None else ())):
            if not line.startswith("#") or len(line.splitlines()) > 1:
                raise ValueError(f"not one line of comment: {line!r}")
        self._edited(child)
        self._comments[id(child)] = comments

    def _edited(self, child: Child) -> None:
        self._alive.append(child)
        # A node does not know the collections around it, so any of these answers may be wrong now.
        self._touched.clear()

    def _order(self, collection: Collection) -> _Order:
        self._edited(collection)
        order = self._children.get(id(collection))
        if order is None:
            order = self._children[id(collection)] = _Order(list(collection.children))
        return order

    @property
    def revision(self) -> int:
        """Another number after every edit."""
        return len(self._alive)

    # ---- the edited tree ---------------------------------------------------------------------------------------

    def children(self, collection: Collection) -> list[Child]:
        """The children after the edits."""
        now = self._children.get(id(collection))
        return list(collection.children if now is None else now.listed())

    def value(self, child: Child) -> Node:
        """The value of a child after the edits."""
        value = self._values.get(id(child))
        return value_of(child) if value is None else value

    def comments(self, child: Child) -> Comments | None:
        """The comments that an edit gave the child."""
        return self._comments.get(id(child))

    def inherited(self, mapping: MappingNode) -> dict[Canonical, Entry]:
        """The fields that merge keys add after the edits."""
        before = mapping.fields
        now = [child for child in self.children(mapping) if isinstance(child, Entry)]
        merges = [entry for entry in now if is_merge_key(entry)]
        gone = self._uninherited.get(id(mapping), set()) | {e.key.canonical for e in now if not is_merge_key(e)}
        # A field of its own that hid an inherited one and was removed is gone altogether.
        gone |= {key for key, entry in before.items() if not entry.inherited}
        result: dict[Canonical, Entry] = {}
        for merge in merges:
            for parent in merged_mappings(self.value(merge)):
                for key, entry in parent.fields.items():
                    if key not in result and key not in gone:
                        mine = before.get(key)
                        result[key] = mine if mine is not None and mine.key is entry.key else entry
        return result

    def canonical(self, node: Node | None = None) -> Canonical:
        """The value of a node (the root by default) after the edits."""
        node = self.value(self.root) if node is None else node
        if isinstance(node, Alias):
            return node.canonical if node.unread else self.canonical(node.expansion)
        if isinstance(node, Scalar) or not self.is_touched(node):
            return node.canonical
        if isinstance(node, SequenceNode):
            return sequence_canonical([self.canonical(self.value(item)) for item in self.children(node)])
        entries = [child for child in self.children(node) if isinstance(child, Entry)]
        # By name, `<<` and "<<" are the same: the first is no field.
        own_fields = [entry for entry in entries if not is_merge_key(entry)]
        fields = {entry.key.canonical: entry for entry in own_fields}
        if len(own_fields) < len(entries):
            fields = self.inherited(node) | fields
        return mapping_canonical({key: self.canonical(self.value(entry)) for key, entry in fields.items()})

    def tree(self, node: Node | None = None) -> Node:
        """The edited tree (or what became of one of its nodes); where nothing was edited, the nodes of the text."""
        node = self.value(self.root if node is None else node)
        if isinstance(node, Alias):
            node = node.expansion
        if not isinstance(node, MappingNode | SequenceNode) or not self.is_touched(node):
            return node
        if isinstance(node, SequenceNode):
            return SequenceNode.new(node.flow, [self.tree(self.value(item)) for item in self.children(node)])
        fields = [child for child in self.children(node) if isinstance(child, Entry) and not is_merge_key(child)]
        entries = [*self.inherited(node).values(), *fields]
        return MappingNode.new(node.flow, [Entry(e.key, self.tree(self.value(e))) for e in entries])

    def is_touched(self, node: Node) -> bool:
        """Whether an edit changes anything inside the node."""
        is_touched = self._touched.get(id(node))
        if is_touched is None:
            is_touched = self._touched[id(node)] = self._is_touched(node)
        return is_touched

    def _is_touched(self, node: Node) -> bool:
        if id(node) in self._values or id(node) in self._children or id(node) in self._uninherited:
            return True
        if isinstance(node, Alias):
            return not node.unread and self.is_touched(node.expansion)
        if isinstance(node, Scalar):
            return False
        children: Sequence[Child] = node.children
        if type(node) is MappingNode and (inherited := node.inherited_if_read):
            children = [*children, *inherited]
        # A loop, not any(): trees may be deep, and a generator would cost a frame more a level.
        for child in children:
            if id(child) in self._values or id(child) in self._comments:
                return True
            value = child.value if type(child) is Entry else child
            if type(value) is not Scalar and self.is_touched(value):  # type: ignore[arg-type]
                return True
        return False

    def is_child_touched(self, child: Child) -> bool:
        """Whether an edit changes anything of the child, its comments among it."""
        if id(child) in self._values or id(child) in self._comments:
            return True
        value = child.value if type(child) is Entry else child
        return type(value) is not Scalar and self.is_touched(value)  # type: ignore[arg-type]


def _put(children: _Order, child: Child, after: Child | None) -> None:
    if isinstance(after, Entry) and after.inherited:
        # An inherited field takes the place of the merge key.
        merges = [entry for entry in children.listed() if isinstance(entry, Entry) and is_merge_key(entry)]
        after = merges[-1] if merges else None
    children.put(child, after)
