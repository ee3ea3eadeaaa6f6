"""Rules V10, R1: which fields are one value on the three sides, and what an image is made of."""

from __future__ import annotations

import pytest

from krm_merge.merge.values import likeness as module
from krm_merge.merge.values.likeness import (
    Match,
    Traits,
    added_under_two_names,
    contested_fields,
    have_same_fields,
    image_repository,
    leaves_of,
    match_by_key,
    match_objects,
    merge_images,
    part_renamed,
    renamed_by_both,
)
from krm_merge.schema import KeyedList
from krm_merge.text.reading.nodes import Entry, Node, SequenceNode
from krm_merge.text.reading.reader import read
from krm_merge.text.reading.scalars import Canonical
from merge.values.deciding import mapping


def fields(text: str) -> dict[Canonical, Entry]:
    return mapping(text).fields


def items(text: str) -> list[Node]:
    root = read(text)
    assert isinstance(root, SequenceNode)
    return list(root.items)


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("a", "a"),
        ("a:1", "a"),
        ("r.io:5000/a", "r.io:5000/a"),
        ("r.io:5000/a:1", "r.io:5000/a"),
        ("r.io/a:1@sha256:2", "r.io/a"),
        ("r.io/a@sha256:2", "r.io/a"),
    ],
)
def test_the_repository_of_an_image(image: str, repository: str) -> None:
    assert image_repository(image) == repository


@pytest.mark.parametrize(
    ("original", "side", "other", "merged"),
    [
        pytest.param("a:1", "a:2", "a:1", "a:2", id="one side's version"),
        pytest.param("a:1", "a:2", "a:2", "a:2", id="one version of both"),
        pytest.param("a:1", "a:2", "a:3", None, id="two versions"),
        pytest.param("r.io/a:1", "m.io/a:1", "n.io/a:1", None, id="two repositories"),
        pytest.param("r.io/a:1", "m.io/a:1", "r.io/a:2", "m.io/a:2", id="another registry, and a version"),
        pytest.param("r.io/a:1", "m.io/p/q/a:1", "r.io/a:2", "m.io/p/q/a:2", id="a path in another registry"),
        pytest.param("r.io/x/a:1", "r.io/y/a:1", "r.io/x/a:2", None, id="a fork in the same registry"),
        pytest.param("r.io/x/a:1", "r.io/y/a:1", "r.io/x/a:1", "r.io/y/a:1", id="a fork alone"),
        pytest.param("r.io/a:1", "r.io/b:1", "r.io/a:2", None, id="another name"),
        pytest.param("r.io/a:1", "m.io/b:1", "r.io/a:2", None, id="another name in another registry"),
        pytest.param("a:1", "b:1", "a:2", None, id="another name without a registry"),
        pytest.param("r.io/a:1", "m.io/b:1", "m.io/b:2", "m.io/b:2", id="one repository of both, and a version"),
        pytest.param("r.io/p/a@s:1", "m.io/q/a@s:1", "r.io/p/a@s:2", None, id="a digest of another path"),
        pytest.param("r.io/p/a@s:1", "m.io/xp/a@s:1", "r.io/p/a@s:2", None, id="a digest of a path that ends alike"),
        pytest.param(
            "r.io/p/a@s:1", "m.io/r.io/p/a@s:1", "r.io/p/a@s:2", "m.io/r.io/p/a@s:2", id="a digest in a mirror"
        ),
        pytest.param("m.io/q/p/a@s:1", "r.io/p/a@s:1", "m.io/q/p/a@s:2", "r.io/p/a@s:2", id="a digest of the mirrored"),
        pytest.param("r.io/a:1", "m.io/a:1", "r.io/a:2 --x", None, id="no image"),
        pytest.param("localhost/a:1", "localhost/p/a:1", "localhost/a:2", None, id="a fork in the local registry"),
        pytest.param("r:5/a:1", "r:5/p/a:1", "r:5/a:2", None, id="a fork in a registry with a port"),
    ],
)
def test_an_image_of_both_sides(original: str, side: str, other: str, merged: str | None) -> None:
    assert merge_images(original, side, other) == merged
    assert merge_images(original, other, side) == merged


VERSION, IMAGE = "both sides changed the version", "one side changed the image, the other its version"


