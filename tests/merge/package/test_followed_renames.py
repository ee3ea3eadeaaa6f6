"""Rules R1, R9: which resources under two names are one, by what they hold, where they are and what each side did.

A resource is written `file kind name fields`: of the fields `a`, `b`, ... each has the sign at its place, `=` is one
without fields; `x#1` is the second document of a file, `a@n` in a namespace, `~a` a generated name. A triple has the
resource in original, upstream and local, `-` where a side has none.
"""

from __future__ import annotations

import pytest

from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.decision import Member
from krm_merge.merge.package import renames
from krm_merge.merge.package.renames import follow_renames, moved_files
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read


def member(text: str, index: int = 0) -> Member:
    file, kind, name, signs, *image = text.split(" ")
    file, _, place = file.partition("#")
    name, _, namespace = name.partition("@")
    group, _, kind = kind.rpartition("/")
    named = f"generateName: {name[1:]}" if name.startswith("~") else f"name: {name}"
    lines = [f"apiVersion: {group + '/' if group else ''}v1", f"kind: {kind}", "metadata:", f"  {named}"]
    lines += [f"  namespace: {namespace}"] if namespace else []
    lines += [f"{field}: '{sign}'" for field, sign in zip("abcdefgh", signs.strip("="), strict=False)]
    lines += [f"image: {name}" for name in image]
    root = read("\n".join(lines) + "\n")
    assert isinstance(root, MappingNode)
    return Member(file, identity_of(root), root, file, int(place or index))


def name_of(resource: Member | None) -> str:
    return "-" if resource is None else resource.identity.name or f"~{resource.generate_name}"


