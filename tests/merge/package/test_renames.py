"""Rule R1: files that moved as a whole, resources that were renamed, and names that stand in several files.

Resources are words: `f:Kind/name=x` is in the file f with the content x, `~name` has a generateName, `space@name` a
namespace. What is expected names each resource by its places in original, upstream and local: `0-2` is first, missing,
third.
"""

from __future__ import annotations

import pytest

from krm_merge import merge_packages
from krm_merge.krm.identity import identity_of
from krm_merge.merge.decisions.decision import Member
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package import renames
from krm_merge.merge.package.renames import moved_files
from krm_merge.merge.package.resources import Folders, match_resources
from krm_merge.merge.values.likeness import likeness
from krm_merge.text.reading.nodes import MappingNode, Node
from krm_merge.text.reading.reader import read

CONTENT = {
    "x": "a: 1, b: 2, c: 3, d: 4",
    "y": "a: 1, b: 2, c: 3, d: 5",
    "z": "q: 7, r: 8",
    "v": "a: 1, b: 2, c: 3",
    "w": "a: 1, b: 8, c: 9",
    "p": "a: 1, b: 2",
    "q": "a: 1, b: 9",
}


def side(text: str) -> list[Member]:
    """A side in words: `f:Kind/name=x` is a resource in the file f with the content x; `~name` is generated."""
    return [member(word, index) for index, word in enumerate(text.split())]


def member(word: str, index: int) -> Member:
    place, _, rest = word.partition(":")
    kind, _, rest = rest.partition("/")
    name, _, content = rest.partition("=")
    field = "generateName" if name.startswith("~") else "name"
    namespace, _, name = name.lstrip("~").rpartition("@")
    metadata = f"{field}: {name}" + (f", namespace: {namespace}" if namespace else "")
    root = read(f"apiVersion: v1\nkind: {kind}\nmetadata: {{{metadata}}}\ndata: {{{CONTENT[content or 'x']}}}\n")
    assert isinstance(root, MappingNode)
    return Member(place, identity_of(root), root, place, index)


def match(original: str, upstream: str, local: str) -> set[str]:
    """The resources as the places in each side that they have: `0-2` stands first, nowhere, third."""
    matches = match_resources(side(original), side(upstream), side(local), Folders([], Policy()))
    return {"".join("-" if m is None else str(m.index) for m in triple) for triple in matches.triples}


