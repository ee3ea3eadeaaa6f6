"""Values as people read them, and what differs between two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from krm_merge.text.document import written
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.values import Value, from_value

LONGEST_COMPARED = 4_000
"""Characters of a value up to which words are compared."""

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


def yaml_text(value: Value) -> str:
    """A value as it is written in YAML; a text is shown as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value:
        root = from_value(value)
        assert isinstance(root, MappingNode)
        return written(root).rstrip("\n")
    root = from_value({"value": value})
    assert isinstance(root, MappingNode)
    return written(root).removeprefix("value:").strip(" \n")


def flow_text(value: Value) -> str:
    """A value on one line: a text or number as it is, a list or mapping as YAML in flow style."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {flow_text(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_text, value))}]"
    return yaml_text(value).rstrip("\n").replace("\n", "\\n")


def shortened(text: str, longest: int) -> str:
    """The start of a long text, and how much of it is left out."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest:,} more characters)"


def words_changed(before: str, after: str) -> Iterator[tuple[str, bool]]:
    """The pieces of `after`, each with whether `before` lacks it."""
    if before == after or max(len(before), len(after)) > LONGEST_COMPARED:
        yield after, False
        return
    ours, theirs = _WORD.findall(before), _WORD.findall(after)
    for kind, _, _, start, stop in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if start < stop:
            yield "".join(theirs[start:stop]), kind != "equal"
