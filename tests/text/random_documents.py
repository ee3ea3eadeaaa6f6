"""Random YAML documents as people and programs write them, and random edits of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from krm_merge.text.editing.editor import Editor
from krm_merge.text.reading.layout import CannotEditError, Chunk, Comments, chunks, comments_of, is_block
from krm_merge.text.reading.nodes import (
    Alias,
    Child,
    Collection,
    Entry,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    TextError,
    Value,
    from_value,
    is_merge_key,
    value_of,
)
from krm_merge.text.reading.reader import read

T = TypeVar("T")

KEYS = ("a", "b", "name", "spec", "app.kubernetes.io/name", "'q k'", '"d\\tk"', "é", "0644", "yes", "k with sp", "-x")
PLAIN = ("1", "x", "0644", "yes", "1.10", "true", "nginx:1.25", "a b", "~", "null", "2024-01-01", "-1", "x#y", "😀")
QUOTED = ("''", '""', "'it''s'", '"a\\nb"', '"# no comment"', "'a: b'", '"\\u00e9"', "'yes'", '"x" ', "'*a'")
TEXTS = (
    *("0.2.", "0..2", "0.2"),
    *("yes", "no", "on", "off", "y", "n", "Y", "N", "Yes", "NO", "On", "OFF", "true", "null", "~", "=", "<<", "-", "?"),
    *(":", "-_", "._", "1", "0644", "0o14", "1_000", "1e3", ".5", ".inf", "0x1F", "12:30:45", "1:30", "2024-01-01"),
    *("2001-1-1", "1,000", "+1", "-0", "---", "...", "2001-12-14t21:59:43.10-05:00", "", " ", " a", "a ", "a: b", "a:"),
    *("a #b", "# a", "- a", "? a", "[a", "{a", "]", "a, b", "!a", "&a", "*a", "|", ">", "%a", "@a", "`a", "'a", '"a'),
    *(
        "it's",
        'say "x"',
        "a\\b",
        "a\tb",
        "\ta",
        "a\nb",
        "a\n",
        "\n",
        "a\rb",
        "\x00",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
    ),
    *("é", "😀", "a\u00a0b", "x?", "?x", ":x", "a::b", "http://x:80/?a=b#c", "x:y", "$(x)", "${x}", "a=b"),
    *("line\nline", "a\n\nb\n\n", "a\n\n b\n", "  lead\nx\n", "\n\nx\ny\n", "\ttab\nx", "trail \nx", "a\n b\nc"),
    *("a\r\nb", "\t", "\r\n", "é\u2028", "\ufeffa", "\x1b[31m", "日本語", "\\", "'", '"', "{}", "[", ": ", "#b"),
    *("!x", '{"a":"b"}', "1.10", "01", "0o7", ".nan", "2026-01-01", "spec.containers[name=web].image"),
    "x" * 300,
    "several words " * 30,
)
COLLECTIONS: tuple[Value, ...] = (
    [],
    {},
    [1, "yes"],
    [[1], [2, []]],
    {"x": {"y": [1, {"z": "a\nb\n"}]}},
    [{"a": 1, "b": "l\nm"}],
    {"k": "l\nm\n\n"},
    [None, {}],
)
VALUES: tuple[Value, ...] = (*TEXTS, 1, -1, 0, 1.5, 1e100, True, False, None, 10**18, *COLLECTIONS)


class Writer:
    """Writes one random document, with every comment another one."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.out: list[str] = []
        self.comments = 0
        self.anchors: list[tuple[str, str]] = []
        self.room = random.randint(4, 40)

    def pick(self, options: tuple[T, ...] | list[T]) -> T:
        return options[self.random.randint(0, len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.random.randint(0, one_in - 1) == one_in - 1

    def comment(self) -> str:
        self.comments += 1
        return f"# c{self.comments}."

    def document(self) -> str:
        column = self.pick((0, 0, 0, 2))
        if column == 0 and self.chance(6):
            self.out.append("---\n")
        if self.chance(5):
            self.out += (self.comment() + "\n", "\n")
        if self.chance(8):
            self.sequence(column, 0, False)
        else:
            self.mapping(column, 0, False)
        if self.chance(6):
            self.out.append("\n" + self.comment() + "\n")
        text = "".join(self.out)
        if self.chance(8):
            text = text.rstrip("\n")
        if self.chance(6):
            text = text.replace("\n", "\r\n")
        return text

    def lead(self, column: int) -> None:
        """What may stand above a child."""
        if self.chance(8):
            self.out.append(" " * self.random.randint(0, column + 6) + self.comment() + "\n")
        if self.chance(6):
            self.out.append("\n" * self.random.randint(1, 2))
            if self.chance(3):
                self.out.append(" " * self.pick((column, column, 0, column + 5)) + self.comment() + "\n\n")
        if self.chance(5):
            self.out += [" " * column + self.comment() + "\n" for _ in range(self.random.randint(1, 2))]

    def mapping(self, column: int, depth: int, inline: bool) -> None:
        keys = list(KEYS)
        merges = [name for name, kind in self.anchors if kind == "map"]
        for index in range(self.random.randint(1, 4)):
            if index or not inline:
                self.lead(column)
                self.out.append(" " * column)
            if merges and self.chance(6):
                self.out.append(self.pick(("<<: *", "!!merge <<: *")) + merges.pop() + self.line_end())
                continue
            if self.chance(60):
                self.out.append(f"? [{index}, x]\n{' ' * column}: 1\n")
                continue
            key = keys.pop(self.random.randint(0, len(keys) - 1))
            self.out.append(key + self.pick((":", ":", ":", ":", " :")))
            self.value(column, depth, is_key=True)

    def sequence(self, column: int, depth: int, inline: bool) -> None:
        for index in range(self.random.randint(1, 4)):
            if index or not inline:
                self.lead(column)
                self.out.append(" " * column)
            self.out.append("-")
            self.value(column, depth, is_key=False)

    def line_end(self) -> str:
        if self.chance(4):
            return self.pick((" ", "   ", "\t")) + self.comment() + "\n"
        return self.pick(("\n", "\n", "\n", " \n"))

    def anchor(self, kind: str) -> str:
        if not self.chance(6):
            return ""
        name = self.pick(("x", "y", "z"))
        self.anchors = [(n, k) for n, k in self.anchors if n != name]
        self.anchors.append((name, kind))
        return f" &{name}"

    def value(self, column: int, depth: int, *, is_key: bool) -> None:
        self.room -= 1
        nests = depth < 4 and self.room > 0
        kind = self.random.randint(0, 19)
        if kind < 5 and nests:
            # The anchor of a collection can be named only behind it: give it a name afterwards.
            step = self.pick((2, 2, 2, 1, 4))
            if is_key or self.chance(4):
                anchor = self.pick(("", "", "", "", " !!map"))
                self.out.append(anchor + self.line_end())
                self.mapping(column + step, depth + 1, False)
            else:
                self.out.append(" " * self.pick((1, 1, 1, 3)))
                self.mapping(column + 1 + len(self.out[-1]), depth + 1, True)
        elif kind < 9 and nests:
            if is_key:
                self.out.append(self.line_end())
                self.sequence(column + self.pick((0, 0, 2, 2, 4, 1)), depth + 1, False)
            else:
                self.out.append(" ")
                self.sequence(column + 2, depth + 1, True)
        elif kind < 10 and nests:
            name = self.pick(("m", "n"))
            self.out.append(f" &{name}{self.line_end()}")
            self.anchors = [(n, k) for n, k in self.anchors if n != name]
            if is_key:
                self.mapping(column + 2, depth + 1, False)
            else:
                self.mapping(column + 3, depth + 1, False)
            self.anchors.append((name, "map"))
        elif kind < 11 and self.anchors:
            self.out.append(f" *{self.pick(self.anchors)[0]}" + self.line_end())
        elif kind < 13:
            self.block_scalar(column)
        elif kind < 15:
            self.flow_value(column)
        elif kind < 16:
            self.out.append(self.line_end())
        elif kind < 17:
            pad = " " * (column + self.random.randint(1, 3))
            plain, double = f"one\n{pad}two\n\n{pad}three", f'"one\n\n{pad}# two \\\n{pad}three"'
            self.out.append(" " + self.pick((plain, double, f"'one\n{pad}- two'")) + self.line_end())
        else:
            tag = self.pick((" !!str", " !!binary", " !")) if self.chance(20) else ""
            own_line = self.chance(25)
            before = self.line_end() + " " * (column + 2) if own_line else " " * self.pick((1, 1, 1, 2))
            text = self.pick(self.pick((PLAIN, QUOTED))).rstrip()
            self.out.append(self.anchor("scalar") + tag + before + text + self.line_end())

    def block_scalar(self, column: int) -> None:
        depth = self.random.randint(1, 4)
        header = self.pick(("|", "|", "|", ">")) + self.pick(("", "", "-", "+"))
        texts = ("x", "y z", "# not a comment", "- a", "k: v", "")
        lines = [self.pick(texts) for _ in range(self.random.randint(0, 4))]
        if self.chance(4):
            lines = ["  more", *lines]
            header += str(depth)
        elif lines and not lines[0]:
            lines[0] = "first"
        comment = " " + self.comment() if self.chance(5) else ""
        self.out.append(f"{self.anchor('scalar')} {header}{comment}\n")
        for line in lines:
            self.out.append((" " * (column + depth) if line or self.chance(3) else "") + line + "\n")
        if self.chance(4):
            self.out.append("\n" * self.random.randint(1, 2))

    def flow_value(self, column: int) -> None:
        self.out.append(self.anchor("scalar") + " " + self.flow(column, 0) + self.line_end())

    def flow(self, column: int, depth: int) -> str:
        is_map = self.chance(2)
        keys = ["a", "'b'", '"c"', "d-e", "f"]
        parts: list[str] = []
        for _ in range(self.random.randint(0, 3)):
            text = self.pick(("1", "x", "'y'", '"z"', "yes", "http://x", "a b", "null"))
            if depth < 2 and self.chance(4):
                text = self.flow(column, depth + 1)
            elif self.chance(12) and self.anchors:
                text = f"*{self.pick(self.anchors)[0]} "
            if is_map:
                key = keys.pop(self.random.randint(0, len(keys) - 1))
                colon = ":" if key[0] == '"' and self.chance(2) else ": "
                text = key if self.chance(12) else key + colon + text
            elif self.chance(12):
                text = f"k{self.pick((': v', ': '))}"
            parts.append(text)
        opening, closing = "{}" if is_map else "[]"
        if self.chance(5):
            pad = "\n" + " " * (column + self.random.randint(1, 4))
            comment = " " + self.comment() if self.chance(12) else ""
            between = "," + comment + pad
            return opening + pad + between.join(parts) + self.pick(("", ",") if parts else ("",)) + pad + closing
        inner = self.pick(("", "", " "))
        return opening + inner + self.pick((", ", ", ", ",")).join(parts) + inner + closing


def random_document(random: Random) -> tuple[str, Node] | None:
    """A document's text and tree, or None where what was written is no YAML."""
    text = Writer(random).document()
    try:
        root = read(text)
    except TextError:
        return None
    return None if root is None else (text, root)


@dataclass
class Edits:
    """Random edits of one document, and what must survive them."""

    random: Random
    root: Node
    text: str
    editor: Editor = field(init=False)
    # The comments that may be lost.
    lost: set[str] = field(default_factory=set)
    # Start and end of the text that may change.
    touched: list[tuple[int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.editor = Editor(self.root)
        # What stands at a merge key goes with it when it is written out.
        for at in re.finditer(r"(?:^ *#.*\n)*.*<<: \*.*(?:\n|\Z)(?:^ *#.*\n?)*", self.text, re.MULTILINE):
            self.lost |= names_of(at.group())

    def pick(self, options: list[T]) -> T:
        return options[self.random.randint(0, len(options) - 1)]

    def apply(self, count: int) -> None:
        for _ in range(count):
            self.make()

    def collections(self) -> list[Collection]:
        """The collections of the edited tree, those behind aliases too."""
        nodes: list[Collection] = []
        pending: list[Node] = [self.root]
        while pending:
            node = pending.pop()
            if isinstance(node, Alias):
                if self.random.randint(0, 3) == 0:
                    pending.append(node.expansion)
            elif isinstance(node, MappingNode | SequenceNode):
                nodes.append(node)
                children = self.children(node)
                if isinstance(node, MappingNode) and self.random.randint(0, 3) == 0:
                    children += [entry for entry in node.fields.values() if entry.inherited]
                pending += [self.editor.value(child) for child in children]
        return nodes

    def children(self, node: Collection) -> list[Child]:
        """The children that an edit may name: merge keys are not edited themselves."""
        return [c for c in self.editor.children(node) if not (isinstance(c, Entry) and is_merge_key(c))]

    def make(self) -> None:
        node = self.pick(self.collections())
        children = self.children(node)
        if isinstance(node, MappingNode):
            children += self.editor.inherited(node).values()
        op = self.pick(["replace", "replace", "insert", "insert", "remove", "remove", "move", "comment"])
        if op == "insert" or not children:
            self.insert(node, children)
            return
        child = self.pick(children)
        place = self.place(node, child)
        if node.flow:
            self.lost |= names_of(self.text[node.start : node.end])
        self.touch(node, place)
        self.log.append(f"{op} {place and self.text[place.start : place.end]!r}")
        if op == "replace":
            value = self.new_value()
            self.log.append(f"  by {value.text if isinstance(value, Scalar) else type(value).__name__}")
            if place:
                inside = names_of(self.text[place.own_end : value_stop(value_of(child), place)])
                self.lost |= inside - names_of(" ".join(all_of(comments_of(node, child, place))))
            self.editor.replace(child, value)
        elif op == "remove":
            if place:
                self.lost |= names_of(self.text[place.start : place.end])
            self.editor.remove(node, child)
        elif op == "move":
            after = self.pick([None, *(c for c in children if c is not child)])
            self.editor.move(node, child, after)
        else:
            if place:
                self.lost |= names_of(" ".join(all_of(comments_of(node, child, place))))
            self.editor.comment(child, self.new_comments())

    def touch(self, node: Collection, place: Chunk | None) -> None:
        """Notes that this child may change, and all of a flow collection, and the first line of an emptied block."""
        self.touched += [(place.start, place.end)] if place else []
        if node.source is None or node.source.text is not self.text:
            return
        if node.flow:
            self.touched.append((node.start, node.end))
            return
        line = self.text.rfind("\n", 0, node.start)
        self.touched.append((line, node.start))
        while line > 0:
            start = self.text.rfind("\n", 0, line) + 1
            if self.text[start:line].strip() and not self.text[start:line].lstrip().startswith("#"):
                self.touched.append((start, line))
                break
            line = start - 1

    def untouched_lines(self) -> list[str]:
        """The lines that no edit may change, in order."""
        lines: list[str] = []
        at = 0
        for line in self.text.split("\n"):
            if not any(start < at + len(line) + 1 and end > at for start, end in self.touched):
                lines.append(line)
            at += len(line) + 1
        return lines

    def place(self, node: Collection, child: Child) -> Chunk | None:
        if node.source is None or node.source.text is not self.text or not is_block(node):
            return None
        try:
            for candidate, chunk in zip(node.children, chunks(node), strict=True):
                if candidate is child:
                    return chunk
        except CannotEditError:
            pass
        return None

    def new_comments(self) -> Comments:
        line = self.pick([None, None, "# new line"])
        return Comments(self.pick([(), (), ("# new head",), ("# one", "# two")]), line)

    def new_value(self) -> Node:
        if self.random.randint(0, 2) == 0 and (foreign := random_document(self.random)):
            node = foreign[1]
            while isinstance(node, MappingNode | SequenceNode) and node.children and self.random.randint(0, 2):
                node = value_of(self.pick(list(node.children)))
            return node
        return from_value(self.pick(list(VALUES)))

    def insert(self, node: Collection, children: list[Child]) -> None:
        after = self.pick([None, *children])
        value = self.new_value()
        child: Child = value
        if isinstance(node, MappingNode):
            keys = {c.key.canonical for c in self.editor.children(node) if isinstance(c, Entry)} | node.fields.keys()
            names = [from_value(name) for name in ("new", "yes", "1", "a", "b", "k: v", "n\nl", "")]
            free = [name for name in names if name.canonical not in keys]
            if not free:
                return
            child = Entry(self.pick(free), value)
        self.touch(node, None)
        self.log.append(f"insert in {self.text[node.start : node.end]!r}")
        self.editor.insert(node, child, after, self.pick([None, self.new_comments()]))


def strip(lines: list[str]) -> list[str]:
    """Lines without what an edit nearby may change: indentation, the dash before a first key, blank lines."""
    return [text for line in lines if (text := line.lstrip(" -").rstrip())]


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    """Whether all of these stand in the whole in this order."""
    rest = iter(whole)
    return all(line in rest for line in part)


def names_of(text: str) -> set[str]:
    """The generated comments in a text."""
    return set(re.findall(r"# c\d+\.", text))


def all_of(comments: Comments) -> list[str]:
    return [*comments.head, comments.line or ""]


def value_stop(value: Node, place: Chunk) -> int:
    """Where the text of a child's value ends, with the comments inside it."""
    try:
        return (
            chunks(value)[-1].end
            if isinstance(value, MappingNode | SequenceNode) and is_block(value)
            else place.value_end
        )
    except CannotEditError:
        return place.end
