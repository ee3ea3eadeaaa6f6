"""The picture of the benchmarks shows the numbers of their page."""

from __future__ import annotations

import pytest
from benchmarks.numbers import SECTIONS, START, summary_of
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


def test_what_is_slower_and_what_is_missed_is_said_in_words() -> None:
    whole = (
        "| shape | 1 MB: CPU, s | CPU to `kpt fn sink` |\n| --- | --: | --: |\n"
        "| mixed | 0.16 | 0.58 |\n| all | 0.98 | 6.14 |\n"
    )
    beside = (
        "| 10 resources (5 runs) | wall, s | `krm-merge` to it |\n| --- | --: | --: |\n| `krm-merge` | 0.15 |  |\n"
        "| `cat` | 0.01 | 15.0 |\n| `kpt pkg update` (1 runs) | 0.10 | 1.5 |\n"
    )
    bars = (
        "| bar | measured | at most |  |\n| --- | --: | --: | --: |\n"
        "| a, CPU | 3 s | 2 s | missed |\n| b, CPU | 1 s | 2 s | ok |\n"
    )
    assert summary_of(f"{whole}\n{beside}\n{bars}") == (
        "Missed: a, CPU (3 s, at most 2 s).\n\n"
        "Slower than `kpt fn sink`: all 6.14 times.\n\n"
        "Slower than `kpt pkg update`: 10 resources 1.5 times.\n"
    )
    assert summary_of(f"{whole.replace('6.14', '0.61')}") == ""


def test_the_page_says_what_its_tables_show() -> None:
    _, *sections = README.read_text(encoding="utf-8").partition(START)[2].split("\n## Numbers: ")
    for section in sections:
        title, _, text = section.partition("\n\n")
        sentences = summary_of(text)
        assert text.startswith(sentences), title
        assert not text.removeprefix(sentences).lstrip().startswith(("Missed", "Slower")), title
    assert [section.partition("\n")[0] for section in sections] == [
        section.title.removeprefix("Numbers: ") for section in SECTIONS
    ]