def likely(original: str, upstream: str, local: str) -> list[tuple[str, str]]:
    """The renames that may be, by the names."""
    sides = [side(text) for text in (original, upstream, local)]
    renames_by_id = match_resources(sides[0], sides[1], sides[2], Folders([], Policy())).likely_renames
    return [(m.identity.name, renames_by_id[id(m)].identity.name) for m in sides[0] if id(m) in renames_by_id]


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        pytest.param("f:A/a", "f:A/a", "f:A/a", {"000"}, id="one name"),
        pytest.param("f:A/a", "g:A/a", "h:A/a", {"000"}, id="one name in other files"),
        pytest.param("f:A/a f:B/a=z", "f:B/a=z f:A/a", "f:A/a", {"010", "10-"}, id="other kinds"),
        pytest.param("f:A/a", "f:A/b=y", "f:A/a", {"000"}, id="upstream renamed it"),
        pytest.param("f:A/a", "f:A/a=y", "f:A/b", {"000"}, id="local renamed it"),
        pytest.param("f:A/a", "f:A/b", "f:A/b=y", {"000"}, id="both renamed it alike"),
        pytest.param("f:A/a", "f:A/b", "f:A/c", {"000"}, id="both renamed it"),
        pytest.param("f:A/a", "f:A/b", "", {"00-"}, id="local removed what upstream renamed"),
        pytest.param("f:A/a", "", "f:A/b", {"0-0"}, id="upstream removed what local renamed"),
        pytest.param("f:A/a", "f:A/n@a=y", "f:A/a", {"000"}, id="another namespace"),
        pytest.param("f:A/a", "f:A/n@a=z", "f:A/a", {"0-0", "-0-"}, id="another namespace, not alike"),
        pytest.param("f:A/a", "f:B/a=y", "f:A/a", {"000"}, id="another kind"),
        pytest.param("f:A/a", "f:A/b=z", "f:A/a", {"0-0", "-0-"}, id="not alike"),
        pytest.param("f:A/a=p", "f:A/b=q", "f:A/a=p", {"000"}, id="half alike"),
        pytest.param("f:A/a=p", "f:A/b=q f:A/c=q", "f:A/a=p", {"0-0", "-0-", "-1-"}, id="half alike, twice"),
        pytest.param("f:A/a=v", "f:A/b=w", "f:A/a=v", {"0-0", "-0-"}, id="alike by metadata that is only a name"),
        pytest.param("f:A/a", "g:A/b", "f:A/a", {"0-0", "-0-"}, id="renamed in another file"),
        pytest.param("f:A/a", "f:B/b", "f:A/a", {"0-0", "-0-"}, id="another kind and name"),
        pytest.param("f:A/a", "f:A/b f:A/c", "f:A/a", {"0-0", "-0-", "-1-"}, id="two candidates"),
        pytest.param("f:A/a f:A/b", "f:A/c", "f:A/a f:A/b", {"0-0", "1-1", "-0-"}, id="two that it may have been"),
        pytest.param("f:A/a f:A/b=y", "f:A/c f:A/d=z", "f:A/a f:A/b=y", {"000", "1-1", "-1-"}, id="the nearer one"),
        pytest.param("f:A/a", "f:A/a f:A/b", "f:A/a", {"000", "-1-"}, id="a copy"),
        pytest.param("f:A/~a f:A/~b", "f:A/~b f:A/~a", "f:A/~a=y", {"010", "10-"}, id="generated names"),
        pytest.param(
            "f:A/~a f:A/~b=z", "f:A/~a=z f:A/~b", "f:A/~a=z", {"000", "11-"}, id="generated, contents changed"
        ),
        pytest.param("f:A/a=z f:A/a", "f:A/a=y", "f:A/a=z f:A/a", {"0-0", "101"}, id="twice in a file, one removed"),
        pytest.param("f:A/a g:A/a=y", "f:A/a=z g:A/a=y", "f:A/a", {"000", "11-"}, id="one name in two files"),
        pytest.param("f:A/a", "f:A/a=y", "f:A/a g:A/a=z", {"000", "--1"}, id="local has the name in another file, too"),
        pytest.param("f:A/a g:A/a=z", "f:A/a h:A/a=z", "f:A/a g:A/a=z", {"000", "111"}, id="and one of them moved"),
        pytest.param(
            "f:A/a", "f:A/b g:A/b=z", "f:A/a g:A/a=z", {"000", "-11"}, id="both patch it, under its two names"
        ),
    ],
)
def test_which_resource_is_which(original: str, upstream: str, local: str, expected: set[str]) -> None:
    assert match(original, upstream, local) == expected


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("f:A/a", "f:A/b", "f:A/a", []),
        ("f:A/a", "g:A/b", "f:A/a=y", [("a", "b")]),
        ("f:A/a=p", "g:A/b=q", "f:A/a=p", [("a", "b")]),
        ("f:A/a=v", "g:A/b=w", "f:A/a=v", []),
        ("f:A/a", "f:A/b=z", "f:A/a=y", []),
        ("f:A/a", "f:A/a f:A/b", "f:A/a", []),
    ],
)
def test_what_may_have_been_renamed(original: str, upstream: str, local: str, expected: list[tuple[str, str]]) -> None:
    assert likely(original, upstream, local) == expected


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param("f:A/a", "g:A/a", {"g": "f"}, id="moved"),
        pytest.param("f:A/a f:B/b=z", "g:B/b=z g:A/a=y", {"g": "f"}, id="moved with changes and in another order"),
        pytest.param("f:A/~a f:A/~b=z", "g:A/~b=z g:A/~a", {"g": "f"}, id="moved, with generated names"),
        pytest.param("f:A/a", "f:A/a g:A/a", {}, id="copied"),
        pytest.param("f:A/a f:B/b", "g:A/a", {}, id="with less"),
        pytest.param("f:A/a", "g:A/a g:B/b", {}, id="with more"),
        pytest.param("f:A/a", "g:A/b", {}, id="with another name"),
        pytest.param("f:A/a", "g:A/a=z", {}, id="with another content"),
        pytest.param("f:A/a", "g:A/a h:A/a", {}, id="moved to two"),
        pytest.param("f:A/a g:A/a=y", "h:A/a=y", {"h": "g"}, id="the nearer one"),
        pytest.param("f:A/a g:A/a=y", "h:A/a=y i:A/a", {"h": "g", "i": "f"}, id="each to its own"),
    ],
)
def test_moved_files(before: str, now: str, expected: dict[str, str]) -> None:
    original, after = side(before), side(now)
    files = [{m.place for m in members} for members in (original, after)]
    assert moved_files(original, after, files[0], files[1], files[0]) == expected


def test_a_file_that_still_has_something_else_did_not_move() -> None:
    original, after = side("f:A/a"), side("g:A/a")
    assert moved_files(original, after, {"f"}, {"f", "g"}, {"f"}) == {}
    assert moved_files(original, after, {"f", "g"}, {"g"}, {"f"}) == {}


def test_a_file_that_the_third_side_has_beside_the_new_one_did_not_move() -> None:
    original, after = side("f:A/a"), side("g:A/a")
    assert moved_files(original, after, {"f"}, {"g"}, {"f", "g"}) == {}