@pytest.mark.parametrize(
    ("original", "side", "other", "why"),
    [
        pytest.param("{n: a, tag: 1}", "{n: a, tag: 2}", "{n: a, tag: 1, digest: d}", VERSION, id="tag and digest"),
        pytest.param("{newTag: 1}", "{newTag: 2}", "{newTag: 1, digest: d}", VERSION, id="new tag and digest"),
        pytest.param("{tag: 1}", "{tag: 2, newTag: x}", "{tag: 2, digest: d}", VERSION, id="one tag, and more of each"),
        pytest.param("{tag: 1}", "{tag: 2}", "{tag: 2, digest: d}", "", id="one tag, and a digest"),
        pytest.param("{tag: 1}", "{tag: 2}", "{tag: 3, digest: d}", "", id="two tags"),
        pytest.param("{}", "{tag: 1, newTag: x}", "{tag: 1, digest: d}", "", id="nothing before"),
        pytest.param(
            "{repository: r.io/a, tag: 1}", "{repository: r.io/b, tag: 1}", "{repository: r.io/a, tag: 2}", IMAGE
        ),
        pytest.param(
            "{repository: r.io/a, tag: 1}",
            "{repository: m.io/a, tag: 1}",
            "{repository: r.io/a, tag: 2}",
            "",
            id="copy",
        ),
        pytest.param(
            "{registry: r.io, name: p/a, tag: 1}",
            "{registry: m.io, name: p/a, tag: 1}",
            "{registry: r.io, name: p/a, tag: 2}",
            "",
            id="a copy, by its registry",
        ),
        pytest.param(
            "{registry: r.io, name: p/a, tag: 1}",
            "{registry: r.io, name: q/a, tag: 1}",
            "{registry: r.io, name: p/a, tag: 2}",
            IMAGE,
            id="another one in the registry",
        ),
        pytest.param(
            "{name: r.io/p/a, digest: d}",
            "{name: m.io/q/a, digest: d}",
            "{name: r.io/p/a, digest: e}",
            IMAGE,
            id="a digest of another path",
        ),
        pytest.param(
            "{name: r.io/p/a, newName: r.io/a, newTag: 1}",
            "{name: r.io/p/a, newName: r.io/b, newTag: 1}",
            "{name: r.io/p/a, newName: r.io/a, newTag: 2}",
            IMAGE,
            id="by its new name",
        ),
        pytest.param(
            "{repository: r.io/a, tag: 1}", "{repository: r.io/b, tag: 2}", "{repository: r.io/a, tag: 1}", "", id="one"
        ),
        pytest.param(
            "{repository: r.io/a, tag: 1}",
            "{repository: r.io/b, tag: 2}",
            "{repository: r.io/b, tag: 1}",
            "",
            id="one repository of both",
        ),
        pytest.param("{n: 1, tag: 1}", "{n: 1, repository: b, tag: 1}", "{n: 1, tag: 2}", "", id="none before"),
        pytest.param("{registry: r.io, tag: 1}", "{registry: m.io, tag: 1}", "{registry: r.io, tag: 2}", "", id="none"),
        pytest.param(
            "{repository: [a], tag: 1}", "{repository: [b], tag: 1}", "{repository: [a], tag: 2}", "", id="no scalars"
        ),
    ],
)
def test_fields_of_an_image_that_are_one_value(original: str, side: str, other: str, why: str) -> None:
    names = {VERSION: {"tag", "newTag", "digest"}, IMAGE: set(module.FIELDS_OF_IMAGES)}.get(why, set())
    for theirs, ours in ((side, other), (other, side)):
        contested, reason = contested_fields([fields(text) for text in (original, theirs, ours)], are_names=False)
        assert (set(contested), reason if contested else "") == (names, why)


TWO_NAMES = "each side has a name of its own for it"
LIKE, UNLIKE = "{x: 1, y: 2, z: 3}", "{v: 8, w: 9}"


