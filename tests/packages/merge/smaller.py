"""Failing packages made small, and shown."""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher

from generated.facts import Facts, facts
from generated.texts import Triple, block_at
from packages.merge.beside_git import Failure, Winner, failures, merge

Fails = Callable[[Triple], bool]
Row = tuple[str, str, str]


def fails_alike(sides: Triple, policy: Winner, kind: str) -> Fails:
    """Whether a smaller triple fails in this way, and its resources and fields are among those of the first."""
    facts_before = [{path: facts(path, text) for path, text in side.items()} for side in sides]

    def is_part(path: str, text: str, first: Facts | None) -> bool:
        now = facts(path, text)
        if now is None or first is None:
            return now is first
        return not now.faults and set(now.identities) <= set(first.identities) and now.members <= first.members

    def fails(smaller: Triple) -> bool:
        for side, first in zip(smaller, facts_before, strict=True):
            if not all(is_part(path, text, first[path]) for path, text in side.items()):
                return False
        return any(failure.kind == kind for failure in failures_or_error(smaller, policy))

    return fails


def failures_or_error(sides: Triple, policy: Winner) -> list[Failure]:
    try:
        return failures(sides, policy)
    except Exception as error:
        return [Failure(f"raises {type(error).__name__}", "", repr(error))]


def smaller(sides: Triple, fails: Fails) -> Triple:
    """A triple that fails in the same way and has fewer files, changes and lines."""
    if not fails(sides):
        return sides
    for path in sorted({*sides[0], *sides[1], *sides[2]}):
        without = _with_texts(sides, path, (None, None, None))
        if fails(without):
            sides = without
    for path in sorted({*sides[0], *sides[1], *sides[2]}) * 2:
        sides = _fewer_lines(sides, path, fails)
    return sides


def _with_texts(sides: Triple, path: str, texts: tuple[str | None, str | None, str | None]) -> Triple:
    o, u, m = (
        {p: t for p, t in side.items() if p != path} | ({} if text is None else {path: text})
        for side, text in zip(sides, texts, strict=True)
    )
    return o, u, m


def _fewer_lines(sides: Triple, path: str, fails: Fails) -> Triple:
    original, upstream, local = (side.get(path, "") for side in sides)
    rows = _rows(original, upstream, local)

    def with_rows(rows: list[Row]) -> Triple:
        o, u, m = ("".join(row[at] for row in rows) if path in sides[at] else None for at in range(3))
        return _with_texts(sides, path, (o, u, m))

    for at, row in enumerate(rows):
        for calm in ((row[0], row[0], row[2]), (row[0], row[1], row[0]), (row[0], row[0], row[0])):
            quieter = [*rows[:at], calm, *rows[at + 1 :]]
            if calm != rows[at] and fails(with_rows(quieter)):
                rows = quieter
    at = len(rows) - 1
    while at >= 0:
        # A document, a field or element with all that is in it, a line: what goes first.
        lines = [max(row) for row in rows]
        breaks = [n for n, line in enumerate(lines) if line.startswith("---")]
        ends = [next((n for n in breaks if n > at), len(rows))] if at in breaks else []
        ends += [next((n + 1 for n in breaks), 0)] if at == 0 else []
        for end in dict.fromkeys((*ends, block_at(lines, at), at + 1)):
            fewer = rows[:at] + rows[end:]
            if len(fewer) < len(rows) and fails(with_rows(fewer)):
                rows = fewer
                break
        at -= 1
    return with_rows(rows)


def _rows(original: str, upstream: str, local: str) -> list[Row]:
    """The lines of three texts side by side: lines of all three, and stretches that a side changed."""
    texts = [text.splitlines(keepends=True) for text in (original, upstream, local)]
    theirs, ours = (_match(texts[0], side) for side in texts[1:])
    common = [(at, theirs[at], ours[at]) for at in range(len(texts[0])) if at in theirs and at in ours]
    rows: list[Row] = []
    done = (0, 0, 0)
    for ends in [*common, (len(texts[0]), len(texts[1]), len(texts[2]))]:
        o, u, m = ("".join(text[a:b]) for text, a, b in zip(texts, done, ends, strict=True))
        if o or u or m:
            rows.append((o, u, m))
        if ends[0] < len(texts[0]):
            line = texts[0][ends[0]]
            rows.append((line, line, line))
        done = (ends[0] + 1, ends[1] + 1, ends[2] + 1)
    return rows


def _match(a: list[str], b: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}


def describe(sides: Triple, policy: Winner) -> str:
    """A triple and its merge to read, without the files that are alike everywhere."""
    merged = merge(*sides, policy)
    names = dict(zip(("O", "U", "L", "M"), (*sides, merged.files), strict=True))
    lines = []
    for path in sorted({path for side in names.values() for path in side}):
        seen: dict[str | None, str] = {}
        if len({side.get(path) for side in names.values()}) == 1:
            continue
        for name, side in names.items():
            text = side.get(path)
            as_before = f" as {seen[text]}" if text in seen else ""
            lines.append(f"--- {name} {path}{as_before}")
            if text not in seen:
                lines.append("(no file)" if text is None else text.removesuffix("\n"))
                seen[text] = name
    lines += [
        f"told: {message.severity} {message.rule} {message.file}: {message.message}" for message in merged.messages
    ]
    return "\n".join(lines)