def test_what_both_added_to_a_file_in_two_groups_of_an_api_is_one_resource() -> None:
    theirs = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {podSelector: {}}\n"
    ours = theirs.replace("networking.k8s.io/v1", "extensions/v1beta1")
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n"
    knative = "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {template: {}}\n"
    sides = {"a.yaml": theirs, "b.yaml": knative}, {"a.yaml": ours, "b.yaml": service}
    upstream, local = ({path: text.encode() for path, text in side.items()} for side in sides)
    files = merge_packages({}, upstream, local).files
    assert b"---" not in files["a.yaml"]
    assert files["b.yaml"].decode() == f"{service}---\n{knative}"


def test_an_object_of_metadata_alone_moves_to_another_namespace_whatever_else_changed() -> None:
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: s\n  namespace: %s\n  annotations: {%s}\n"
    sides = [account % side for side in (("a", "x: '1'"), ("b", "y: '2', z: '3'"), ("a", "x: '1', own: l"))]
    merged = merge_packages(*({"s.yaml": side.encode()} for side in sides))
    assert merged.files["s.yaml"].decode() == account % ("b", "own: l, y: '2', z: '3'")


def test_files_with_other_resources_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[Node, Node]] = []

    def count(first: Node, second: Node) -> float:
        compared.append((first, second))
        return likeness(first, second)

    monkeypatch.setattr(renames, "likeness", count)
    before, now = (side(" ".join(f"{place}{at}:A/a{at}" for at in range(20))) for place in ("f", "g"))
    old, new = ({m.place for m in members} for members in (before, now))
    assert moved_files(before, now, old, new, old) == {f"g{at}": f"f{at}" for at in range(20)}
    assert len(compared) == 20


BACKUP = "apiVersion: v1\nkind: Backup\nmetadata:\n  name: {}\nspec:\n  repository: {}\n  cloud: c\n  kept:\n{}"
DAYS = "  - monday\n  - tuesday\n  place: temp\n"


@pytest.mark.parametrize("renamed_by_local", [False, True])
def test_what_is_hardly_alike_is_one_resource_only_where_both_sides_changed_other_lines(renamed_by_local: bool) -> None:
    original, renamed = BACKUP.format("test", "r", DAYS), BACKUP.format("nightly", "r", "  - all\n")

    def merge(changed: str) -> tuple[str, bool]:
        sides = (original, changed, renamed) if renamed_by_local else (original, renamed, changed)
        done = merge_packages(*({"b.yaml": text.encode()} for text in sides))
        return done.files["b.yaml"].decode(), done.has_conflicts

    assert merge(BACKUP.format("test", "s", DAYS)) == (BACKUP.format("nightly", "s", "  - all\n"), False)
    text, has_conflicts = merge(BACKUP.format("test", "s", DAYS + "  old: 1\n"))
    assert has_conflicts
    assert text.count("kind: Backup") == 2 - renamed_by_local


DONE = BACKUP.format("test", "r", DAYS)
RENAMED = BACKUP.format("nightly", "r", "  - all\n")
OF_ANOTHER_KIND = DONE.replace("kind: Backup", "kind: Snapshot").replace("name: test", "name: nightly")
SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {}\nspec:\n  port: 80\n"


@pytest.mark.parametrize(
    ("original", "renamed", "resources"),
    [
        pytest.param(DONE + SERVICE.format("a"), RENAMED, 1, id="it removed another kind, too"),
        pytest.param(DONE, RENAMED + SERVICE.format("a"), 2, id="it added another kind, too"),
        pytest.param(DONE, OF_ANOTHER_KIND, 1, id="another kind and name, alone in the file"),
        pytest.param(DONE, OF_ANOTHER_KIND + SERVICE.format("a"), None, id="another kind and name, with a new one"),
        pytest.param(DONE, RENAMED + "---\n" + RENAMED.replace("nightly", "daily"), None, id="two of the kind"),
    ],
)
@pytest.mark.parametrize("renamed_by_local", [False, True])
def test_a_rename_that_lines_merge_is_of_one_kind_or_alone(
    original: str, renamed: str, resources: int | None, renamed_by_local: bool
) -> None:
    changed = original.replace("repository: r", "repository: s")
    sides = (original, changed, renamed) if renamed_by_local else (original, renamed, changed)
    done = merge_packages(*({"b.yaml": text.encode()} for text in sides))
    text = done.files["b.yaml"].decode()
    assert done.has_conflicts == (resources is None)
    assert resources is None or (text.count("kind: "), text.count("repository: s")) == (resources, 1)


def test_several_that_are_alike_are_renamed_in_their_turn_where_lines_merge() -> None:
    names = "test-0", "test-1", "test-2"
    original, renamed, changed, both = (
        "---\n".join(BACKUP.format(name.replace("test", test), cloud, DAYS) for name in names)
        for test, cloud in (("test", "r"), ("demo", "r"), ("test", "s"), ("demo", "s"))
    )
    for sides in ((original, renamed, changed), (original, changed, renamed)):
        done = merge_packages(*({"b.yaml": text.encode()} for text in sides))
        assert (done.files["b.yaml"].decode(), done.has_conflicts) == (both, False)