@pytest.mark.parametrize(
    ("original", "side", "other", "names", "why"),
    [
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{a: {UNLIKE}, b: {LIKE}}}",
            "{a: {x: 1, y: 2, z: 4}}",
            {"a"},
            "{} has the former a as b, and something else as a",
            id="a name used again",
        ),
        pytest.param(f"{{a: {LIKE}}}", f"{{a: {UNLIKE}, b: {LIKE}}}", f"{{a: {LIKE}}}", set(), "", id="left alone"),
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{a: {UNLIKE}, b: {LIKE}, c: {LIKE}}}",
            "{a: {x: 1, y: 2, z: 4}}",
            set(),
            "",
            id="two like the former one",
        ),
        pytest.param(
            f"{{a: {LIKE}}}", f"{{a: {UNLIKE}, b: {UNLIKE}}}", "{a: {x: 1, y: 2, z: 4}}", set(), "", id="none like it"
        ),
        pytest.param(
            f"{{a: {LIKE}}}",
            "{a: {x: 1, y: 2, z: 5}, b: {x: 1, y: 2, z: 3}}",
            "{a: {x: 1}}",
            set(),
            "",
            id="still alike",
        ),
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{a: {{w: 9}}, b: {LIKE}}}",
            "{a: {x: 1, y: 2, z: 3, w: 9}}",
            set(),
            "",
            id="what the other side has, too",
        ),
        pytest.param("{a: [1, 2, 3]}", "{a: [8], b: [1, 2, 3]}", "{a: [1, 2, 4]}", set(), "", id="a list"),
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{a: {UNLIKE}, b: {LIKE}}}",
            f"{{a: {{x: 1, y: 2, z: 4}}, b: {LIKE}}}",
            set(),
            "",
            id="a name that both added",
        ),
        pytest.param(f"{{a: {LIKE}}}", f"{{a: {UNLIKE}, b: {LIKE}}}", "{}", set(), "", id="removed by the other"),
        pytest.param(
            f"{{a: {LIKE}}}", f"{{a: {UNLIKE}, b: {LIKE}}}", f"{{a: {UNLIKE}}}", set(), "", id="something else on both"
        ),
        pytest.param(
            "{a: {x: 1, y: 2}}", "{a: {x: 1, y: 9}, b: {x: 1, y: 2}}", "{a: {x: 1}}", set(), "", id="half of it still"
        ),
        pytest.param(
            "{a: {x: 1, y: 2}}",
            "{a: {v: 8}, b: {x: 1, y: 3}}",
            "{a: {x: 2, y: 2}}",
            {"a"},
            "{} has the former a as b, and something else as a",
            id="half of it under another name",
        ),
        pytest.param("{a: [1, 2, 3]}", "{b: [1, 2, 3]}", "{a: [3, 2, 1]}", set(), "", id="in another order"),
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{b: {LIKE}}}",
            f"{{c: {LIKE}}}",
            {"b", "c"},
            "both renamed a",
            id="renamed by both",
        ),
        pytest.param(f"{{a: {LIKE}}}", f"{{b: {LIKE}}}", f"{{a: {LIKE}}}", set(), "", id="renamed by one"),
        pytest.param(
            f"{{a: {LIKE}}}", f"{{b: {LIKE}}}", "{a: {x: 1, y: 2}}", {"a"}, "one side renamed a to b", id="made smaller"
        ),
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{b: {LIKE}}}",
            f"{{a: {{x: 1, y: 2}}, b: {LIKE}}}",
            {"a"},
            "one side renamed a to b",
            id="made smaller beside the new name",
        ),
        pytest.param(
            f"{{a: {LIKE}}}",
            f"{{b: {LIKE}}}",
            "{a: {x: 1, y: 2}, b: {x: 1}}",
            set(),
            "",
            id="made smaller beside something else of the new name",
        ),
        pytest.param(
            f"{{a: {LIKE}}}", f"{{b: {LIKE}}}", "{a: {x: 1, y: 2, z: 4}}", set(), "", id="changed, not made smaller"
        ),
        pytest.param(f"{{a: {LIKE}}}", f"{{b: {UNLIKE}}}", "{a: {x: 1, y: 2}}", set(), "", id="another added"),
        pytest.param("{a: 1}", "{b: 1}", "{c: 1}", set(), "", id="scalars renamed by both"),
        pytest.param(
            "{a: 1}",
            f"{{a: 1, db: {LIKE}}}",
            "{a: 1, mainDb: {x: 1, y: 2, z: 4}}",
            {"db", "mainDb"},
            TWO_NAMES,
            id="added under two names",
        ),
        pytest.param("{}", "{db: 1}", "{mainDb: 1}", set(), "", id="scalars added under two names"),
    ],
)
def test_names_that_are_one_value(original: str, side: str, other: str, names: set[str], why: str) -> None:
    for at, sides in enumerate(((side, other), (other, side))):
        of_sides = [fields(text) for text in (original, *sides)]
        contested, reason = contested_fields(of_sides, are_names=True)
        assert set(contested) == names
        if why == TWO_NAMES:
            added = ("db", "mainDb") if at == 0 else ("mainDb", "db")
            assert reason == module.UNDER_TWO_NAMES.format(*added)
        elif names:
            assert reason == why.format(("upstream", "local")[at])
        # Names that a schema gives are nobody's to choose, but what is all the same under another one moved there.
        moves = "renamed" in why
        assert set(contested_fields(of_sides, are_names=False)[0]) == (names if moves else set())
        like = fields(original.replace("3", "4"))
        assert not contested_fields([like, *of_sides[1:]], are_names=False)[0]


