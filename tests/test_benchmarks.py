"""The picture of the benchmarks shows the numbers of their page."""

from __future__ import annotations

import pytest
from benchmarks.picture import PICTURE, README, Point, lines_of, picture

PAGE = """\
## Numbers: updates

| 10 resources, caches warm (5 runs) | wall, s |
| --- | --: |
| `krm-merge` | 0.10 |

| 100 resources (5 runs) | wall, s |
| --- | --: |
| `krm-merge` | 0.40 | 0.27-0.44 |
| `kpt pkg update` | 1.87 | 1.46-2.65 |

| 1,000 resources (5 runs) | wall, s |
| --- | --: |
| `krm-merge` | 0.75 | 0.68-1.18 |
| `kpt pkg update` (2 runs) | 69.62 | 66.21-73.03 |

| 1,000 resources in one file (5 runs) | wall, s |
| --- | --: |
| `krm-merge` | 0.64 | 0.61-0.92 |

## Numbers: the page
"""


def test_numbers_are_read_from_the_page() -> None:
    assert lines_of(PAGE) == {
        "krm-merge": [Point(100, 0.4), Point(1000, 0.75)],
        "kpt pkg update": [Point(100, 1.87), Point(1000, 69.62)],
    }


def test_a_page_without_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"README\.md: the numbers of updates have krm-merge"):
        lines_of(PAGE.replace("| `kpt pkg update`", "| kpt"))


def test_the_picture_shows_the_numbers_of_the_page() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(lines_of(README.read_text(encoding="utf-8")))
