"""The words of reports and the form of values: the same in each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeAlias, TypeVar

from krm_merge.merge import BLUEPRINT, Choice, Nature
from krm_merge.report.record import VERSIONS, DecisionRecord, SideName, Status
from krm_merge.schema import is_bookkeeping
from krm_merge.text import Value, from_value, same, written

Name = TypeVar("Name", bound=str)

LONGEST_COMPARED = 4_000
"""Characters of a value up to which words are compared."""

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


def yaml_text(value: Value) -> str:
    """A value as it is written in YAML; a text is shown as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value:
        return written(from_value(value)).rstrip("\n")
    root = from_value({"value": value})
    return written(root).removeprefix("value:").strip(" \n")


def flow_text(value: Value) -> str:
    """A value on one line: a text or number as it is, a list or mapping as YAML in flow style."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {flow_text(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_text, value))}]"
    return yaml_text(value).rstrip("\n").replace("\n", "\\n")


def differing_part(values: Mapping[Name, Value]) -> Mapping[Name, Value]:
    """The part of some values in which they differ; what all have alike is left out, and `…` in a list or text.

    Fields that name an element stay. Values of different kinds are returned as they are.
    """
    all_values = list(values.values())
    if len(all_values) < 2 or all(same(all_values[0], value) for value in all_values):
        return values
    mappings = {name: value for name, value in values.items() if isinstance(value, dict)}
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    lines = {name: value.split("\n") for name, value in values.items() if isinstance(value, str) and "\n" in value}
    if len(mappings) == len(all_values):
        return _of_mappings(mappings)
    if len(lists) == len(all_values):
        return _between(lists)
    if len(lines) == len(all_values):
        between = _between({name: [*map(str, of)] for name, of in lines.items()})
        return {name: "\n".join(map(str, of)) if isinstance(of, list) else of for name, of in between.items()}
    return values


def _of_mappings(mappings: Mapping[Name, dict[str, Value]]) -> Mapping[Name, Value]:
    parts: dict[Name, dict[str, Value]] = {name: {} for name in mappings}
    for key in dict.fromkeys(key for value in mappings.values() for key in value):
        having = {name: value[key] for name, value in mappings.items() if key in value}
        first = next(iter(having.values()))
        if key == "name" or len(having) < len(mappings) or not all(same(first, value) for value in having.values()):
            for name, part in differing_part(having).items():
                parts[name][key] = part
    return {**parts}


def _between(lists: Mapping[Name, list[Value]]) -> Mapping[Name, Value]:
    """What is between the elements with which all begin and those with which all end."""
    shortest = min(map(len, lists.values()))
    first = next(iter(lists.values()))

    def alike(at: int) -> bool:
        return all(same(first[at], items[at]) for items in lists.values())

    start = next((at for at in range(shortest) if not alike(at)), shortest)
    end = next((at for at in range(shortest - start) if not alike(-1 - at)), shortest - start)
    middle = {name: items[start : len(items) - end] for name, items in lists.items()}
    if all(len(items) == 1 for items in middle.values()):
        parts = differing_part({name: items[0] for name, items in middle.items()})
        middle = {name: [part] for name, part in parts.items()}
    around: tuple[list[Value], list[Value]] = ["…"] if start else [], ["…"] if end else []
    return {name: [*around[0], *items, *around[1]] for name, items in middle.items()}


def shorten(text: str, longest: int) -> str:
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


ChangedLine: TypeAlias = tuple[str, Sequence[tuple[str, bool]]]
"""A line of what changed: ` `, `-`, `+`, or `…` for lines left out; its pieces, each with whether it is new."""

_LONGEST_DIFF = 2_000
"""Lines of a text up to which lines are compared."""

_AROUND_CHANGES = 2
_MANY_LINES = 12


def changed_values(record: DecisionRecord) -> dict[SideName, Sequence[ChangedLine]]:
    """What each side changed in a resource, an element, a file or a long text, as lines; other values are shown whole.

    The annotations in which kpt keeps its books are nobody's change (R6).
    """
    values = record.values
    if not record.path and record.resource is not None:
        values = {side: _without_bookkeeping(value) for side, value in values.items()}
    texts = {side: yaml_text(value).splitlines() for side, value in values.items()}
    before = texts.get("original")
    if before is None or not 1 < len(before) < _LONGEST_DIFF:
        return {}
    is_whole = record.nature in ("resource", "element", "file")
    return {
        side: list(lines_changed(before, texts[side]))
        for side in VERSIONS[1:]
        if 1 < len(texts.get(side, ())) < _LONGEST_DIFF and (is_whole or len(before) > _MANY_LINES)
    }


def _without_bookkeeping(value: Value) -> Value:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not (isinstance(value, dict) and isinstance(metadata, dict) and isinstance(annotations, dict)):
        return value
    left = {name: text for name, text in annotations.items() if not (is_bookkeeping(name) or name == BLUEPRINT)}
    about = {name: inner for name, inner in metadata.items() if name != "annotations"}
    return {**value, "metadata": about | ({"annotations": left} if left else {})}


def lines_changed(before: Sequence[str], after: Sequence[str]) -> Iterator[ChangedLine]:
    """The lines that differ, with two around them; in a line that replaced another one, the words that differ."""
    left = 0
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND_CHANGES):
        if group[0][1] > left:
            yield "…", ()
        for kind, start, stop, new_start, new_stop in group:
            old, new = before[start:stop], after[new_start:new_stop]
            if kind == "equal":
                yield from ((" ", ((line, False),)) for line in old)
                continue
            is_paired = len(old) == len(new)
            yield from (("-", _pieces(new[at] if is_paired else None, line)) for at, line in enumerate(old))
            yield from (("+", _pieces(old[at] if is_paired else None, line)) for at, line in enumerate(new))
        left = group[-1][2]
    if 0 < left < len(before):
        yield "…", ()


def _pieces(other: str | None, line: str) -> Sequence[tuple[str, bool]]:
    return ((line, False),) if other is None else tuple(words_changed(other, line))


NATURES: Final[dict[Nature, str]] = {
    "value": "Value",
    "kind": "Kinds of value",
    "text": "Lines of a text",
    "order": "Order of a list",
    "sequence": "List without keys",
    "element": "Element of a list",
    "resource": "Resource",
    "alternative": "Alternatives",
    "functions": "Functions of a pipeline",
    "file": "File",
    "reference": "Reference",
    "added-twice": "Added on both sides",
    "comment": "Comments",
}

CONFLICTS: Final[tuple[tuple[Status, str], ...]] = (("open", "Open conflicts"), ("settled", "Settled conflicts"))
"""What reports show first."""

CHOICES: Final[dict[Choice, str]] = {
    "higher": "the higher version",
    "upstream": "upstream's",
    "local": "local's",
    "original": "the original's",
    "upstream-then-local": "both, upstream's first",
    "local-then-upstream": "both, local's first",
    "value": "a value of your own",
    "recognise": "recognise the functions by what they are",
}

RULES: Final = {
    "F": "No local change is lost silently",
    "G": "The merge adds no fault",
    "H": "Lines first",
    "I": "What is true of all sides is true of the result",
    "V2": "The side that changed the value has it",
    "V3": "Whole or not at all",
    "V4": "Both changed a value: `onConflict` decides",
    "V5": "The sides have values of different kinds",
    "V6": "Text of several lines merges line by line",
    "V7": "Alternatives are one value",
    "V8": "Comments merge like values",
    "V9": "Anchors and aliases stay",
    "V10": "An image is two values: its repository and its version",
    "L1": "Keyed lists: elements with equal keys are the same",
    "L2": "Sets: each value appears once",
    "L3": "Other lists merge as git merges lines, with elements for lines",
    "L4": "The order of lists",
    "F3": "Otherwise the list is one value",
    "F4": "An image that moved to another registry is the same function",
    "F5": "Local decides whether something exists",
    "F7": "A function that both sides added is never combined from two",
    "K3": "The result is checked",
    "K4": "The Kptfile of the package is never added or deleted",
    "R1": "Which resources are the same",
    "R2": "What happens to a resource",
    "R3": "Subpackages",
    "R4": "Files that are not Kubernetes resources",
    "R5": "YAML that cannot be read",
    "R13": "Files are followed",
    "W1": "What did not change stays as it was",
    "W2": "What is written is read back",
    "W5": "Line endings are local's",
}
"""The rules that decisions and results name, with their headings in docs/rules.md."""

_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
RULES_PAGE: Final = "docs/rules.md"
HOME: Final = "https://github.com/krm-merge/krm-merge"


def anchor_of(rule: str) -> str:
    """Where the rule is explained: the page and the anchor of its heading."""
    title = RULES.get(rule)
    if title is None:
        return RULES_PAGE
    heading = _NOT_IN_ANCHORS.sub("", f"{rule}. {title}".lower()).replace(" ", "-")
    return f"{RULES_PAGE}#{heading}"


def address_of(anchor: str) -> str:
    """Where a page of the documentation is on the web."""
    return f"{HOME}/blob/main/{anchor}"