@pytest.mark.parametrize(
    ("upstream", "local", "pairs"),
    [
        ("{db: {x: 1}}", "{mainDb: {x: 1}}", [("db", "mainDb")]),
        ("{mainDb: {x: 1}}", "{db: {x: 1}}", [("mainDb", "db")]),
        ("{dbs: {x: 1}}", "{db: {x: 1}}", [("dbs", "db")]),
        ("{main-db: {x: 1}}", "{main_db: {x: 1}}", [("main-db", "main_db")]),
        ("{db: {x: 1, y: 1}}", "{mainDb: {x: 1, y: 2}}", [("db", "mainDb")]),
        ("{db: {x: 1}}", "{cache: {x: 1}}", []),
        ("{db: {x: 1}}", "{mainDb: {y: 1}}", []),
        ("{a1: {x: 1}}", "{a2: {x: 1}}", []),
        # Names without words say nothing.
        ("{_: {x: 1}}", "{db: {x: 1}}", []),
        ("{db: {x: 1}}", "{_: {x: 1}}", []),
        ("{}", "{db: {x: 1}}", []),
        ("{db: {x: 1}}", "{}", []),
        (
            "{db: {x: 1}, cache: {y: 1}}",
            "{newCache: {y: 1}, mainDb: {x: 1}}",
            [("db", "mainDb"), ("cache", "newCache")],
        ),
    ],
)
def test_one_thing_added_under_two_names(
    upstream: str, local: str, pairs: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = [{key: entry.value for key, entry in fields(text).items()} for text in (upstream, local)]
    assert added_under_two_names(sides[0], sides[1]) == pairs
    compared = len(sides[0]) * len(sides[1])
    monkeypatch.setattr(module, "MOST_COMPARED", compared)
    assert added_under_two_names(sides[0], sides[1]) == pairs
    monkeypatch.setattr(module, "MOST_COMPARED", compared - 1)
    assert added_under_two_names(sides[0], sides[1]) == []


def test_too_many_fields_are_not_compared_for_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = [fields(text) for text in (f"{{a: {LIKE}, b: [1]}}", f"{{c: {LIKE}}}", "{a: {x: 1, y: 2}, b: [2]}")]
    monkeypatch.setattr(module, "MOST_COMPARED", 2)
    assert contested_fields(sides, are_names=True) == ({"a": "c"}, "one side renamed a to c")
    monkeypatch.setattr(module, "MOST_COMPARED", 1)
    assert not contested_fields(sides, are_names=True)[0]


@pytest.mark.parametrize(
    ("original", "upstream", "local", "names"),
    [
        pytest.param(
            "{a: {x: 1, y: 2}, k: 1}", "{b: {x: 1}, k: 1}", "{b: {x: 1}, k: 1}", ["b", "k"], id="renamed alike"
        ),
        pytest.param("{a: {x: 1}}", "{b: {y: 1}}", "{b: {x: 1}}", ["b"], id="like what one side has"),
        pytest.param("{a: {x: 1}}", "{b: {y: 1}}", "{b: {z: 1}}", ["a"], id="like neither"),
        pytest.param("{a: 1}", "{b: 1}", "{b: 1}", ["a"], id="a scalar"),
        pytest.param("{a: {x: 1}}", "{b: {x: 1}}", "{c: {x: 1}}", ["a"], id="two names"),
        pytest.param("{a: {x: 1}}", "{b: {x: 1}, c: 1}", "{b: {x: 1}, c: 1}", ["b"], id="and another new one"),
        pytest.param("{a: {x: 1}, d: 1}", "{b: {x: 1}}", "{b: {x: 1}}", ["b", "d"], id="and another gone"),
        pytest.param(
            "{a: {x: 1, y: 1}}", "{b: {x: 1}, c: {x: 1, y: 1}}", "{b: {x: 1}}", ["a"], id="upstream has a better match"
        ),
        pytest.param(
            "{a: {x: 1}, d: {x: 1, y: 1}}", "{b: {x: 1, y: 1}}", "{b: {x: 1}}", ["a", "b"], id="the best match"
        ),
        pytest.param("{a: {x: 1}, d: {x: 1}}", "{b: {x: 1}}", "{b: {x: 1}}", ["b", "d"], id="two equal ones"),
        pytest.param("{a: {x: 1}}", "{a: {x: 1}, b: {x: 1}}", "{b: {x: 1}}", ["a"], id="left by upstream"),
        pytest.param("{a: {x: 1}}", "{b: {x: 1}}", "{a: {x: 1}, b: {x: 1}}", ["a"], id="left by local"),
        pytest.param("{a: {x: 1}}", "{b: {x: 1}, u: 1}", "{b: {x: 1}, l: 1}", ["b"], id="and others of each"),
    ],
)
def test_a_field_that_both_renamed_alike(original: str, upstream: str, local: str, names: list[str]) -> None:
    assert [*renamed_by_both(fields(original), fields(upstream), fields(local))] == names


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("{a: 1, b: {c: 2}}", "{b: {c: 3}, a: x}", True),
        ("{a: 1}", "{a: 1, b: 1}", False),
        ("{a: [1, 2]}", "{a: [1]}", False),
        ("{a: 1}", "[1]", False),
        ("[1]", "{a: 1}", False),
        ("[1]", "[1]", False),
        ("{}", "[]", False),
        ("[]", "{}", False),
    ],
)
def test_mappings_with_values_at_the_same_paths(first: str, second: str, expected: bool) -> None:
    nodes = [read(text) for text in (first, second)]
    assert nodes[0] is not None
    assert nodes[1] is not None
    assert have_same_fields(nodes[0], nodes[1]) is expected


