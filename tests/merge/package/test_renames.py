"""Rule R1: which resource is which: by its name, by kpt's notes, and where a rename is nothing else.

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
from krm_merge.merge.package.resources import Folders, Matched, match_resources
from krm_merge.text.reading.nodes import MappingNode
from krm_merge.text.reading.reader import read

CONTENT = {"x": "data: {a: 1, b: 2, c: 3, d: 4}", "y": "data: {a: 1, b: 2, c: 3, d: 5}", "z": "data: {q: 7}", "e": ""}


def member(word: str) -> Member:
    place, _, rest = word.partition(":")
    kind, _, rest = rest.partition("/")
    name, _, content = rest.partition("=")
    namespace, _, plain = name.lstrip("~").rpartition("@")
    metadata = f"{'generateName' if name.startswith('~') else 'name'}: {plain}"
    metadata += f", namespace: {namespace}" if namespace else ""
    root = read(f"apiVersion: v1\nkind: {kind}\nmetadata: {{{metadata}}}\n{CONTENT[content or 'x']}\n")
    assert isinstance(root, MappingNode)
    return Member(place, identity_of(root), root, place)


def match(*texts: str) -> tuple[list[list[Member]], Matched]:
    sides = [[member(word) for word in text.split()] for text in texts]
    return sides, match_resources(sides[0], sides[1], sides[2], Folders([], Policy()))


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected", "likely"),
    [
        pytest.param("f:A/a", "f:A/a", "f:A/a", "000", "", id="one name"),
        pytest.param("f:A/a", "g:A/a", "h:A/a", "000", "", id="one name in other files"),
        pytest.param("f:A/a f:B/a=z", "f:B/a=z f:A/a", "f:A/a", "010 10-", "", id="other kinds"),
        pytest.param("f:A/~a f:A/~b", "f:A/~b f:A/~a", "f:A/~a=y", "010 10-", "", id="generated names"),
        pytest.param("f:A/a=z f:A/a", "f:A/a", "f:A/a=z f:A/a", "0-0 101", "", id="twice in a file, one removed"),
        pytest.param("f:A/a g:A/a=y", "f:A/a=z g:A/a=y", "f:A/a", "000 11-", "", id="one name in two files"),
        pytest.param("f:A/a", "f:A/a=y", "f:A/a g:A/a=z", "000 --1", "", id="local has it in another file, too"),
        # A rename that is nothing else.
        pytest.param("f:A/a", "f:A/b", "f:A/a=y", "000", "", id="upstream renamed it"),
        pytest.param("f:A/a", "f:A/a=y", "f:A/b", "000", "", id="local renamed it"),
        pytest.param("f:A/a", "g:A/b", "f:A/a=y", "000", "", id="upstream renamed and moved it"),
        pytest.param("f:A/a", "f:A/n@a", "f:A/a=y", "000", "", id="another namespace"),
        pytest.param("f:A/a", "f:A/b", "f:A/b", "000", "", id="both renamed it alike"),
        pytest.param("f:A/a", "f:A/b", "f:A/c", "000", "", id="both renamed it"),
        pytest.param("f:A/a", "f:A/b", "", "00-", "", id="local removed what upstream renamed"),
        pytest.param("f:A/a", "f:A/a=y", "f:A/b=y", "000", "", id="local renamed it, and has upstream's change"),
        pytest.param("f:A/a", "f:A/b=y", "f:A/b=z", "000", "", id="both renamed and changed it"),
        # Anything else are two.
        pytest.param("f:A/a", "f:A/b=y f:A/c=z", "f:A/b=z f:A/c=y", "0-- -00 -11", "", id="two that both have instead"),
        pytest.param("f:A/a", "f:A/b=y", "f:A/a", "0-0 -0-", "a>b", id="renamed and changed"),
        pytest.param("f:A/a", "f:A/a=y", "f:A/b=z", "00- --0", "a>b", id="renamed and changed by local"),
        pytest.param("f:A/a", "g:A/b=y", "f:A/a", "0-0 -0-", "", id="renamed, moved and changed"),
        pytest.param("f:A/a", "f:B/a", "f:A/a", "0-0 -0-", "", id="another kind"),
        pytest.param("f:A/a=e", "f:A/b=e", "f:A/a=e", "0-0 -0-", "a>b", id="nothing in it but a name"),
        pytest.param("f:A/a", "f:A/b f:A/c", "f:A/a", "0-0 -0- -1-", "", id="two that are equal"),
        pytest.param("f:A/a f:A/b", "f:A/c", "f:A/a f:A/b", "0-0 1-1 -0-", "a>c b>c", id="two that it may have been"),
        pytest.param("f:A/a", "f:A/a f:A/b", "f:A/a", "000 -1-", "", id="a copy"),
        pytest.param("f:A/a", "f:A/b", "f:A/a f:A/b", "0-0 -01", "a>b", id="local has both"),
        pytest.param("f:A/a", "f:A/b=y f:A/c=z", "f:A/a", "0-0 -0- -1-", "", id="several that it may have become"),
    ],
)
def test_which_resource_is_which(original: str, upstream: str, local: str, expected: str, likely: str) -> None:
    sides, matched = match(original, upstream, local)
    places = [{id(resource): str(at) for at, resource in enumerate(side)} for side in sides]
    rows = [
        "".join("-" if m is None else at[id(m)] for m, at in zip(triple, places, strict=True))
        for triple in matched.triples
    ]
    assert sorted(rows) == sorted(expected.split())
    pairs = [f"{m.identity.name}>{new.identity.name}" for m in sides[0] if (new := matched.likely_renames.get(id(m)))]
    assert pairs == likely.split()


BINDING = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: {}\nroleRef: {}\n"


@pytest.mark.parametrize("by_local", [False, True])
def test_a_rename_takes_along_what_the_other_side_changed_and_a_likely_one_is_named(by_local: bool) -> None:
    def merge(renamed: str) -> tuple[str, list[str]]:
        changed = BINDING.format("app", "view") + "subjects: [mine]\n"
        sides = [BINDING.format("app", "view"), *([changed, renamed] if by_local else [renamed, changed])]
        done = merge_packages(*({"b.yaml": side.encode()} for side in sides))
        named = (r for r in done.records if r.status != "automatic" or "may have become" in r.message)
        return done.files["b.yaml"].decode(), [record.rule for record in named]

    assert merge(BINDING.format("web", "view")) == (BINDING.format("web", "view") + "subjects: [mine]\n", [])
    text, rules = merge(BINDING.format("web", "admin"))
    assert "admin\nsubjects" not in text
    assert rules == ["F5", "R1"]
