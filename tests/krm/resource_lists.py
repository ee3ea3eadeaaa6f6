"""Generated ResourceLists whose items hold what could be taken for the end of an item, and where libyaml says it is."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import yaml

from krm_merge.text.cut import Cut, cut_items
from krm_merge.text.reading.nodes import TextError

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
# `_` at the start of a line stands for the column of the list's dash, `=` for that of the item's fields.
TRAPS = [
    "a: 1",
    "it's: 'closed'",
    "plain: it's an apostrophe",
    'plain: a " quote',
    "plain: a\n= - b\n=  # no, a comment",
    "plain: a\n=  continued 'with quote",
    "'quoted key': 1",
    '"quoted: key": 1',
    "? complex\n=: value",
    "single: 'a\n_- b'",
    "single: 'a\n_- b\n_- c: ''d''\n_- e'",
    'double: "a\n_- b\\\n_- c\n\n_- d"',
    'double: "a \\" b"',
    "single: 'it''s'",
    "single: 'ends in a backslash\\'",
    'double: "a" # it\'s a "comment',
    "flow: [a, 'b]', \"c]\", {d: '}'}]",
    "flow: [[[[a]]]]",
    "flow: [a,\n_-1,\n_b]",
    "flow: {a: 1,\n_b: 2}",
    "flow: [ # comment ]\n_'- ', 1]",
    "nested: {items: [1,\n_2]}",
    "flow: []",
    "flow: {}",
    "flow: {a: [1, 2], b: {c: d}}",
    "flow: ['a\n_- b', \"c\n_- d\"]",
    "block: |\n=  - a\n=  'open\n=  \"open\n=  [",
    "block: >-\n=  - a\n\n=   - b: [",
    "block: |+\n=  - a\n\n\n",
    "block: |2\n=    - a",
    "block: |-\n=  text\n=# a comment at the column of the fields",
    "list:\n=- a\n=- b: 1\n=  c: 2",
    "list:\n=  - - - a\n=    - 'b'",
    "list:\n=-\n=  a: 1\n=- 'x\n_- y'",
    "tagged: !!str 'a\n_- b'",
    "tagged: ! x",
    "tagged: !!map\n=  a: 1",
    "anchored: &a\n=  x: 1\n=again: *a",
    "anchored: &b 'q\n_- z'",
    "tab:\t'a\n_- b'",
    "tab: a\t# comment",
    "dash: --- x",
    "colon: a:b 'c",
    "url: http://x/#frag[",
    "empty:",
    "empty: # comment 'open",
    "unicode: é—\U0001f600",
    "percent: 100%",
    "star: '*'",
    "# a comment 'open [\n=after: 1",
    "_# a comment at the dash - x\n=later: 2",
    "x: 1\n\n\n=y: 2",
    "items:\n=- name: inner",
    "functionConfig: 'x\nitems:\n_- y'",
    "seq: ['a', 'it''s', \"b\\\"\"]",
    "seq:\n=- 'a'\n=- \"b\"\n=- [c, 'd\n_- e']",
]
BETWEEN = ["", "", "", "\n", "# between\n", "\n  # indented 'open\n\n", "_# at the dash\n", "    # deep [\n"]
OTHERS = {
    "functionConfig": [
        "{kind: x}",
        "\n  kind: x",
        "\n  text: |\n    - a\n    'b",
        "'a\n  - b'",
        "# c\n  kind: 'y\n  z'",
        "null",
    ],
    "results": ["[]", "\n- message: old\n  severity: info", "\n  - message: 'a\n      - b'", "[{message: x}]"],
    "extra": ["1", "it's", "'q'", '"d"', "&a b", "\n  deep:\n  - 1\n  - 'x'", "|\n  - literal", "[a,\n  b]", ""],
}


UNUSUAL = "written in an unusual way"


@dataclass(frozen=True)
class Generated:
    """A text, the same without byte order mark and the mark that ends the document, and its fields in order."""

    data: bytes
    body: bytes
    fields: tuple[str, ...]

    @property
    def is_yaml(self) -> bool:
        """Whether it is one document of YAML."""
        return one_document(self.data.decode()) is not None

    @property
    def cut(self) -> Cut | None:
        """The cut of a document of YAML; None where libyaml alone could see how it is written."""
        try:
            return cut_items(self.data) if self.is_yaml else None
        except TextError as error:
            if UNUSUAL in str(error):
                return None
            raise


def item(rng: Random, column: int, name: str) -> str:
    """One item, its dash at a column."""
    gap = rng.choice([1, 1, 1, 1, 3])
    inner = " " * (column + 1 + gap)
    lines = [f"name: {name}"]
    used = {"name"}
    for trap in rng.sample(TRAPS, rng.randint(0, 4)):
        key = trap.split(":")[0]
        if key not in used and not (key.startswith("=") or rng.random() < 0.1):
            used.add(key)
            lines.append(trap)
    if rng.random() < 0.3:
        rng.shuffle(lines)
    text = "\n".join(inner + line for line in lines)
    text = text.replace("\n=", "\n" + inner).replace("\n_", "\n" + " " * column).replace(inner + "_", " " * column)
    first = text.removeprefix(inner)
    if first.startswith("#") or first.startswith(" ") or rng.random() < 0.05:
        return " " * column + rng.choice(["-\n", "- # head 'open\n"]) + text + "\n"
    return " " * column + "-" + " " * gap + first + "\n"


def items(rng: Random) -> str:
    """The field items."""
    count = rng.choice([0, 1, 2, 3, 6])
    if count == 0:
        return "items:" + rng.choice([" []", "", " null", " ~", " [ ]", " [] # none"]) + "\n"
    column = rng.choice([0, 0, 0, 2, 4])
    text = "items:" + rng.choice(["", "", " ", " # all 'of them"]) + "\n"
    for number in range(count):
        text += rng.choice(BETWEEN).replace("_", " " * column)
        text += item(rng, column, f"n{number}")
    return text + rng.choice(BETWEEN).replace("_", " " * column)


def resource_list(rng: Random) -> Generated:
    """A ResourceList; not every one is valid YAML."""
    fields = ["apiVersion", "kind", "items"]
    texts = {"apiVersion": "apiVersion: config.kubernetes.io/v1\n", "kind": "kind: ResourceList\n", "items": items(rng)}
    for name, values in OTHERS.items():
        if rng.random() < 0.4:
            value = rng.choice(values)
            texts[name] = f"{name}:{'' if value.startswith(chr(10)) else ' '}{value}\n"
            fields.insert(rng.randint(0, len(fields)), name)
    text = rng.choice(["", "", "", "---\n", "# head\n", "\n# head\n---\n# more\n", "--- # doc\n"])
    for name in fields:
        text += texts[name]
        if rng.random() < 0.1:
            text += rng.choice(["# between fields\n", "\n", "\n# x - 'y\n"])
    start, end = "\ufeff" if rng.random() < 0.05 else "", ""
    ending = rng.random()
    if ending < 0.1:
        text = text.rstrip("\n")
    elif ending < 0.2:
        end = rng.choice(["...\n", "---\n", "---\na: 1\n"])
    elif ending < 0.3:
        text += rng.choice(["# end\n", "\n\n"])
    newline = "\r\n" if rng.random() < 0.15 else "\n"
    data, body = (part.replace("\n", newline).encode() for part in (start + text + end, text))
    return Generated(data, body, tuple(fields))


def slices_by_marks(data: bytes) -> list[bytes] | None:
    """The items as libyaml's tokens bound them; None where the text is no block list of items in a mapping."""
    text = data.decode().removeprefix("\ufeff")
    root = one_document(text)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    fields = [(key, value) for key, value in root.value]
    position = next((at for at, (key, _) in enumerate(fields) if key.value == "items"), None)
    if position is None:
        return None
    value = fields[position][1]
    if not isinstance(value, yaml.SequenceNode) or not value.value or value.flow_style:
        return None
    first, end = value.start_mark.index, len(text)
    if position + 1 < len(fields):
        end = text.rfind("\n", 0, fields[position + 1][0].start_mark.index) + 1
    column = value.start_mark.column
    dashes = [
        token.start_mark.index
        for token in yaml.scan(text, Loader=yaml.CLoader)
        if isinstance(token, yaml.BlockEntryToken)
        and token.start_mark.column == column
        and first <= token.start_mark.index < end
    ]
    assert len(dashes) == len(value.value)
    starts = [text.rfind("\n", 0, dash) + 1 for dash in dashes]
    return [text[a:b].encode() for a, b in zip(starts, [*starts[1:], end], strict=True)]


def one_document(text: str) -> Any:
    """The node of a text of one document; None where it is not YAML or holds more."""
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.CLoader))
    except yaml.YAMLError:
        return None
    return documents[0] if len(documents) == 1 else None