@pytest.mark.parametrize(
    ("text", "leaves", "by_lines"),
    [
        ("{a: 1, b: [x, {c: y}]}", "a=1 b.*=x b.*.c=y", "a=1 b.*=x b.*.c=y"),
        ("{a: {}, b: []}", "a={} b=[]", "a={} b=[]"),
        ('{a: "p\\n\\n q\\n"}', "a=p\n\n q\n", "a=p a= q"),
        ('{a: "p\\n"}', "a=p\n", "a=p\n"),
        ("x", "", ""),
    ],
)
def test_leaves_of_a_value(text: str, leaves: str, by_lines: str) -> None:
    def words(by_lines: bool) -> str:
        node = read(text)
        assert node is not None
        return " ".join(
            ".".join(step if isinstance(step, str) else "*" for step in path)
            + "="
            + (value if isinstance(value, str) else {"map": "{}", "seq": "[]"}.get(str(value[0]), str(value[-1])))
            for path, value in leaves_of(node, by_lines=by_lines)
        )

    assert words(False) == leaves
    assert words(True) == by_lines


def test_usual_leaves_do_not_count() -> None:
    usual = frozenset(leaves_of(mapping("{a: 1, b: 2}")))
    assert Traits(mapping("{a: 1, c: 1}"), usual).likeness(Traits(mapping("{b: 2, c: 1}"), usual)) == 1
    assert Traits(mapping("{a: 1}"), usual).likeness(Traits(mapping("{b: 2}"), usual)) == 0
    assert Traits(mapping("{a: 1}"), usual).likeness(Traits(mapping("{a: 1}"), usual)) == 1
    assert Traits(mapping("{a: [p q, {b: q r}], c: 1}")).words == {"p", "q", "r"}


def places(matches: list[Match] | None) -> set[str] | None:
    """Each element by its places in original, upstream and local: `0-2` stands first, nowhere, third."""
    return None if matches is None else {"".join("-" if at is None else str(at) for at in m.places) for m in matches}


