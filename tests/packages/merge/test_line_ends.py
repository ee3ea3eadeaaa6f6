"""Line ends: one kind in the result, local's, and never a difference of their own (rule W5)."""

from __future__ import annotations

import random
import re
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.texts import Triple, lines_triple, triple
from generated.written import Texts
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File, Tree
from krm_merge.packages.merge.other_files import is_yaml, with_markers
from krm_merge.packages.merge.trees import merge_trees

SEED = st.integers(0, 2**48)
Winner = Literal["upstream", "local"]
ENDS = {"LF": ["\n"], "CRLF": ["\r\n"], "CR": ["\r"], "some CRLF": ["\n"] * 6 + ["\r\n"], "mixed": ["\n", "\r\n"]}


def change_ends(rng: random.Random, text: str, kind: str) -> str:
    return re.sub("\n", lambda _: rng.choice(ENDS[kind]), text)


def kinds(path: str, data: bytes) -> set[bytes]:
    return set(ends_of(path, data).findall(data))


def ends_of(path: str, data: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\r\n|\n|\r" if is_yaml(path) or b"\n" not in data else rb"\r\n|\n")


def plain_lines(path: str, data: bytes) -> bytes:
    return ends_of(path, data).sub(b"\n", data)


def merge(original: Tree, upstream: Tree, local: Tree, winner: Winner) -> Tree:
    merged = merge_trees(original, upstream, local, PackageMerger(Policy(winner), smart=True))
    return dict(Changed(local, merged.changes))


def with_ends(rng: random.Random, texts: Texts, kind_of: dict[str, str]) -> Tree:
    """The files with line ends of one kind each: sometimes those of all, now and then others."""
    any_kind = rng.choice([*ENDS])
    return {
        path: File(
            change_ends(rng, text, kind_of.get(path, any_kind) if rng.random() < 0.5 else rng.choice([*ENDS])).encode()
        )
        for path, text in texts.items()
    }


def check(rng: random.Random, sides: Triple) -> None:
    """The merge of three versions, each with line ends of its own, is that of the same ones with LF."""
    winner: Winner = rng.choice(["upstream", "local"])
    common = {path: rng.choice([*ENDS]) for path in sides[0]}
    original, upstream, local = given_sides = [with_ends(rng, texts, common) for texts in sides]
    plain = [{path: File(plain_lines(path, file.data)) for path, file in tree.items()} for tree in given_sides]
    merged, plain_merge = merge(original, upstream, local, winner), merge(plain[0], plain[1], plain[2], winner)
    again, same = merge(original, upstream, merged, winner), merge(plain[0], plain[1], plain_merge, winner)
    assert set(merged) == set(plain_merge)
    for path, file in merged.items():
        versions = [tree.get(path) for tree in given_sides]
        if not is_yaml(path) and all(side is not None and len(kinds(path, side.data)) > 1 for side in versions):
            # As in git, they are part of the lines.
            continue
        assert plain_lines(path, file.data) == plain_merge[path].data, path
        if same.get(path) == plain_merge[path]:
            # Of equal lines nothing says which was added (R4).
            assert again[path] == file, path
        ours = versions[2]
        # What local only moved has upstream's line ends (R13).
        if ours is not None and ours not in original.values() and len(own_kinds := kinds(path, ours.data)) == 1:
            assert kinds(path, file.data) <= own_kinds, path


@given(SEED)
def test_packages(seed: int) -> None:
    rng = random.Random(seed)
    check(rng, triple(rng))


@given(SEED, st.sampled_from(["README.md", "values.yaml.tmpl"]))
def test_texts(seed: int, path: str) -> None:
    rng = random.Random(seed)
    check(rng, lines_triple(rng, path))


# Three versions of a resource and of a text, in each of which upstream and local changed other lines.
RESOURCE = tuple(
    f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: {a}\n  b: 1\n  c: |\n    one\n\n    {c}\n"
    for a, c in (("1", "two"), ("1", "two\n    three"), ("4", "two"), ("4", "two\n    three"))
)
KPTFILE = tuple(
    f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\ninfo:\n  keywords: [{k}]\n  description: {d}\n"
    for k, d in (("a", "x"), ("a, b", "x"), ("a", "y"), ("a, b", "y"))
)
TEXT = ("a\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\nup\n", "a\nmine\nc\nd\ne\n", "a\nmine\nc\nd\ne\nup\n")
JSON = tuple(f'{{\n  "a": {a},\n  "b": 1,\n  "c": {c}\n}}\n' for a, c in ((1, 1), (1, 2), (3, 1), (3, 2)))
FILES = {"a.yaml": RESOURCE, "Kptfile": KPTFILE, "values.json": JSON, "run.sh": TEXT, "broken.yaml": TEXT}


def merged_file(path: str, *texts: str | None) -> bytes:
    """The file after the merge; merging again changes nothing."""
    original, upstream, local = ({} if text is None else {path: File(text.encode())} for text in texts)
    after = merge(original, upstream, local, "upstream")
    assert merge(original, upstream, after, "upstream") == after
    return after[path].data


def crlf(text: str, *numbers: int) -> str:
    """The text with CR LF at the end of all lines, or of those with these numbers."""
    lines = text.splitlines()
    return "".join(line + ("\r\n" if not numbers or at in numbers else "\n") for at, line in enumerate(lines))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("theirs", ["\n", "\r\n", "\r"], ids=["from LF", "from CRLF", "from CR"])
@pytest.mark.parametrize("path", FILES)
def test_all_line_ends_are_locals(path: str, theirs: str, end: str) -> None:
    original, upstream, local, expected = FILES[path]
    for before in ("\n", "\r\n"):
        sides = original.replace("\n", before), upstream.replace("\n", theirs), local.replace("\n", end)
        assert merged_file(path, *sides) == expected.replace("\n", end).encode()


@pytest.mark.parametrize("path", FILES)
def test_lines_of_a_mixed_file_keep_their_ends(path: str) -> None:
    original, upstream, local, expected = FILES[path]
    # The lines that upstream adds or changes come behind these.
    for theirs in (upstream, crlf(upstream)):
        assert merged_file(path, original, theirs, crlf(local, 0, 1)) == crlf(expected, 0, 1).encode()
    mostly = range(2, len(expected))
    assert merged_file(path, original, upstream, crlf(local, *mostly)) == crlf(expected, *mostly).encode()


@pytest.mark.parametrize("path", FILES)
def test_upstream_puts_mixed_line_ends_in_order(path: str) -> None:
    original, upstream, local, expected = FILES[path]
    assert merged_file(path, crlf(original, 0), upstream, crlf(local, 0)) == expected.encode()
    assert merged_file(path, crlf(original, 0), crlf(original), crlf(local, 0)) == crlf(local).encode()


@pytest.mark.parametrize("path", FILES)
def test_upstream_alone_changed_line_ends(path: str) -> None:
    original, _, local, _ = FILES[path]
    before, theirs = {path: File(original.encode())}, {path: File(crlf(original).encode())}
    done = merge_trees(before, theirs, before, PackageMerger(Policy()))
    assert done.changes == theirs
    assert [(r.rule, r.message) for r in done.results] == [("W5", f"{path}: line endings only, as in upstream")]
    done = merge_trees(before, theirs, {path: File(local.encode())}, PackageMerger(Policy()))
    assert not done.changes
    assert not list(done.results)


@pytest.mark.parametrize(
    ("path", "original", "upstream", "local", "expected"),
    [
        # In a text that all three mix they are content, as for git; in YAML never.
        ("a.txt", "a\r\nb\nc\nd\n", "a\r\nb\nc\nd\r\n", "x\r\nb\nc\nd\n", "x\r\nb\nc\nd\r\n"),
        ("a.yaml", "a: 1\r\nb: 1\n", "a: 1\nb: 1\r\n", "a: 2\r\nb: 1\n", "a: 2\r\nb: 1\n"),
        # CR inside a line of a text.
        ("a.txt", "a\rb\rc\rd\nb\nc\n", "a\rb\rc\rd\nb\nu\n", "a\rl\rc\rd\nb\nc\n", "a\rl\rc\rd\nb\nu\n"),
        ("a.txt", "a\rb\nc\nd\n", "a\rb\r\nc\r\nu\r\n", "a\rl\nc\nd\n", "a\rl\nc\nu\n"),
        # It ends a line of YAML.
        ("a.yaml", "a: 1\nb: 1\n", "a: 1\rb: 2\rd: 1\n", "a: 2\nb: 1\n", "a: 2\nb: 2\nd: 1\n"),
        # Escaped, it is content.
        ("a.yaml", 'a: "x\\r"\nb: 1\n', 'a: "x\\r"\r\nb: 2\r\n', 'a: "y\\r"\nb: 1\n', 'a: "y\\r"\nb: 2\n'),
        # Local has none.
        ("a.txt", "a", "a\r\nb\r\n", "c", "a\r\nb\r\n"),
        ("a.txt", "", "a\r\nb\r\n", "", "a\r\nb\r\n"),
        # One side added it, or both.
        ("a.yaml", None, "a: 1\r\nb: 2\n", None, "a: 1\r\nb: 2\n"),
        ("a.txt", None, "a\r\nb\r\nc\r\n", "a\nb\n", "a\nb\nc\n"),
        # A binary file is one value.
        ("a.txt", "a\n", "a\r\nb\r\n", "a\0", "a\r\nb\r\n"),
        ("a.txt", "a\r\n", "a\0\r\n", "a\nb\n", "a\0\r\n"),
    ],
)
def test_corners(path: str, original: str | None, upstream: str | None, local: str | None, expected: str) -> None:
    assert merged_file(path, original, upstream, local) == expected.encode()


def test_a_resource_that_comes_to_a_file_has_its_line_ends() -> None:
    first, other = (RESOURCE[0].replace("name: a", f"name: {name}") for name in "bc")
    original = {"a.yaml": File(first.encode()), "b.yaml": File(other.encode())}
    upstream = {"a.yaml": File(f"{first}---\n{other}---\n{RESOURCE[0]}".encode())}
    local = {"a.yaml": File(crlf(first.replace("a: 1", "a: 2")).encode()), "b.yaml": original["b.yaml"]}
    after = merge(original, upstream, local, "upstream")
    assert set(after) == {"a.yaml"}
    assert after["a.yaml"].data.count(b"\r\n") == after["a.yaml"].data.count(b"\n") == 35


def test_markers_have_the_line_ends_of_the_file() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        ours, theirs = (text.replace(b"\n", end) for text in (b"a: 1\nb: 2", b"a: 1\nb: 3\n"))
        expected = b"a: 1\n<<<<<<< ours\nb: 2\n=======\nb: 3\n>>>>>>> theirs\n"
        assert with_markers(ours, theirs, 7) == (expected.replace(b"\n", end), 1)
