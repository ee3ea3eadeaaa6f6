"""Words and lines that messages are made of."""

from __future__ import annotations

import pytest

from krm_merge.safe_text import quantity


@pytest.mark.parametrize(
    ("count", "noun", "expected"),
    [(1, "key", "1 key"), (2, "key", "2 keys"), (0, "policy", "0 policies"), (1200, "file", "1,200 files")],
)
def test_a_quantity_has_the_plural_of_its_noun(count: int, noun: str, expected: str) -> None:
    assert quantity(count, noun) == expected
