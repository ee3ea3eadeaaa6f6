"""What a side changed in a resource, line by line."""

from __future__ import annotations

from collections.abc import Iterable

from krm_merge.report import DecisionRecord
from krm_merge.report.record import SideName
from krm_merge.report.words import ChangedLine, changed_values, lines_changed
from krm_merge.startup import replace
from resolve.packages import session_of


def texts(lines: Iterable[ChangedLine]) -> list[str]:
    return [mark + "".join(f"[{piece}]" if is_new else piece for piece, is_new in pieces) for mark, pieces in lines]


def deleted_service(original: str, local: str) -> DecisionRecord:
    head = "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  annotations:\n    a: b\n"
    text = head + "%sspec:\n  ports:\n  - port: %s\n"
    notes = "    internal.kpt.dev/upstream-identifier: '%s'\n    cnrm.cloud.google.com/blueprint: '%s'\n"
    sides = [{"s.yaml": (text % (notes % (side, side), side)).encode()} for side in (original, local)]
    (record,) = session_of(sides[0], {}, sides[1]).open
    return record


def test_a_deleted_resource_shows_what_the_other_side_changed_and_nothing_of_kpts() -> None:
    changes = changed_values(deleted_service("80", "81"))
    assert list(changes) == ["local"]
    assert texts(changes["local"]) == ["…", " spec:", "   ports:", "-  - port: [80]", "+  - port: [81]"]


def test_where_only_kpts_annotations_differ_nothing_changed() -> None:
    record = deleted_service("80", "81")
    side: SideName = "original"
    same = replace(record, values={**record.values, "local": record.values[side]})
    assert changed_values(same) == {"local": []}


def test_lines_far_from_a_change_are_left_out() -> None:
    before = [str(n) for n in range(20)]
    after = [*before[:10], "x", "y", *before[11:]]
    assert texts(lines_changed(before, after)) == ["…", " 8", " 9", "-10", "+x", "+y", " 11", " 12", "…"]
    assert texts(lines_changed(["a b", "c"], ["a d", "c"])) == ["-a [b]", "+a [d]", " c"]