def follow(triples: list[str], moved: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The names in each triple afterwards, and what may have become what."""
    rows = []
    for at, triple in enumerate(triples):
        sides = [None if text == "-" else member(text, at) for text in triple.split(" | ")]
        rows.append((sides[0], sides[1], sides[2]))
    followed, likely = follow_renames(rows, lambda: [{}, moved, moved])
    names = {id(row[0]): name_of(row[0]) for row in rows}
    return (
        [" ".join(map(name_of, row)) for row in followed],
        {names[old]: name_of(new) for old, new in likely.items()},
    )


@pytest.mark.parametrize(
    ("triples", "moved", "expected", "likely"),
    [
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | x A b 123 | -"],
            {},
            ["a b a"],
            {},
            id="renamed by upstream",
        ),
        pytest.param(
            ["x A a 123 | x A a 123 | -", "- | - | x A b 123"],
            {},
            ["a a b"],
            {},
            id="renamed by local",
        ),
        pytest.param(
            ["x A a 1234 | - | x A a 1234", "- | x A b 1239 | -"],
            {},
            ["a b a"],
            {},
            id="renamed and changed a little",
        ),
        pytest.param(
            ["x A a 12 | - | x A a 12", "- | x A b 13 | -"],
            {},
            ["a b a"],
            {},
            id="half of it",
        ),
        pytest.param(
            ["x A a 1234 | - | x A a 1234", "- | x A b 1999 | -"],
            {},
            ["a - a", "- b -"],
            {},
            id="hardly alike",
        ),
        pytest.param(
            ["x A a 1234567 | - | x A a 1234560", "- | x A b 8999567 | -"],
            {},
            ["a b a"],
            {},
            id="hardly alike, but both changed other lines",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | y A b 123 | -"],
            {},
            ["a - a", "- b -"],
            {"a": "b"},
            id="in another file",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | y A b 123 | -"],
            {"y": "x"},
            ["a b a"],
            {},
            id="in a moved file",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | x A b 123 | -", "- | x A c 999 | -"],
            {},
            ["a b a", "- c -"],
            {},
            id="two new ones, one alike",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | x A b 124 | -", "- | x A c 125 | -"],
            {},
            ["a - a", "- b -", "- c -"],
            {"a": "b"},
            id="two new ones, as much alike",
        ),
        pytest.param(
            ["x A a 1234 | - | x A a 1234", "- | x A b 1235 | -", "- | x A c 1255 | -"],
            {},
            ["a b a", "- c -"],
            {},
            id="two new ones, one more alike",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "x A c 129 | - | x A c 129", "- | x A b 123 | -"],
            {},
            ["a b a", "c - c"],
            {},
            id="two gone, one new",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 124", "x A c 123 | - | x A c 124", "- | x A b 523 | -", "- | x A d 523 | -"],
            {},
            ["a b a", "c d c"],
            {},
            id="two of one text, in turn",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | x B b 123 | -"],
            {},
            ["a - a", "- b -"],
            {},
            id="another kind",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | x B a 123 | -"],
            {},
            ["a a a"],
            {},
            id="another kind, one name",
        ),
        pytest.param(
            ["x g/A a 123 | - | x g/A a 123", "- | x h/A a 123 | -"],
            {},
            ["a a a"],
            {},
            id="another group, one name",
        ),
        pytest.param(
            ["x A a 1234567 | - | x A a 1234560", "- | x B b 1234567 | -"],
            {},
            ["a b a"],
            {},
            id="another kind alone in the file, merging by lines",
        ),
        pytest.param(
            ["x A a 123 redis:1 | - | x A a 123 redis:1", "- | x A b 123 memcached:1 | -"],
            {},
            ["a - a", "- b -"],
            {"a": "b"},
            id="another image",
        ),
        pytest.param(
            ["x A a 123 r.io/redis:1 | - | x A a 123 r.io/redis:1", "- | x A b 123 m.io/redis:2 | -"],
            {},
            ["a b a"],
            {},
            id="the same image in another version",
        ),
        pytest.param(
            ["x A a = | - | x A a =", "- | x g/A a = | -"],
            {},
            ["a a a"],
            {},
            id="empty ones with one name",
        ),
        pytest.param(
            ["x A a = | - | x A a =", "- | x A b = | -"],
            {},
            ["a b a"],
            {},
            id="empty ones with two names",
        ),
        pytest.param(
            ["x A a 123 | - | -", "- | x A b 123 | -", "- | - | x A c 123"],
            {},
            ["a - c", "- b -"],
            {},
            id="renamed by both to two names",
        ),
        pytest.param(
            ["x A a 123 | - | -", "- | x A b 123 | x A b 123"],
            {},
            ["a b b"],
            {},
            id="renamed by both alike",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | x A b 123 | x A b 129"],
            {},
            ["a - a", "- b b"],
            {"a": "b"},
            id="local has both",
        ),
        pytest.param(
            ["- | x g/A a 123 | -", "- | - | x h/A a 123"],
            {},
            ["- a a"],
            {},
            id="added by both in two groups",
        ),
        pytest.param(
            ["- | x g/A a 123 | -", "- | - | x h/A a 999"],
            {},
            ["- a -", "- - a"],
            {},
            id="added by both in two groups, unlike",
        ),
        pytest.param(
            ["- | x g/A a 123 redis:1 | -", "- | - | x h/A a 123 memcached:1"],
            {},
            ["- a -", "- - a"],
            {},
            id="added by both in two groups, two images",
        ),
        pytest.param(
            ["- | x g/A a 123 | -", "- | - | y h/A a 123"],
            {},
            ["- a -", "- - a"],
            {},
            id="added by both in two files",
        ),
        pytest.param(
            ["- | x A a 123 | -", "- | - | x A b 123"],
            {},
            ["- a -", "- - b"],
            {},
            id="added by both with two names",
        ),
        pytest.param(
            ["x A a 123 | - | -", "- | x A b 123 | -"],
            {},
            ["a - -", "- b -"],
            {},
            id="removed by both, added elsewhere by upstream",
        ),
        pytest.param(
            ["x A a 1234 | - | x A a 1234", "- | x A b 1234 | -", "- | x B a 1239 | -"],
            {},
            ["a a a", "- b -"],
            {},
            id="kept its name in another kind",
        ),
        pytest.param(
            ["x A a 1111 | - | x A a 2222", "- | x A b 2221 | -"],
            {},
            ["a b a"],
            {},
            id="resembles what local made of it",
        ),
        pytest.param(
            ["x A a 123 | x A b 123 | x A a 123", "- | y A b 777 | -", "- | - | y A a 888"],
            {},
            ["a b a", "- b a"],
            {},
            id="added by both under a name that one side renamed",
        ),
        pytest.param(
            ["x A a 123 | x A b 123 | x A a 123", "- | y A c 777 | -", "- | - | y A a 888"],
            {},
            ["a b a", "- c -", "- - a"],
            {},
            id="added by both under other names",
        ),
        pytest.param(
            ["x A a 123 | x A a 123 | x A b 123", "- | y A a 777 | -", "- | - | y A b 888"],
            {},
            ["a a b", "- a b"],
            {},
            id="added by both under a name that local renamed",
        ),
        pytest.param(
            ["x A a 123 | x A b 123 | x A a 123", "- | y A b 777 | -", "- | - | z A a 888"],
            {},
            ["a b a", "- b -", "- - a"],
            {},
            id="added to two files under a name that one side renamed",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 124", "x A c 123 | - | x A c 124", "- | x A b 523 | -"],
            {},
            ["a - a", "c - c", "- b -"],
            {"a": "b", "c": "b"},
            id="three alike, gone and new in turn",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "x A c 99 | - | x A c 99", "- | x B b 123 | -", "- | x A d 88 | -"],
            {},
            ["a - a", "c - c", "- b -", "- d -"],
            {},
            id="another kind, alike",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "- | y A b 123 | -", "- | y A a 129 | -"],
            {},
            ["a - a", "- b -", "- a -"],
            {"a": "b"},
            id="another name in another file, one name there, too",
        ),
        pytest.param(
            ["x A a 123 | - | x A a 123", "z A b 5 | z A b 5 | z A b 5", "- | y A b 123 | -"],
            {},
            ["a - a", "b b b", "- b -"],
            {},
            id="another file where the name is known",
        ),
        pytest.param(
            ["x A a = | - | x A a =", "- | x A b = | -", "- | x A c = | -"],
            {},
            ["a - a", "- b -", "- c -"],
            {"a": "b"},
            id="with metadata alone",
        ),
    ],
)
def test_what_is_one_resource(
    triples: list[str], moved: dict[str, str], expected: list[str], likely: dict[str, str]
) -> None:
    assert follow(triples, moved) == (expected, likely)


@pytest.mark.parametrize(
    ("triples", "expected", "likely"),
    [
        pytest.param(["x A a 123 | x A a 123 | x A a 123", "- | x A b 123 | -"], ["a a a", "- b -"], {}, id="a copy"),
        pytest.param(
            ["x A a 123 | - | x A a 123", "x A b 123 | x A b 123 | x A b 123"], ["a - a", "b b b"], {}, id="one of two"
        ),
        pytest.param(["x A a 123 | - | -", "- | y A b 123 | y A b 123"], ["a - -", "- b b"], {}, id="moved by both"),
        pytest.param(
            ["x A a 12 | - | x A a 12", "- | y A b 13 | -"], ["a - a", "- b -"], {"a": "b"}, id="half of it elsewhere"
        ),
        pytest.param(
            ["x g/A a 123 | x g/A a 123 | x g/A a 123", "- | - | x h/A a 123"],
            ["a a a", "- - a"],
            {},
            id="a second group of local",
        ),
        pytest.param(
            ["x g/A a 123 | x g/A a 123 | x g/A a 123", "- | x h/A a 123 | -"],
            ["a a a", "- a -"],
            {},
            id="a second group of upstream",
        ),
        pytest.param(["- | x g/A a 12 | -", "- | - | x h/A a 13"], ["- a a"], {}, id="half of it added in two groups"),
        pytest.param(["x A a@p = | - | x A a@p =", "- | x A a@q = | -"], ["a a a"], {}, id="in another namespace"),
        pytest.param(
            ["x A a@p 123 | - | x A a@p 123", "- | x A a@q 999 | -"],
            ["a - a", "- a -"],
            {},
            id="in another namespace, unlike",
        ),
        pytest.param(
            ["x A a 1234567 | - | x A a 1234560", "- | x A b 8999567 | -", "- | x A c 999 | -"],
            ["a - a", "- b -", "- c -"],
            {},
            id="hardly alike, and another candidate",
        ),
        pytest.param(["- | x g/A ~a 12 | -", "- | - | x h/A ~a 13"], ["- ~a ~a"], {}, id="generated names added"),
        pytest.param(
            ["- | x g/A ~a 12 | -", "- | - | x h/A ~b 13"], ["- ~a -", "- - ~b"], {}, id="other generated names added"
        ),
        pytest.param(["x#0 A a 123 | - | -", "- | x#0 A b 123 | -"], ["a b -"], {}, id="in its place in the file"),
        pytest.param(["x#0 A a 123 | - | -", "- | x#1 A b 123 | -"], ["a - -", "- b -"], {}, id="in another place"),
        pytest.param(["x#0 A a 123 | - | -", "- | - | x#1 A b 123"], ["a - b"], {}, id="renamed by local elsewhere"),
    ],
)
def test_what_is_one_resource_and_what_is_another(
    triples: list[str], expected: list[str], likely: dict[str, str]
) -> None:
    assert follow(triples, {}) == (expected, likely)


def test_files_are_looked_for_only_where_something_may_be_a_rename() -> None:
    def places() -> list[dict[str, str]]:
        raise AssertionError("asked")

    for triple in ("x A a 123 | - | x A a 123", "- | x A b 123 | -"):
        sides = [None if text == "-" else member(text) for text in triple.split(" | ")]
        row = sides[0], sides[1], sides[2]
        assert follow_renames([row], places) == ([row], {})


@pytest.mark.parametrize(("limit", "expected"), [(4, ["a b a", "- c -"]), (3, ["a - a", "- b -", "- c -"])])
def test_of_many_new_resources_only_those_of_one_name_are_looked_at(
    limit: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renames, "MOST_CANDIDATES", limit)
    assert follow(["x A a 123 | - | x A a 123", "- | x A b 123 | -", "- | x A c 999 | -"], {})[0] == expected
    assert follow(["x A a 123 | - | x A a 123", "- | x B a 123 | -", "- | x A c 999 | -"], {})[0] == ["a a a", "- c -"]


@pytest.mark.parametrize(
    ("original", "side", "elsewhere", "expected"),
    [
        pytest.param("x A a 123", "y A a 123", "x", {"y": "x"}, id="moved"),
        pytest.param("x A a 12", "y A a 13", "x", {"y": "x"}, id="moved, half of it as it was"),
        pytest.param("x A a 1234567", "y A a 1999999", "x", {}, id="hardly alike"),
        pytest.param("x A a 123", "y A b 123", "x", {}, id="another name"),
        pytest.param("x A a 123", "y B a 123", "x", {}, id="another kind"),
        pytest.param("x A a 123", "y A a 123", "xy", {}, id="the other side has both files"),
        pytest.param("x A a 123", "y A a 123", "y", {"y": "x"}, id="the other side has the new one"),
        pytest.param("x A a 123", "x A a 123 | y A a 123", "x", {}, id="copied"),
        pytest.param("x A a 123 | y A a 123", "y A a 123", "x", {}, id="removed beside another"),
        pytest.param("x A a 123 | x A b 456", "y A b 456 | y A a 123", "x", {"y": "x"}, id="several resources"),
        pytest.param("x A a 123 | x A b 456", "y A a 123", "x", {}, id="not all of it"),
        pytest.param("x A a 123", "y A a 123 | z A a 123", "x", {}, id="two that are as much alike"),
        pytest.param("x A a 123", "y A a 123 | z A a 124", "x", {"y": "x"}, id="the one that is more alike"),
        pytest.param("x A a 123 | y A a 124", "z A a 124", "", {"z": "y"}, id="of two the one that is more alike"),
    ],
)
def test_files_that_a_side_moved(original: str, side: str, elsewhere: str, expected: dict[str, str]) -> None:
    before, after = ([member(text) for text in members.split(" | ")] for members in (original, side))
    files = [{each.place for each in members} for members in (before, after)]
    assert moved_files(before, after, files[0], files[1], elsewhere) == expected
