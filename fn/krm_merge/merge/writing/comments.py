"""Comments and blank lines of three versions of a document, merged in each place, and lost ones (rules V8, F).

A place is a line that holds something of the document, with the comments and blank lines above it and the comment
behind it. The lines behind the last one are a place, too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from krm_merge.krm import FieldPath, Severity
from krm_merge.merge.decisions.decision import INPUT_SIDES, Decision, InputSide, ResourceOutcome, Side
from krm_merge.merge.decisions.report import lost_comments_message
from krm_merge.merge.lines.sequence import matching_blocks, stretches
from krm_merge.merge.lines.three_way import MERGE_COMMENT, SETTER, comment_lines, comments_in
from krm_merge.merge.values.images import blind_to_versions
from krm_merge.schema import Secrecy
from krm_merge.startup import pattern
from krm_merge.text import (
    Canonical,
    MappingNode,
    Node,
    Scalar,
    SequenceNode,
    document_text,
    is_block_scalar,
    key_text,
    source_of,
)


class _Place(NamedTuple):
    """A line without the comment behind it, that comment with the blanks before it, and the lines above and below.

    Below are those up to a comment that is indented deeper than the next line; all others are above that. Behind a dash
    alone, a comment is one above the next line, and `lead` the blanks between the dash and it.
    """

    content: str
    behind: str
    above: tuple[str, ...]
    lead: str = ""
    below: tuple[str, ...] = ()

    @property
    def indent(self) -> int:
        return _indent(self.content)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _bare(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines]


def with_merged_comments(text: str, original: str, upstream: str, local: str, discarded: Collection[str]) -> str:
    """A text that local's edits made, with the comments and blank lines that upstream changed and local did not.

    `discarded` are comments of upstream that went with a value.
    """
    merged = _merge_comments(text, original, upstream, local, discarded)
    now, before, theirs, ours = (Counter(comment_lines(side)) for side in (merged, original, upstream, local))
    # What would be there more often than on any side, and than with all that both added, is left where local has it.
    doubled = now - (before | theirs | ours | (theirs + ours - before))
    return _merge_comments(text, original, upstream, local, {*discarded, *doubled}, doubled) if doubled else merged


def _merge_comments(
    text: str, original: str, upstream: str, local: str, discarded: Collection[str], doubled: Collection[str] = ()
) -> str:
    now, before, theirs, ours = map(_places, (text, original, upstream, local))
    by_original, by_upstream = _counterparts(now, before), _counterparts(now, theirs)
    fields, their_fields = _fields(now), dict(zip(map(id, theirs), _fields(theirs), strict=True))
    count, their_count = Counter(fields), Counter(their_fields.values())
    is_of_local = [place is not None for place in _counterparts(now, ours, by_place=False)]
    lines: list[str] = []
    for at, place in enumerate(now):
        above, behind, below = place.above, place.behind, place.below
        o, u = by_original[at], by_upstream[at]
        shift = place.indent - u.indent if u is not None else 0
        if o is None and u is not None and not is_of_local[at]:
            # A line that comes from upstream comes with all that is around it there.
            if {*_bare(above)} <= {*_bare(u.above)}:
                above = _merged_lines((), u.above, (), shift, discarded)
            if {*_bare(below)} <= {*_bare(u.below)}:
                below = _merged_lines((), u.below, (), shift, discarded)
        elif o is u is None and not is_of_local[at]:
            # A new line where local moved those around it.
            above = tuple(line for line in above if line.strip() not in doubled)
        elif o is not None and u is not None:
            above = _merged_lines(o.above, u.above, above, shift, discarded)
            below = _merged_lines(o.below, u.below, below, shift, discarded)
            # A setter sets just one value: not one that is only written like it.
            is_known = their_fields[id(u)] == fields[at] and count[fields[at]] == their_count[fields[at]] == 1
            if u.behind.strip() not in discarded and (is_known or SETTER not in u.behind):
                behind = _behind(o.behind, u.behind, place.behind, takes_upstream=not is_of_local[at])
        if at and (lead := now[at - 1].lead) and above and above[0]:
            lines[-1] += lead + above[0].strip()
            above = above[1:]
        lines += (*above, place.content + behind, *below)
    merged = "\n".join(lines)
    return merged if text.endswith("\n") else merged.removesuffix("\n")


def _places(text: str) -> list[_Place]:
    """The places of a text; the last is behind the last line break."""
    places: list[_Place] = []
    above: list[str] = []
    for line in (text if text.endswith("\n") else f"{text}\n").split("\n")[:-1]:
        content = _content(line)
        if not content:
            above.append(line)
            continue
        _put_below(places, above, _indent(content))
        behind = line[len(content) :]
        lead = behind[: len(behind) - len(behind.lstrip())] if not content.strip(" -") else ""
        places.append(_Place(content, "" if lead else behind, tuple(above), lead))
        above = [" " * (len(content) + 1) + behind.strip()] if lead else []
    _put_below(places, above, 0)
    return [*places, _Place("", "", tuple(above))]


def _put_below(places: list[_Place], lines: list[str], indent: int) -> None:
    """Moves to the last place what is below it: of the lines before one with this indentation."""
    size = next((at for at in range(len(lines), 0, -1) if _indent(lines[at - 1]) > indent and lines[at - 1].strip()), 0)
    if size and places and not places[-1].lead:
        places[-1] = places[-1]._replace(below=tuple(lines[:size]))
        del lines[:size]


def _fields(places: Sequence[_Place]) -> list[tuple[Canonical, ...]]:
    """For each place its field and the lines that it is indented under; the versions in those do not count."""
    fields: list[tuple[Canonical, ...]] = []
    around: list[tuple[int, tuple[Canonical, ...]]] = []
    for place in places:
        while around and around[-1][0] >= place.indent:
            around.pop()
        outer = around[-1][1] if around else ()
        content = place.content.strip()
        fields.append((*outer, content.partition(":")[0]))
        around.append((place.indent, (*outer, blind_to_versions(content))))
    return fields


def setters_in(text: str) -> set[tuple[Canonical, ...]]:
    """The comments of a text that name setters, each with the field that it sets."""
    if SETTER not in text:
        return set()
    places = _places(text)
    return {
        (*at, place.behind.strip()) for at, place in zip(_fields(places), places, strict=True) if SETTER in place.behind
    }


def _content(line: str) -> str:
    """A line without the comment behind it, and the blanks before that; number signs in quotes are no comments."""
    if line.lstrip().startswith("#"):
        return ""
    parts = line.split(" #")
    ends = [" #".join(parts[:at]) for at in range(1, len(parts) + 1)]
    return next((end for end in ends if end.count('"') % 2 == 0 == end.count("'") % 2), ends[0]).rstrip()


def _counterparts(now: Sequence[_Place], side: Sequence[_Place], *, by_place: bool = True) -> list[_Place | None]:
    """For each place that of another text with the same line; with `by_place` also those between these.

    These are in the same places where they are as many, else those of the same fields.
    """
    counterparts: list[_Place | None] = [None] * len(now)
    # Without indentation, which a side may have changed for a whole list.
    contents, others = ([place.content.strip() for place in places[:-1]] for places in (now, side))
    at = other = 0
    for start, other_start, size in [*matching_blocks(contents, others), (len(contents), len(others), 1)]:
        if by_place and start - at == other_start - other:
            counterparts[at:start] = side[other:other_start]
        elif by_place:
            fields = [
                [content.partition(":")[0] for content in part]
                for part in (contents[at:start], others[other:other_start])
            ]
            for field, other_field, count in matching_blocks(*fields):
                counterparts[at + field : at + field + count] = side[other + other_field : other + other_field + count]
        at, other = start + size, other_start + size
        counterparts[start:at] = side[other_start:other]
    return counterparts


def _merged_lines(
    original: Sequence[str], upstream: Sequence[str], local: Sequence[str], shift: int, discarded: Collection[str]
) -> tuple[str, ...]:
    """The lines around a place; where both changed the same ones, local's are kept. Upstream's move by `shift`."""
    before, ours = _bare(original), _bare(local)
    upstream = [line for line in upstream if line.strip() not in discarded or line.strip() in before]
    theirs = _bare(upstream)
    if theirs in (before, ours) or any(MERGE_COMMENT in line for side in (before, theirs, ours) for line in side):
        return tuple(local)
    written = [" " * (_indent(line) + shift) + line.strip() if line.strip() else "" for line in upstream]
    if len(before) == len(theirs) == len(ours):
        # As many lines: each is one that a side changed, or not.
        pairs = zip(before, theirs, ours, written, local, strict=True)
        return tuple(line if mine == old != new else own for old, new, mine, line, own in pairs)
    if ours == before:
        return tuple(written)
    merged: list[str] = []
    for part in stretches(before, theirs, ours):
        if part.changed_by == "upstream":
            merged += written[slice(*part.upstream)]
            continue
        own, added = local[slice(*part.local)], written[slice(*part.upstream)]
        if part.changed_by == "both" and not added:
            # What upstream removed goes, what local added beside it is kept.
            own = [line for line in own if not line.strip() or line.strip() not in before[slice(*part.original)]]
        merged += own
        if part.changed_by == "both" and part.original[0] == part.original[1]:
            # What both added is kept.
            known = _bare(own)
            merged += [line for line in added if line and line.strip() not in known]
    return tuple(merged)


def _behind(original: str, upstream: str, local: str, *, takes_upstream: bool) -> str:
    """The comment behind a value: where both changed it, that of the value which is there.

    The name of a setter is a change of its own: it says where the value comes from.
    """
    before, theirs, ours = original.strip(), upstream.strip(), local.strip()
    if theirs in (before, ours) or MERGE_COMMENT in before + theirs + ours:
        return local
    if ours != before:
        names = [side.partition(SETTER)[2] for side in (before, theirs, ours)]
        changed = names[1] != names[0], names[2] != names[0]
        takes_upstream = changed[0] if changed[0] != changed[1] else takes_upstream
        if not takes_upstream:
            return local
    # Blanks in front of a number sign are layout: local's stay where it has a comment.
    blanks = local[: len(local) - len(local.lstrip())] if ours else upstream[: len(upstream) - len(upstream.lstrip())]
    return blanks + theirs if theirs else ""


_NUMBER_SIGN = pattern(r"(?:^|(?<=\s))#")


def lost_comments(
    documents: Mapping[InputSide, tuple[Node, str]],
    text: str,
    decisions: Iterable[Decision],
    secrecy: Secrecy,
    around: FieldPath = (),
) -> list[Decision]:
    """A decision for each place with comments that a side has, the other did not remove, and the text lacks.

    Comments that were discarded with a value are part of that decision. One that names a setter makes a warning: the
    setter no longer sets the value. `documents` are those of the sides that have it, with their texts, `around` the
    field that holds them.
    """
    counts = {side: Counter(comments_in(text_of_side)) for side, (_, text_of_side) in documents.items()}
    before, theirs, ours = (counts.get(side, Counter()) for side in INPUT_SIDES)
    now = Counter(comments_in(text))
    for decision in decisions:
        if decision.discarded_comments is not None:
            now.update(decision.discarded_comments.lines)
    lost: dict[tuple[Side, FieldPath], list[str]] = {}
    for comment in theirs | ours:
        missing = _together(before[comment], theirs[comment], ours[comment]) - now[comment]
        is_of_upstream = theirs[comment] > max(before[comment], ours[comment])
        side: Literal["upstream", "local"] = "upstream" if is_of_upstream else "local"
        if missing > 0 and MERGE_COMMENT not in comment and side in documents:
            for path in [path for line, path in placed_comments(documents[side][0]) if line == comment][-missing:]:
                lost.setdefault((side, (*around, *path)), []).append(comment)
    return [_decision(secrecy, side, path, comments) for (side, path), comments in lost.items()]


def lost_comments_of(outcome: ResourceOutcome, text: str) -> list[Decision]:
    """The same for a resource whose text this is, '' where it is removed."""
    # Without a number sign no comment can get lost.
    if not any(source_of(root).has_number_signs for root in outcome.roots):
        return []
    documents = {side: (member.root, document_text(member.root)) for side, member in outcome.members.items()}
    return lost_comments(documents, text, outcome.decisions, Secrecy(outcome.roots))


def _together(original: int, upstream: int, local: int) -> int:
    """How often something is there after both sides' changes; what both did alike is done once."""
    theirs, ours = upstream - original, local - original
    return original + (max(theirs, ours, key=abs) if theirs * ours > 0 else theirs + ours)


