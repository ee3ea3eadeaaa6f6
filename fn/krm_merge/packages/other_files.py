"""Three-way merge of files that hold no resources, or do not parse (rules R4, R5)."""

from __future__ import annotations

from typing import Literal, NamedTuple

from krm_merge.krm.result import Result
from krm_merge.merge.lines import MergedText, merge_added_text, merge_plain_text
from krm_merge.merge.policy import Policy
from krm_merge.packages.tree import File, merged_mode
from krm_merge.packages.values import MergedFile, is_valid, merge_values


def merge_other_file(
    path: str, original: File | None, upstream: File | None, local: File | None, policy: Policy
) -> MergedFile:
    """Merges a file: YAML and JSON by fields, other text by lines (R4), all else as a whole (V2, V4); F5 for the rest.

    By fields, the text of the result is the merge by lines wherever that means the same.
    """
    if upstream in (original, local):
        return MergedFile(local, [])
    if local == original:
        what = "added" if local is None else "deleted" if upstream is None else "changed"
        return MergedFile(upstream, [_info(path, f"{what}, as upstream has it")])
    if upstream is None or local is None:
        who = "upstream removed it, local changed it" if upstream is None else "local removed it, upstream changed it"
        stands = "local's is kept" if upstream is None else "it remains removed"
        return MergedFile(local, [_conflict(path, "F5", policy.story((), who, stands), policy)])
    if (by_fields := merge_values(path, original, upstream, local, policy)) is not None:
        return by_fields
    text = _text(original, upstream, local, policy)
    all_valid = all(is_valid(path, side.data) for side in (original, upstream, local) if side is not None)
    if text is None or (all_valid and not is_valid(path, text.data)):
        return _whole(path, upstream, local, policy)
    merged = File(text.data, merged_mode(original, upstream, local))
    if text.merged.conflicts and policy.conflict(()) == "fail":
        merged = local
    results = [_info(path, "merged with upstream's by lines")] if merged != local else []
    if text.merged.conflicts:
        did, kept = text.merged.story(_winner(policy))
        what = f"both sides {did}" if original is not None else "both sides added it, with other lines"
        story = policy.story((), what, kept, has_place=text.merged.changed > 0)
        results.append(_conflict(path, "R4", story, policy))
    return MergedFile(merged, results)


class _Text(NamedTuple):
    data: bytes
    merged: MergedText


def _text(original: File | None, upstream: File, local: File, policy: Policy) -> _Text | None:
    """The merged lines; None where the file is one value."""
    sides = [original, upstream, local]
    if any(side is not None and (side.mode == "link" or b"\0" in side.data) for side in sides):
        return None
    # Any bytes are characters of this encoding, and only line ends matter here.
    before, theirs, ours = ("" if side is None else side.data.decode("latin-1") for side in sides)
    crlf = "\r\n" in ours and ours.count("\r\n") == ours.count("\n")
    if crlf or "\r" not in ours:
        # The line ends are local's own: git may have changed them at checkout.
        before, theirs, ours = (side.replace("\r\n", "\n") for side in (before, theirs, ours))
    merged: MergedText | None
    if original is None:
        merged = merge_added_text(theirs, ours, _winner(policy))
    elif ours == before:
        merged = MergedText(theirs)
    elif theirs in (before, ours):
        merged = MergedText(ours)
    else:
        merged = merge_plain_text(before, theirs, ours, _winner(policy))
    if merged is None:
        return None
    return _Text((merged.text.replace("\n", "\r\n") if crlf else merged.text).encode("latin-1"), merged)


def _whole(path: str, upstream: File, local: File, policy: Policy) -> MergedFile:
    what, kept = "both sides changed it, and it cannot be merged by lines", f"{_winner(policy)}'s is kept"
    story = policy.story((), what, kept, has_place=not any(b"\0" in side.data for side in (upstream, local)))
    file = upstream if policy.conflict(()) == "upstream" else local
    return MergedFile(file, [_conflict(path, "R4", story, policy)])


def _winner(policy: Policy) -> Literal["upstream", "local"]:
    return "upstream" if policy.conflict(()) == "upstream" else "local"


def _info(path: str, message: str) -> Result:
    return Result("info", f"{path}: {message}", file=path, tags={"rule": "R4", "side": "upstream"})


def _conflict(path: str, rule: str, story: str, policy: Policy) -> Result:
    return Result(policy.severity(()), f"{path}: {story}", file=path, tags={"rule": rule, "side": "both"})
