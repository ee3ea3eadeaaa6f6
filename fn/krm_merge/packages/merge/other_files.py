"""Three-way merge of files that hold no resources, or do not parse (rules R4, R5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from krm_merge.krm.identity import NO_RESOURCE
from krm_merge.krm.result import Result, Severity
from krm_merge.merge.decisions.decision import FileDecision, Side
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.resolution import Choice, Fit, Resolution, file_content, fingerprint
from krm_merge.merge.lines.three_way import OF_FILE, MergedText
from krm_merge.merge.values.texts import choose_text, merge_added_text, merge_text
from krm_merge.packages.files.tree import File, merged_mode
from krm_merge.packages.merge.values import MergedFile, merge_values
from krm_merge.schema.secrecy import is_secret_file

_Sides = tuple[File | None, File | None, File | None]


def merge_other_file(
    path: str, original: File | None, upstream: File | None, local: File | None, policy: Policy
) -> MergedFile:
    """Merges a file: YAML and JSON by fields, other text by lines (R4), all else as a whole (V2, V4); F5 for the rest.

    By fields, the text of the result is the merge by lines wherever that means the same.
    """
    policy = policy.of(NO_RESOURCE)
    sides = (original, upstream, local)
    if policy.resolutions.all and (resolved := _resolved(path, sides, policy)) is not None:
        return resolved
    if upstream in (original, local):
        return MergedFile(local, [])
    if local == original:
        what = "added" if local is None else "deleted" if upstream is None else "changed"
        return _decided(path, sides, upstream, "R4", f"{what}, as upstream has it")
    if (by_fields := merge_values(path, original, upstream, local, policy)) is not None:
        return by_fields
    severity = policy.severity(())
    if upstream is None or local is None:
        who = "upstream removed it, local changed it" if upstream is None else "local removed it, upstream changed it"
        kept = "local's is kept" if upstream is None else "it remains removed"
        return _decided(path, sides, local, "F5", policy.explanation((), who, kept), "both", severity)
    text = _text(original, upstream, local, policy)
    if text is None:
        what, kept = "both sides changed it, and it cannot be merged by lines", f"{_winner(policy)}'s is kept"
        file = upstream if policy.conflict(()) == "upstream" else local
        explanation = policy.explanation(
            (), what, kept, has_place=not any(b"\0" in side.data for side in (upstream, local))
        )
        return _decided(path, sides, file, "R4", explanation, "both", severity)
    merged = File(text.data, merged_mode(original, upstream, local))
    if not text.merged.conflicts:
        return _decided(path, sides, merged, "R4", "merged with upstream's by lines")
    if severity == "error":
        merged = local
    did, kept = text.merged.explanation(_winner(policy))
    what = f"both sides {did}" if original is not None else "both sides added it, with other lines"
    explanation = policy.explanation((), what, kept)
    conflict = _decided(path, sides, merged, "R4", explanation, "both", severity)
    if merged == local:
        return conflict
    message = f"{path}: merged with upstream's by lines"
    by_lines = Result("info", message, file=path, rule="R4", tags={"side": "upstream"})
    return conflict._replace(results=[by_lines, *conflict.results])


def _decided(
    path: str,
    sides: _Sides,
    merged: File | None,
    rule: str,
    message: str,
    side: Side = "upstream",
    severity: Severity = "info",
    resolution: Resolution | None = None,
) -> MergedFile:
    """The merged file and its decision; no decision where local already has all of upstream's changes."""
    if side == "upstream" and merged == sides[2]:
        return MergedFile(merged, [])
    before, theirs, ours, after = (None if file is None else file.data for file in (*sides, merged))
    decision = FileDecision(path, rule, message, side, severity, before, theirs, ours, after, resolution)
    result = Result(severity, f"{path}: {message}", file=path, rule=rule, tags={"side": side})
    return MergedFile(merged, [result], (decision,))


# ---- choices ---------------------------------------------------------------------------------------------------------


def _resolved(path: str, sides: _Sides, policy: Policy) -> MergedFile | None:
    """The file as somebody chose it, where both sides are as they were then."""
    original, upstream, local = sides
    secret = any(file is not None and is_secret_file(file.data, policy.redactions) for file in sides)
    for resolution in policy.resolutions_at(()):
        if resolution.nature != "file":
            continue
        if secret:
            fit = _fit_of_secret(path, sides, resolution)
        else:
            fit = resolution.fit("", *(file_content(None if file is None else file.data) for file in sides))
        for merged in _chosen(path, original, upstream, local, resolution.choice) if fit else ():
            if fit == "exact" or merged == local:
                message = f"both sides changed it; settled by {resolution.place}: {resolution.choice}"
                rule = "F5" if upstream is None or local is None else "R4"
                return _decided(path, sides, merged, rule, message, "both", "info", resolution)
    return None


def _fit_of_secret(path: str, sides: _Sides, resolution: Resolution) -> Fit:
    """M6: the choice is for this place, as long as there is a conflict."""
    original, upstream, local = sides
    known = resolution.fingerprint == fingerprint("file", path, (), None)
    is_conflict = upstream not in (original, local) and local != original
    return "exact" if known and is_conflict and resolution.choice in ("upstream", "local") else ""


def _chosen(
    path: str, original: File | None, upstream: File | None, local: File | None, choice: Choice
) -> Iterator[File | None]:
    """The file under a choice; nothing where the choice does not fit this file."""
    if choice == "original" or choice == "value" or choice == "recognise":
        return
    if upstream is None or local is None or original is None:
        if choice in ("upstream", "local"):
            yield upstream if choice == "upstream" else local
        return
    if (texts := _texts(original, upstream, local)) is not None:
        text = choose_text(texts.original, texts.upstream, texts.local, choice, OF_FILE)
        if text is not None:
            yield File(text.encode(texts.encoding), merged_mode(original, upstream, local))
            return
    if choice in ("upstream", "local"):
        yield upstream if choice == "upstream" else local


# ---- lines -----------------------------------------------------------------------------------------------------------


class _Texts(NamedTuple):
    """Three texts, and how they are written as bytes."""

    original: str
    upstream: str
    local: str
    encoding: str


class _Text(NamedTuple):
    data: bytes
    merged: MergedText


def _texts(original: File | None, upstream: File, local: File) -> _Texts | None:
    """The three texts; None where the file is one value."""
    sides = [original, upstream, local]
    if any(side is not None and (side.mode == "link" or b"\0" in side.data) for side in sides):
        return None
    # Any bytes are characters of Latin-1, and only line ends matter where a text is not UTF-8.
    for encoding in ("utf-8", "latin-1"):
        try:
            before, theirs, ours = ("" if side is None else side.data.decode(encoding) for side in sides)
        except UnicodeDecodeError:
            continue
        return _Texts(before, theirs, ours, encoding)
    return None


def _text(original: File | None, upstream: File, local: File, policy: Policy) -> _Text | None:
    """The merged lines; None where the file is one value."""
    if (texts := _texts(original, upstream, local)) is None:
        return None
    before, theirs, ours = texts[:3]
    winner, marks = _winner(policy), policy.leaves_marks(())
    merged: MergedText | None
    if original is None:
        merged = merge_added_text(theirs, ours, winner, OF_FILE)
    elif ours == before:
        merged = MergedText(theirs)
    elif theirs in (before, ours):
        merged = MergedText(ours)
    else:
        merged = merge_text(before, theirs, ours, winner, OF_FILE, marks=marks)
    return None if merged is None else _Text(merged.text.encode(texts.encoding), merged)


def _winner(policy: Policy) -> Literal["upstream", "local"]:
    return "upstream" if policy.conflict(()) == "upstream" else "local"