def _decision(secrecy: Secrecy, side: Side, path: FieldPath, comments: Sequence[str]) -> Decision:
    severity: Severity = "warning" if any(comment.startswith(SETTER) for comment in comments) else "info"
    message = lost_comments_message(side, comments, is_hidden=secrecy.hides(path, ("\n".join(comments),)))
    return Decision("V8", path, message, side, severity, is_reported=True)


def placed_comments(root: Node) -> Iterator[tuple[str, FieldPath]]:
    """The comments of a document, each with the field that is on its line, or on the next one with a field."""
    source = source_of(root)
    starts: list[int] = []
    paths: list[FieldPath] = []
    scalars: list[tuple[int, int]] = []
    for node, path in nodes_in_order(root):
        if isinstance(node, Scalar) and "#" in node.text:
            scalars.append((source.line_end(node.start) if is_block_scalar(node) else node.start, node.end))
        if not path:
            continue
        if not starts or starts[-1] != node.start:
            starts.append(node.start)
            paths.append(path)
        elif not isinstance(paths[-1][-1], int):
            # A mapping begins with its first field, of which the comment is; one of an element is of the element.
            paths[-1] = path
    position = 0
    while (sign := _NUMBER_SIGN.search(source.text, position)) is not None:
        at = bisect_right(scalars, (sign.start(), len(source.text))) - 1
        if at >= 0 and sign.start() < scalars[at][1]:
            position = max(scalars[at][1], sign.end())
            continue
        position = source.line_end(sign.start())
        on_line = bisect_left(starts, sign.start()) - 1
        if on_line < 0 or starts[on_line] < source.line_start(sign.start()):
            on_line += 1
        yield source.text[sign.start() : position].rstrip(), paths[on_line] if on_line < len(paths) else ()


def nodes_in_order(root: Node) -> Iterator[tuple[Node, FieldPath]]:
    """A node and those inside in the order of the text, keys before their values, each with the path of its field."""
    pending: list[tuple[Node, FieldPath]] = [(root, ())]
    while pending:
        node, path = pending.pop()
        yield node, path
        if isinstance(node, MappingNode):
            for entry in reversed(node.entries):
                step = (*path, key_text(entry.key))
                pending += ((entry.value, step), (entry.key, step))
        elif isinstance(node, SequenceNode):
            pending += ((item, (*path, at)) for at, item in reversed([*enumerate(node.items)]))