KEYS = KeyedList(("port", "protocol"), (("protocol", "TCP"),))


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param("[{port: 1}]", "[{port: 2}, {port: 1}]", "[{port: 1}]", {"010", "-0-"}, id="by its keys"),
        pytest.param("[{port: 1}]", "[{port: 1, protocol: TCP}]", "[{port: 1, protocol: null}]", {"000"}, id="default"),
        pytest.param("[{port: 1}]", "[{port: 1, protocol: UDP}]", "[{port: 1}]", {"0-0", "-0-"}, id="another key"),
        pytest.param("[{port: 1}, {port: 1}]", "[]", "[]", None, id="a key twice"),
        pytest.param("[a]", "[]", "[]", None, id="an element without fields"),
        pytest.param(
            "[{port: 1, name: a}]", "[{port: 2, name: a}]", "[{port: 1, name: a}]", {"000"}, id="one name, another key"
        ),
        pytest.param(
            "[{port: 1, name: a}]", "[{port: 2, name: b}]", "[{port: 1, name: a}]", {"0-0", "-0-"}, id="another name"
        ),
        pytest.param("[{port: 1}]", "[{port: 2}]", "[{port: 1}]", {"0-0", "-0-"}, id="without a name"),
        pytest.param(
            "[{port: 1, name: a}]",
            "[{port: 2, name: a}, {port: 3, name: a}]",
            "[{port: 1, name: a}]",
            {"0-0", "-0-", "-1-"},
            id="a name there twice",
        ),
        pytest.param(
            "[{port: 1, name: a}]",
            "[{port: 2, name: a}]",
            "[{port: 3, name: a}]",
            {"000"},
            id="one name, two other keys",
        ),
        pytest.param(
            "[{port: 1, name: a}]",
            "[{port: 1, name: b}, {port: 2, name: a}]",
            "[{port: 1, name: a}]",
            {"000", "-1-"},
            id="a key with two names",
        ),
    ],
)
def test_elements_of_one_key(original: str, upstream: str, local: str, expected: set[str] | None) -> None:
    matches = match_by_key([items(original), items(upstream), items(local)], KEYS)
    assert places(matches) == expected


def test_a_path_names_an_element_as_local_has_it() -> None:
    def steps(*sides: str) -> list[object]:
        return [match.step for match in match_by_key([items(side) for side in sides], KEYS) or []]

    moved = ["[{port: 1, name: a}]", "[{port: 2, name: a}]"]
    assert steps(*moved, "[{port: 3, name: a}]") == [(("port", "3"),)]
    assert steps(*moved, "[]") == [(("port", "1"),)]
    assert steps(moved[0], moved[1], moved[0]) == [(("port", "1"),)]
    assert steps("[]", "[]", "[{a: 1}]") == [0]


def test_objects_of_one_identity() -> None:
    def objects(*names: str) -> list[Node]:
        return items("[" + ", ".join(f"{{kind: A, apiVersion: v1, metadata: {{{name}}}}}" for name in names) + "]")

    sides = [objects("name: a", "name: b"), objects("name: b", "name: a"), objects("name: a", "name: a")]
    assert places(match_objects(sides)) == {"010", "10-", "--1"}
    sides = [objects("generateName: a"), objects("generateName: b", "generateName: a"), objects("generateName: a")]
    assert places(match_objects(sides)) == {"010", "-0-"}
    assert match_objects([items("[a]"), [], []]) is None


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        # Between two others, both sides put one in the place of one that a side has elsewhere.
        pytest.param(["000", "1-3", "222", "-11"], ["000", "--3", "222", "111"], id="renamed by both, left by local"),
        pytest.param(
            ["000", "1-3", "222", "-11", "-3-", "--4"],
            ["000", "--3", "222", "111", "-3-", "--4"],
            id="renamed by both, and others added",
        ),
        pytest.param(
            ["000", "13-", "222", "-11"], ["000", "-3-", "222", "111"], id="renamed by both, left by upstream"
        ),
        pytest.param(["000", "1--", "222", "-11"], ["000", "1--", "222", "-11"], id="left by neither"),
        pytest.param(["000", "1-2", "-11"], ["000", "1-2", "-11"], id="at the end"),
        pytest.param(["000", "1-3", "222", "-12"], ["000", "1-3", "222", "-12"], id="in other places"),
        pytest.param(["000", "1-1", "222"], ["000", "1-1", "222"], id="nothing new"),
    ],
)
def test_an_element_that_both_renamed(matches: list[str], expected: list[str]) -> None:
    def match(text: str) -> Match:
        at = [None if place == "-" else int(place) for place in text]
        return Match(at[0], at[1], at[2], 0, is_addition=at[0] is None)

    parted = part_renamed([match(text) for text in matches])
    assert ["".join("-" if at is None else str(at) for at in m.places) for m in parted] == expected
    assert not any(m.is_addition for m in parted if m.original is not None)
