"""Comments and blank lines of three versions of a document, merged in each place, and lost ones (rules V8, F).

A place is a line that holds something of the document, with the comments and blank lines above it and the comment
behind it. The lines behind the last one are a place, too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from krm_merge.krm import FieldPath, Severity
from krm_merge.merge.decisions.decision import Decision, ResourceOutcome, Side
from krm_merge.merge.decisions.report import lost_comments_message
from krm_merge.merge.lines.diff import matching_blocks
from krm_merge.merge.lines.sequence import Settling, merge_sequences
from krm_merge.merge.lines.three_way import MERGE_COMMENT, SETTER, comments_in
from krm_merge.schema import Redaction, Secrecy
from krm_merge.startup import pattern
from krm_merge.text import MappingNode, Node, Scalar, SequenceNode, document_text, is_block_scalar, key_text, source_of


class _Place(NamedTuple):
    """A line without the comment behind it, that comment with the blanks before it, and the lines above.

    Behind a dash alone, a comment is one above the next line, and `lead` the blanks between the dash and it.
    """

    content: str
    behind: str
    above: tuple[str, ...]
    lead: str = ""

    @property
    def indent(self) -> int:
        return len(self.content) - len(self.content.lstrip(" "))


def with_merged_comments(text: str, original: str, upstream: str, local: str, merged_lines: Sequence[str]) -> str:
    """A text that local's edits made, with the comments and blank lines that upstream changed and local did not.

    Original and upstream have its values, with their own comments. `local` is local's text before its edits: lines that
    it lacks come from upstream. `merged_lines` are all comments of the original, those of gone values included.
    """
    merge = _CommentMerge(text, original, upstream, local)
    merged = merge.made(frozenset())
    # What both sides moved, local's place is kept of: it may not be there twice.
    counts = [Counter(merged_lines), *(Counter(comments_in(side)) for side in (upstream, local, merged))]
    # Only the merged text shows what is there twice: it is made again without upstream's copy.
    doubled = {
        line for line, now in counts[3].items() if now > max(*(o := [c[line] for c in counts[:3]]), o[1] + o[2] - o[0])
    }
    return merge.made(doubled) if doubled else merged


class _CommentMerge:
    def __init__(self, text: str, original: str, upstream: str, local: str) -> None:
        self._now = _places(text)
        places = [_places(side) for side in (original, upstream)]
        self._sides = [_counterparts(self._now, side) for side in places]
        self._from_upstream = [place is None for place in _counterparts(self._now, _places(local), by_place=False)]
        self._is_ended = text.endswith("\n")
        self._match_moved(places[1])
        self._lead_above_dashes()
        self._follow_up()

    def _match_moved(self, upstream: Sequence[_Place]) -> None:
        """Match lines of the original that upstream has in another order, where only one can be meant."""
        before, theirs = self._sides
        matched = set(map(id, theirs))
        moved = [place for place in upstream if place.content and id(place) not in matched]
        left = [at for at, place in enumerate(theirs) if place is None and before[at] is not None]
        for content in {place.content.strip() for place in moved}:
            places = [place for place in moved if place.content.strip() == content]
            own_places = [at for at in left if self._now[at].content.strip() == content]
            if len(places) == len(own_places) == 1:
                theirs[own_places[0]] = places[0]

    def _lead_above_dashes(self) -> None:
        """Take comments that the sides have behind a dash for those that the text has above it."""
        for at, (dash, now) in enumerate(pairwise(self._now)):
            if not (dash.lead and dash.above):
                continue
            own = {*_bare(dash)} - {*_bare(now)}
            for side in self._sides:
                leading, place = side[at : at + 2]
                if leading and place and not own.isdisjoint(_bare(place)):
                    moved = tuple(line for line in place.above if line.strip() in own)
                    below = tuple(line for line in place.above if line.strip() and line not in moved)
                    side[at : at + 2] = leading._replace(above=leading.above + moved), place._replace(above=below)

    def _follow_up(self) -> None:
        """Follow comments that upstream has above lines before theirs, such as lines that it inserted behind them."""
        before, theirs = self._sides
        first = 0
        for at, (original, upstream) in enumerate(zip(before, theirs, strict=True)):
            head = _bare(original)
            if not any(head) or original is None or upstream is None:
                continue
            starts = [] if head == _bare(upstream) else [*range(first, at)]
            first = at + 1
            for start in starts:
                place, now = theirs[start], self._now[start]
                if not place or not before[start] or not (length := _reach(head, _bare(place))):
                    continue
                nearest = next((other for other in starts if _reach(head, _bare(self._now[other]))), start)
                if nearest != start and before[nearest] and theirs[nearest] and not _bare(theirs[nearest]):
                    # Local has it above another line: what upstream changed in it goes there.
                    before[nearest] = before[nearest]._replace(above=original.above)
                    theirs[nearest] = theirs[nearest]._replace(above=place.above[:length])
                    before[start] = before[start]._replace(above=())
                    theirs[start] = place._replace(above=place.above[length:])
                    if _bare(now) == _bare(place):
                        self._now[start] = now._replace(above=now.above[length:])
                    break
                if self._now[at].above != upstream.above and _bare(now) in ([], _bare(place)):
                    self._now[start] = now._replace(above=self._now[at].above)
                    self._now[at] = self._now[at]._replace(above=upstream.above)
                if self._now[at].above == upstream.above:
                    before[start] = place._replace(above=original.above)
                    before[at] = None
                break

    def made(self, moved: Set[str]) -> str:
        """The text; upstream adds none of the comments that both sides moved."""
        lines: list[str] = []
        for at, (now, before, theirs) in enumerate(zip(self._now, *self._sides, strict=True)):
            above, behind, comes = now.above, now.behind, self._from_upstream[at]
            if before is not None and theirs is not None:
                # A line that comes from upstream has brought its comments.
                lines_before = {*_bare(before), *_bare(now)} - {*(_bare(theirs) if comes else ())}
                heads = [
                    tuple(line for line in place.above if line.strip() not in moved or line.strip() in lines_before)
                    for place in (before, theirs, now)
                ]
                above = _above(heads[0], heads[1], heads[2], now.indent - theirs.indent)
                behind = _behind(before.behind, theirs.behind, now.behind, comes)
            elif moved and (comes or theirs is not None):
                # A new line of upstream's below a comment that local has above a new line of its own.
                above = tuple(line for line in above if line.strip() not in moved)
            if at and (lead := self._now[at - 1].lead) and above and above[0]:
                lines[-1] += lead + above[0].strip()
                above = above[1:]
            lines += (*above, now.content + behind)
        merged = "\n".join(lines)
        return merged if self._is_ended else merged.removesuffix("\n")


def _places(text: str) -> list[_Place]:
    """The places of a text; the last is behind the last line break."""
    places: list[_Place] = []
    above: list[str] = []
    for line in (text if text.endswith("\n") else f"{text}\n").split("\n")[:-1]:
        content = _content(line)
        if not content:
            above.append(line)
            continue
        behind = line[len(content) :]
        lead = behind[: len(behind) - len(behind.lstrip())] if not content.strip(" -") else ""
        places.append(_Place(content, "" if lead else behind, tuple(above), lead))
        above = [" " * (len(content) + 1) + behind.strip()] if lead else []
    return [*places, _Place("", "", tuple(above))]


def _content(line: str) -> str:
    """A line without the comment behind it, and the blanks before that; number signs in quotes are no comments."""
    if line.lstrip().startswith("#"):
        return ""
    parts = line.split(" #")
    ends = [" #".join(parts[:at]) for at in range(1, len(parts) + 1)]
    return next((end for end in ends if end.count('"') % 2 == 0 == end.count("'") % 2), ends[0]).rstrip()


def _counterparts(now: Sequence[_Place], side: Sequence[_Place], *, by_place: bool = True) -> list[_Place | None]:
    """For each place that of another text with the same line; with `by_place` also as many others between these."""
    counterparts: list[_Place | None] = [None] * len(now)
    # Without indentation, which a side may have changed for a whole list.
    contents, others = ([place.content.strip() for place in places[:-1]] for places in (now, side))
    at = other = 0
    for start, other_start, size in [*matching_blocks(contents, others), (len(contents), len(others), 1)]:
        if by_place and start - at == other_start - other:
            counterparts[at:start] = side[other:other_start]
        at, other = start + size, other_start + size
        counterparts[start:at] = side[other_start:other]
    return counterparts


def _bare(place: _Place | None) -> list[str]:
    """The comments above a line, without their indentation."""
    return [line.strip() for line in place.above] if place else []


def _reach(head: Sequence[str], lines: Sequence[str]) -> int:
    """The number of the lines up to the last one of a head that was moved there; 0 where they lack half of it."""
    blocks = matching_blocks(head, lines)
    return max((end + size for _, end, size in blocks), default=0) if 2 * sum(b[2] for b in blocks) >= len(head) else 0


def _above(original: Sequence[str], upstream: Sequence[str], local: Sequence[str], shift: int) -> tuple[str, ...]:
    """Lines of comments; where both changed the same ones, local's are kept. `shift` is upstream's lack of indent."""
    bare = [[line.strip() for line in side] for side in (original, upstream, local)]
    if bare[1] in (bare[0], bare[2]) or any(MERGE_COMMENT in line for side in bare for line in side):
        return tuple(local)
    indents = [len(line) - len(line.lstrip()) + shift for line in upstream]
    theirs = [line and " " * indent + line for line, indent in zip(bare[1], indents, strict=True)]
    runs = merge_sequences(bare[0], bare[1], bare[2], Settling("local", loose=True))
    kept = {line for run in runs if run.side == "local" for line in bare[2][run.start : run.stop]}
    # Comments that both added are there once, in local's place.
    added = {line for line in bare[1] if line and line in kept and line not in bare[0]}
    merged: list[str] = []
    for run in runs:
        lines = (theirs if run.side == "upstream" else local)[run.start : run.stop]
        if run.side == "upstream" and any(line.strip() in added for line in lines):
            # Blank lines between them would be added at every merge.
            lines = [line for line in lines if line.strip() and line.strip() not in added]
        merged += lines
    return tuple(merged)


def _behind(original: str, upstream: str, local: str, comes_from_upstream: bool) -> str:
    """The comment behind a value: where both changed it, that of the value which is there.

    The name of a setter is a change of its own: it says where the value comes from.
    """
    before, theirs, ours = original.strip(), upstream.strip(), local.strip()
    if theirs in (before, ours) or MERGE_COMMENT in before + theirs + ours:
        return local
    takes_upstream = ours == before
    if not takes_upstream:
        names = [side.partition(SETTER)[2] for side in (before, theirs, ours)]
        changed = names[1] != names[0], names[2] != names[0]
        takes_upstream = changed[0] if changed[0] != changed[1] else comes_from_upstream
    if not takes_upstream:
        return local
    # Blanks in front of a number sign are layout: local's stay where it has a comment.
    blanks = local[: len(local) - len(local.lstrip())] if ours else upstream[: len(upstream) - len(upstream.lstrip())]
    return blanks + theirs if theirs else ""


_NUMBER_SIGN = pattern(r"(?:^|(?<=\s))#")


def lost_comments(outcome: ResourceOutcome, text: str, redactions: Sequence[Redaction]) -> list[Decision]:
    """A decision for each place with comments that a side has, the other did not remove, and the text lacks.

    Comments that were discarded with a value are part of that decision. One that names a setter makes a warning: the
    setter no longer sets the value.
    """
    members = outcome.members
    counts = {side: Counter(comments_in(document_text(member.root))) for side, member in members.items()}
    before, theirs, ours = (counts.get(side, Counter()) for side in ("original", "upstream", "local"))
    now = Counter(comments_in(text))
    for decision in outcome.decisions:
        if decision.discarded_comments is not None:
            now.update(decision.discarded_comments.lines)
    lost: dict[tuple[Side, FieldPath], list[str]] = {}
    for comment in theirs | ours:
        missing = _together(before[comment], theirs[comment], ours[comment]) - now[comment]
        side: Side = "upstream" if theirs[comment] > max(before[comment], ours[comment]) else "local"
        if missing > 0 and MERGE_COMMENT not in comment and side in members:
            for path in [path for line, path in placed_comments(members[side].root) if line == comment][-missing:]:
                lost.setdefault((side, path), []).append(comment)
    secrecy = Secrecy(outcome.roots, redactions)
    return [_decision(secrecy, side, path, comments) for (side, path), comments in lost.items()]


def _together(original: int, upstream: int, local: int) -> int:
    """How often something is there after both sides' changes; what both did alike is done once."""
    theirs, ours = upstream - original, local - original
    return original + (max(theirs, ours, key=abs) if theirs * ours > 0 else theirs + ours)


def _decision(secrecy: Secrecy, side: Side, path: FieldPath, comments: Sequence[str]) -> Decision:
    severity: Severity = "warning" if any(comment.startswith(SETTER) for comment in comments) else "info"
    message = lost_comments_message(side, comments, is_hidden=secrecy.hides(path, ("\n".join(comments),)))
    return Decision("V8", path, message, side, severity, is_reported=True)


def placed_comments(root: MappingNode) -> Iterator[tuple[str, FieldPath]]:
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
