"""Three-way merge of texts of several lines: by lines, or by the keys of settings (rules V6, R4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from krm_merge.merge.lines.sequence import ChosenSide, Settling
from krm_merge.merge.lines.three_way import (
    AS_GIT,
    OF_VALUE,
    Form,
    MergedText,
    Winner,
    loses_json,
    merge_added_lines,
    merge_lines,
    merge_lines_stably,
)
from krm_merge.startup import replace
from krm_merge.text.reading.nodes import Node, Scalar, TextError
from krm_merge.text.reading.reader import read_all
from krm_merge.text.reading.wrapped import read_wrapped, wrapped_lines


def merge_text(
    original: str, upstream: str, local: str, winner: Winner, form: Form = OF_VALUE, *, marks: bool = False
) -> MergedText | None:
    """Merges a text that both sides changed. None: it is one conflict as a whole.

    Where git finds no conflict, its result is taken (law H). Otherwise settings merge by their keys, all else by lines.
    It is one conflict where the result would no longer be YAML or JSON as all three texts are, and where merging again
    would change it (law D). With `marks`, the winner has its way wherever the sides cannot agree, and the result is not
    checked: people see both ways between markers.
    """
    sides = (original, upstream, local)
    by_git = merge_lines(original, upstream, local, AS_GIT, form)
    if not by_git.conflicts and _keeps_form(sides, by_git.text, form):
        return by_git
    if (by_keys := _merged_settings(sides, winner, form)) is not None:
        return by_keys
    merged = merge_lines_stably(original, upstream, local, winner, form)
    if marks:
        settling = Settling(winner, chooses_inserted=True)
        marked = merge_lines(original, upstream, local, settling, form)
        if marked.conflicts or (merged is not None and not merged.conflicts):
            return marked
        # A conflict that is there for law D alone leaves markers, too.
        return merge_lines(original, upstream, local, replace(settling, splits=False), form)
    return merged if merged is not None and _keeps_form(sides, merged.text, form) else None


def merge_added_text(upstream: str, local: str, winner: Winner, form: Form) -> MergedText | None:
    """Merges a text that both sides added; None: it is one conflict as a whole, as it would not be YAML or JSON."""
    merged = merge_added_lines(upstream, local, winner, form)
    return merged if _keeps_form((upstream, upstream, local), merged.text, form) else None


def merge_wrapped(sides: Sequence[Node]) -> Node | None:
    """Merges a string that all sides write on several lines, folded or quoted, where no lines of it overlap."""
    written = [wrapped_lines(node) for node in sides if isinstance(node, Scalar)]
    if any(len(lines) < 2 for lines in written):
        return None
    merged = merge_lines("\n".join(written[0]), "\n".join(written[1]), "\n".join(written[2]), Settling("local"))
    return None if merged.conflicts else read_wrapped(merged.text.split("\n"))


def choose_text(original: str, upstream: str, local: str, chosen: ChosenSide, form: Form = OF_VALUE) -> str | None:
    """The merged text with this choice wherever both changed the same; the whole of a side where that is not possible.

    None where merging again would change the result, or where it would no longer be YAML or JSON as all three are.
    """
    sides = (original, upstream, local)
    settling = Settling(chosen, chooses_inserted=True)

    def made(local: str) -> str:
        if chosen == "upstream" or chosen == "local":
            by_keys = _merged_settings((original, upstream, local), chosen, form)
            if by_keys is not None:
                return by_keys.text
        return merge_lines(original, upstream, local, settling, form).text

    text = made(local)
    return text if made(text) == text and _keeps_form(sides, text, form) else None


def _merged_settings(sides: tuple[str, str, str], winner: Winner, form: Form) -> MergedText | None:
    """The texts merged by keys; None where not all of them are settings."""
    # Hardly any merge comes here.
    from krm_merge.merge.values.settings import merge_settings, read_settings

    original, upstream, local = (read_settings(form.split(side)) for side in sides)
    if original is None or upstream is None or local is None:
        return None
    return merge_settings(original, upstream, local, winner, form)


def _keeps_form(sides: tuple[str, str, str], text: str, form: Form) -> bool:
    """Whether a text is YAML, JSON or settings where all three sides are; no key may be repeated there."""
    from krm_merge.merge.values.settings import read_settings

    def has_settings(text: str) -> bool:
        return read_settings(form.split(text)) is not None

    tests: tuple[Callable[[str], bool], ...] = (_holds_collections, has_settings)
    if loses_json(*sides, text):
        return False
    return all(test(text) or not all(map(test, sides)) for test in tests)


def _holds_collections(text: str) -> bool:
    """Whether a text is YAML that holds only mappings and lists: other texts are scalars in YAML, or do not parse."""
    try:
        return not any(isinstance(root, Scalar) for root in read_all(text))
    except TextError:
        return False
