"""Law H: what the lines of all three settle is no conflict."""

from __future__ import annotations

import pytest

from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File
from krm_merge.packages.merge.trees import merge_trees


def merge(original: str, upstream: str, local: str) -> tuple[str, list[str]]:
    """What becomes of the data of a ConfigMap, and the conflicts that are told; merging again changes nothing."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n"
    sides = [{"a.yaml": File((head + text).encode())} for text in (original, upstream, local)]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    after = dict(Changed(sides[2], done.changes))
    assert merge_trees(sides[0], sides[1], after, PackageMerger(Policy())).changes == {}
    rules = [result.rule for result in done.results if result.severity != "info"]
    return after["a.yaml"].data.decode().removeprefix(head), rules


def script(lines: str) -> str:
    """A list with a text; each letter is a line."""
    return "  l:\n  - |\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "conflicts"),
    [
        pytest.param(
            "  old:\n    a: 1\n    b: 1\n    c: 1\n",
            "  new:\n    a: 1\n    b: 1\n    c: 1\n",
            "  old:\n    a: 1\n    b: 1\n    c: 2\n",
            "  new:\n    a: 1\n    b: 1\n    c: 2\n",
            [],
            id="a field renamed, and changed inside",
        ),
        pytest.param("  a: 1\n", "  a: 2\n", "  a: 3\n", "  a: 2\n", ["V4"], id="the same line"),
        pytest.param(
            "  old:\n    a: 1\n    b: 1\n    c: 1\n    d: 1\n",
            "  old:\n    a: 1\n    b: 1\n    d: 1\n",
            "  new:\n    a: 1\n    b: 1\n    c: 1\n    d: 1\n",
            "  new:\n    a: 1\n    b: 1\n    d: 1\n",
            [],
            id="a mapping that local renamed, and a field removed",
        ),
        pytest.param(
            "  old:\n  - a\n  - b\n  - c\n  - d\n",
            "  new:\n  - a\n  - b\n  - c\n  - d\n",
            "  old:\n  - a\n  - b\n  - d\n",
            "  new:\n  - a\n  - b\n  - d\n",
            [],
            id="a list that upstream renamed, and an element removed",
        ),
        pytest.param(
            "  old:\n    runs: x\n    steps:\n    - uses: a@v1\n\n    - uses: b@v1\n",
            "  old:\n    runs: x\n    steps:\n    - uses: a@v2\n\n    - uses: b@v1\n",
            "  new:\n    runs: x\n    steps:\n    - uses: a@v1\n\n    - uses: c@v1\n\n    - uses: b@v1\n",
            "  new:\n    runs: x\n    steps:\n    - uses: a@v2\n\n    - uses: c@v1\n\n    - uses: b@v1\n",
            [],
            id="a job renamed, and a step added behind a raised one",
        ),
        pytest.param(
            "  k: 1\n  l:\n  - |\n    a\n    b\n  - |\n    c\n    b\n",
            "  k: 1\n  l:\n  - |\n    a\n  - |\n    c\n",
            "  k: 1\n",
            "  k: 1\n",
            ["F5"],
            id="a list removed whose texts upstream made shorter",
        ),
        pytest.param(
            "  k: 1\n  a:\n    b: 1\n",
            "  k: 1\n  a:\n",
            "  k: 1\n",
            "  k: 1\n",
            [],
            id="a map that upstream emptied",
        ),
        pytest.param(
            "  a: 1\n  b: 1\n  c: 1\n",
            "  a: 1\n  b: 1\n  c: 1\n  n: 1\n",
            "  n: 2\n  a: 1\n  b: 1\n  c: 1\n",
            "  n: 1\n  a: 1\n  b: 1\n  c: 1\n",
            ["V4"],
            id="one field added in two places: never twice",
        ),
        pytest.param(
            "  l:\n  - x\n  - y\n  - z\n",
            "  l:\n  - u\n  - y\n  - z\n",
            "  l:\n  - x\n  - y\n  - l\n",
            "  l:\n  - u\n  - y\n  - l\n",
            [],
            id="elements",
        ),
        pytest.param(
            "  old:\n    a: [1, x]\n    b: 1\n    c: 1\n  l:\n  - name: x\n  - n: 1\n",
            "  new:\n    a: [1, x]\n    b: 1\n    c: 1\n  l:\n  - name: x\n  - n: 1\n",
            "  old:\n    a: [1, x]\n    b: 1\n    c: 2\n  l:\n  - name: x\n  - n: 1\n",
            "  new:\n    a: [1, x]\n    b: 1\n    c: 2\n  l:\n  - name: x\n  - n: 1\n",
            [],
            id="a field renamed beside lists",
        ),
        pytest.param(
            "  old:\n    a: 1\n    b: 1\n    c: 1\n  l:\n  - name: x\n  - name: x\n",
            "  new:\n    a: 1\n    b: 1\n    c: 1\n  l:\n  - name: x\n  - name: x\n",
            "  old:\n    a: 1\n    b: 1\n    c: 2\n  l:\n  - name: x\n  - name: x\n",
            "  new:\n    a: 1\n    b: 1\n    c: 2\n  l:\n  - name: x\n  - name: x\n",
            [],
            id="names that were there twice before",
        ),
        pytest.param(
            script("abcdefgh"), script("uvwxyfgh"), script("abcdefgl"), script("uvwxyfgl"), [], id="a script in a list"
        ),
        pytest.param(
            script("abcdefgh"),
            script("uvwxyfgu"),
            script("abcdefgl"),
            script("uvwxyfgu"),
            ["V6"],
            id="a script in a list, one of its lines",
        ),
        pytest.param(
            "  l:\n  - a\n\n  # more\n  # - b\n",
            "  l:\n  # - a\n\n  # more\n  # - b\n",
            "  l:\n  - a\n\n  # more\n  - b\n",
            "  l:\n  # - a\n\n  # more\n  # - b\n",
            ["V5"],
            id="a list that upstream commented out, and an element that local added",
        ),
        pytest.param(
            '  l: |\n    - name: x\n      path: "/x"\n  k: 1\n',
            "  l: |\n    - name: x\n      path: /x\n  k: 1\n",
            '  l:\n    - name: x\n      path: "/x"\n  k: 1\n',
            "  l: |\n    - name: x\n      path: /x\n  k: 1\n",
            ["V5"],
            id="a text that local made a list, and a line changed",
        ),
        pytest.param(
            "  a-b:\n    c-d:\n      v: 1\n    e: 1\n",
            "  a_b:\n    c_d:\n      v: 1\n    e: 1\n",
            "  a-b:\n    c-d:\n      v: 1\n",
            "  a_b:\n    c_d:\n      v: 1\n",
            [],
            id="all fields renamed in a renamed field, and one removed",
        ),
    ],
)
def test_lines_settle(original: str, upstream: str, local: str, expected: str, conflicts: list[str]) -> None:
    assert merge(original, upstream, local) == (expected, conflicts)


def test_what_lines_settle_is_told() -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    sides = [
        {"a.yaml": File((head + text).encode())}
        for text in ("data:\n  a: 1\n  b: 1\n", "binaryData:\n  a: 1\n  b: 1\n", "data:\n  a: 1\n  b: 2\n")
    ]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    assert done.changes
    assert [result.severity for result in done.results] == ["info"]
