"""Merges that once were wrong without a word, and neighbours of each kind: testdata/silence.

A group has frames, the files around a text at the line `@`, and rows with the three texts. `settled` is the result that
needs no question; `conflict` says whether one must be reported (`may`: either will do). Where one is, the result is
what a side has, unless `has`, `lacks` and `once` say which words must be there. Each row is merged in each frame, under
one policy and, with the sides exchanged, under the other one; what is settled is settled for good.
"""

from __future__ import annotations

import re
from textwrap import indent
from typing import Any

import pytest
import yaml
from _pytest.mark.structures import ParameterSet

from checkout import ROOT
from krm_merge import merge_packages
from krm_merge.merge.decisions.policy import OnConflict

Frame = dict[str, str]
Row = dict[str, Any]


def framed(frame: Frame, text: str) -> str:
    before, _, after = frame["text"].partition("@\n")
    text = text.lstrip("\n")
    head, _, pad = before.rpartition("\n")
    return (f"{head}\n" if head else "") + indent(text, pad) + after


def rows() -> list[ParameterSet]:
    parameters: list[ParameterSet] = []
    for path in sorted((ROOT / "testdata" / "silence").glob("*.yaml")):
        for group in yaml.safe_load(path.read_text()):
            frames = group.get("frames") or [{"path": group.get("path", "a.yaml"), "text": "@\n"}]
            for number, frame in enumerate(frames):
                for row in group["rows"]:
                    place = f" in {frame.get('path', 'a.yaml')} {number}" if len(frames) > 1 else ""
                    parameters.append(pytest.param(frame, row, id=f"{path.stem}: {row['name']}{place}"))
    return parameters


def words(text: str) -> str:
    return " ".join(text.split())


def parts(text: str) -> list[str]:
    return sorted(re.split(r"[\s,\[\]]+", text))


def check(frame: Frame, row: Row, sides: list[str], on: OnConflict, *, exchanged: bool) -> bool:
    """Whether a conflict is reported; what must hold holds."""
    path = frame.get("path", "a.yaml")
    original, upstream, local = ({path: side.encode()} if side.strip() else {} for side in sides)
    merged = merge_packages(original, upstream, local, on_conflict=on)
    text = merged.files.get(path, b"").decode()
    told = f"{[(record.status, record.path, record.message) for record in merged.records]}\n{text}"
    assert merged.has_conflicts or row.get("conflict") is not True, f"nothing is reported: {told}"
    assert not merged.has_conflicts or row.get("conflict", False), f"a conflict is reported: {told}"
    if not merged.has_conflicts:
        if "settled" in row:
            expected = framed(frame, row["settled"])
            # Local's additions come first: exchanged sides give another order.
            assert text == expected or (exchanged and parts(text) == parts(expected)), told
        again = merge_packages(original, upstream, dict(merged.files), on_conflict=on)
        assert not again.changes, told
        assert not again.has_conflicts, told
    elif not {"has", "lacks", "once"} & row.keys():
        assert text in sides[1:], told
    assert all(words(part) in words(text) for part in row.get("has", [])), told
    assert not any(words(part) in words(text) for part in row.get("lacks", [])), told
    assert all(words(text).count(words(part)) == 1 for part in row.get("once", [])), told
    return merged.has_conflicts


@pytest.mark.parametrize(("frame", "row"), rows())
def test_nothing_is_wrong_in_silence(frame: Frame, row: Row) -> None:
    original, upstream, local = (framed(frame, row[side] or "") for side in "oul")
    has_conflicts = check(frame, row, [original, upstream, local], "upstream", exchanged=False)
    other_answer = check(frame, row, [original, local, upstream], "local", exchanged=True)
    assert has_conflicts == other_answer, "exchanged sides and the other policy give another answer"
