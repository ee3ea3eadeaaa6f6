"""Rules F1, F3, F4 and F6: which functions are the same on the three sides.

Functions are words: `a:v1` is an image, `n=a:v1` one with the name n, `!ls` an exec, `a/?x:1` has a configMap. What is
expected names each match by its places in original, upstream and local: `0-1` is first, missing, second; `~` follows
where the registry moved.
"""

from __future__ import annotations

from random import Random

import pytest
import yaml

from effort import SEED, scaled
from krm_merge.krm.identity import FieldPath, Identity, parse_path
from krm_merge.merge.decisions.decision import Member
from krm_merge.merge.decisions.policy import Policy, Rule
from krm_merge.merge.package.merger import reaches
from krm_merge.merge.values.identity import Match
from krm_merge.merge.values.pipeline import (
    NotIdentified,
    differ_in_version_only,
    faults,
    match_functions,
    read_functions,
)
from krm_merge.text.reading.nodes import MappingNode, Node, SequenceNode
from krm_merge.text.reading.reader import read


def functions(text: str) -> list[Node]:
    """The functions of a list in flow style: `a:v1` is an image, `n=a:v1` one with a name, `!cmd` an exec."""
    items = []
    for word in text.split():
        name, _, program = word.rpartition("=")
        program, _, config = program.partition("/?")
        field = "exec" if program.startswith("!") else "image"
        parts = [f"name: {name}"] if name else []
        parts += [f"{field}: '{program.lstrip('!')}'"] if program else []
        parts += [f"configMap: {{{config.replace(':', ': ')}}}"] if config else []
        items.append("{" + ", ".join(parts) + "}")
    root = read(f"[{', '.join(items)}]")
    assert isinstance(root, SequenceNode)
    return root.items


def pairs(matches: list[Match] | NotIdentified) -> str:
    """Each match as original, upstream, local; `-` where a side lacks it, `~` where the registry moved."""
    if isinstance(matches, NotIdentified):
        return matches.reason
    return " ".join(
        "".join("-" if at is None else str(at) for at in (m.original, m.upstream, m.local)) + "~" * m.moved_registry
        for m in matches
    )


def match(original: str, upstream: str, local: str, *, smart: bool = False) -> str:
    return pairs(match_functions(functions(original), functions(upstream), functions(local), smart=smart))


DOCUMENT = [
    # F1
    ("n=a m=b", "m=b n=a", "n=a m=b", "010 101"),
    ("n=a", "n=c", "n=d", "000"),
    ("n=a", "n=a m=b", "n=a k=c", "000 --1 -1-"),
    ("", "", "n=a", "--0"),
    ("", "n=a", "", "-0-"),
    ("n=a", "", "", "0--"),
    ("", "", "", ""),
    ("n=a", "n=a n=b", "n=a", "the name n appears more than once in a list"),
    ("n=a n=a", "", "", "the name n appears more than once in a list"),
    # F1
    ("a:v1 b", "b a:v2", "a:v3", "010 10-"),
    ("localhost:5000/a localhost:5000/b", "localhost:5000/a:v2", "localhost:5000/b@sha256:1", "1-0 00-"),
    ("r/a:v1@sha256:1", "r/a", "r/a:v2", "000"),
    ("!ls a", "a !ls", "!ls", "010 10-"),
    ("a", "a a:v2", "a", "no function has a name and a appears more than once in a list"),
    ("!ls !ls", "", "", "no function has a name and ls appears more than once in a list"),
    ("=", "a", "a", "a function has neither image nor exec"),
    # F3
    ("n=a", "a", "n=a", "only some of the functions have a name"),
    ("n=a b", "n=a b", "n=a b", "only some of the functions have a name"),
    ("a", "a", "n=a", "only some of the functions have a name"),
    # F4
    ("gcr.io/a:v1", "ghcr.io/x/a:v2", "gcr.io/a:v1", "000~"),
    ("gcr.io/a:v1", "gcr.io/a:v2", "ghcr.io/x/a:v1", "000~"),
    ("gcr.io/a", "ghcr.io/a", "quay.io/a", "000~"),
    ("gcr.io/a", "ghcr.io/a", "ghcr.io/a", "000~"),
    ("gcr.io/a", "ghcr.io/a", "", "00-~"),
    ("gcr.io/a", "", "ghcr.io/a", "0-0~"),
    ("a", "localhost:5000/a:v1", "a", "000~"),
    # Ambiguous: two candidates, or two that it could have been.
    ("gcr.io/a", "ghcr.io/a quay.io/a", "gcr.io/a", "0-0 -0- -1-"),
    ("gcr.io/a ghcr.io/a", "quay.io/a", "gcr.io/a", "0-0 1-- -0-"),
    ("gcr.io/a", "gcr.io/a ghcr.io/a", "gcr.io/a", "000 -1-"),
    ("gcr.io/a", "ghcr.io/a", "gcr.io/a ghcr.io/a", "0-0 -01"),
    ("gcr.io/a", "ghcr.io/a b", "gcr.io/a b", "000~ -11"),
    ("gcr.io/a gcr.io/b", "ghcr.io/b ghcr.io/a", "gcr.io/a gcr.io/b", "010~ 101~"),
    # No function of upstream's own with that image.
    ("gcr.io/b", "gcr.io/b", "ghcr.io/a", "00- --0"),
    ("!gcr.io/a", "!ghcr.io/a", "!gcr.io/a", "0-0 -0-"),
]


@pytest.mark.parametrize(("original", "upstream", "local", "expected"), DOCUMENT)
def test_by_the_rules_of_the_document(original: str, upstream: str, local: str, expected: str) -> None:
    result = match(original, upstream, local)
    assert sorted(result.split()) == sorted(expected.split())


SMART = [
    ("n=a m=b", "m=b n=a", "n=a m=b", "010 101"),
    # Names where both have them; without, the image.
    ("n=a", "m=a", "n=a", "0-0 -0-"),
    ("n=a", "m=a", "k=a", "0-- -0- --0"),
    ("n=a", "m=a", "m=a/?x:1", "0-- -00"),
    ("n=a", "m=a l=a", "k=a", "0-- -0- -1- --0"),
    ("n=a", "m=!a", "k=a", "0-- -0- --0"),
    ("a", "n=a", "a", "000"),
    ("a", "a", "n=a", "000"),
    ("a", "n=a", "n=a", "000"),
    ("a", "n=a", "m=a", "000"),
    # Functions of one image by equal configuration, else as one value.
    ("a/?x:1 a/?x:2", "a/?x:2 a/?x:1", "a/?x:1 a/?x:2", "010 101"),
    ("a/?x:1 a/?x:2", "a/?x:2", "a/?x:1", "0-0 10-"),
    ("a/?x:1 a/?x:2", "a:v2/?x:1 a:v2/?x:2", "a/?y:1 a/?x:1 a/?x:2", "001 112 --0"),
    ("a a", "a a", "a a", "no function has a name and a appears more than once in a list"),
    (
        "a/?x:1,y:1 a/?x:9,y:9",
        "a/?x:9,y:8 a/?x:1,y:2",
        "a/?x:1,y:1 a/?x:9,y:9",
        "no function has a name and a appears more than once in a list",
    ),
    ("n=a n=b", "n=a", "n=a n=b", "000 1-1"),
    # The only one of its image.
    ("a/?x:1", "a/?y:1", "a/?x:1", "000"),
    ("gcr.io/a", "ghcr.io/a:v2", "gcr.io/a", "000"),
    ("a", "!a", "a", "0-0 -0-"),
    ("!ls", "!ls", "!ls", "000"),
    ("=", "a", "=", "a function has neither image nor exec"),
    ("", "a", "a", "-00"),
    ("", "", "a", "--0"),
    ("", "", "", ""),
    ("a", "", "", "0--"),
]


@pytest.mark.parametrize(("original", "upstream", "local", "expected"), SMART)
def test_smart(original: str, upstream: str, local: str, expected: str) -> None:
    result = match(original, upstream, local, smart=True)
    assert sorted(result.split()) == sorted(expected.split())


def random_list(rng: Random) -> str:
    words = []
    for _ in range(rng.randint(0, 4)):
        name = rng.choice(["", "", "n=", "m="])
        program = rng.choice(["a", "a:v2", "gcr.io/a", "b", "localhost:5000/b:v1", "!ls", ""])
        config = rng.choice(["", "", "/?x:1", "/?x:2", "/?x:1,y:1"])
        words.append(f"{name or '='}{program}{config}")
    return " ".join(words)


@pytest.mark.parametrize("smart", [False, True])
def test_every_function_stands_in_one_match(smart: bool) -> None:
    rng = Random(SEED)
    for _ in range(scaled(3000)):
        sides = [functions(random_list(rng)) for _ in range(3)]
        matches = match_functions(sides[0], sides[1], sides[2], smart=smart)
        if isinstance(matches, NotIdentified):
            continue
        for side, name in zip(sides, ("original", "upstream", "local"), strict=True):
            places = [getattr(m, name) for m in matches if getattr(m, name) is not None]
            assert sorted(places) == list(range(len(side)))
        # Two sides that are one: each function is itself.
        for same in (match_functions(sides[0], sides[0], sides[0], smart=smart),):
            assert isinstance(same, NotIdentified) or all(m.original == m.upstream == m.local for m in same)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("{image: 'r/a:1', k: v}", "{image: 'r/a:2', k: v}", True),
        ("{image: 'r/a:1', k: v}", "{image: 'r/b:1', k: v}", False),
        ("{image: 'r/a:1', k: v}", "{image: 'r/a:1', k: w}", False),
        ("{exec: a}", "{exec: a}", True),
        ("text", "text", True),
        ("text", "other", False),
    ],
)
def test_functions_that_differ_in_their_version_only(first: str, second: str, expected: bool) -> None:
    function, other = read(first), read(second)
    assert function is not None
    assert other is not None
    assert differ_in_version_only(function, other) is expected


def test_steps_name_the_function_as_local_has_it() -> None:
    (match,) = match_functions(functions("gcr.io/a"), functions("ghcr.io/a"), functions("quay.io/a"), smart=False)  # type: ignore[misc]
    assert match.step == (("image", "quay.io/a"),)
    (match,) = match_functions(functions("gcr.io/a"), functions("ghcr.io/a"), [], smart=False)  # type: ignore[misc]
    assert match.step == (("image", "ghcr.io/a"),)
    matches = match_functions(*[functions("a/?x:1 a/?x:2")] * 3, smart=True)
    assert not isinstance(matches, NotIdentified)
    assert [m.step for m in matches] == [0, 1]


def test_labels_and_steps() -> None:
    read_all = read_functions(functions("n=a a:v1 !ls ="))
    assert [f.label for f in read_all] == ["n", "a", "ls", "without image or exec"]
    assert [f.step(at) for at, f in enumerate(read_all)] == [(("name", "n"),), (("image", "a"),), (("exec", "ls"),), 3]


# ---- faults (K3) -------------------------------------------------------------------------------------------------


def root(text: str) -> MappingNode:
    node = read(text)
    assert isinstance(node, MappingNode)
    return node


FAULTS = [
    ("{image: a}", []),
    ("{exec: a}", []),
    ("{}", ["[0]: the function without image or exec has neither image nor exec"]),
    ("{image: a, exec: b}", ["[image=a]: the function a has both image and exec"]),
    ("{image: a, configPath: b, configMap: {c: d}}", ["[image=a]: the function a has both configPath and configMap"]),
    ("{image: a, configRef: {}, configMap: {}}", ["[image=a]: the function a has both configMap and configRef"]),
    ("{name: n, image: a}, {name: n, image: b}", [": the function n has a name that 2 functions have"]),
    ("{image: a}, {image: a, exec: b}", ["[1]: the function a has both image and exec"]),
    ("word", ["[0]: a mapping is expected"]),
    ("null", ["[0]: a mapping is expected"]),
    ("{image: a, exclude: {kind: b}}", ["[0].exclude: a list is expected"]),
    ("{image: a, selectors: [{labels: {b: [c]}}]}", ["[0].selectors[0].labels.b: a string is expected"]),
]


@pytest.mark.parametrize(("text", "expected"), FAULTS)
@pytest.mark.parametrize("name", ["mutators", "validators"])
def test_faults(text: str, expected: list[str], name: str) -> None:
    from krm_merge.krm import format_path

    duplicates = faults(root(f"pipeline:\n  {name}: [{text}]\n"))
    assert [f"{format_path(f.path)}: {f.problem}" for f in duplicates] == [
        f"pipeline.{name}{line}" for line in expected
    ]
    assert len({f.identity for f in duplicates}) == len(duplicates)


@pytest.mark.parametrize("text", ["a: 1", "pipeline: null", "info: {team: {a: b}}", "status: {conditions: [a]}"])
def test_no_faults(text: str) -> None:
    assert faults(root(text)) == []


# ---- policy ------------------------------------------------------------------------------------------------------

WEB = Identity("apps", "Deployment", "n", "web")
P = parse_path("spec.replicas")


def test_without_rules_the_policy_is_one_for_all() -> None:
    assert Policy().conflict(P) == "upstream"
    assert Policy("fail").conflict(P) == "fail"
    assert Policy("fail").delete(P) == "local"


SELECTED = [
    (Rule(), True),
    (Rule(kind="Deployment"), True),
    (Rule(group="apps", kind="Deployment", namespace="n", name="web"), True),
    (Rule(group=""), False),
    (Rule(kind="deployment"), False),
    (Rule(namespace="m"), False),
    (Rule(kind="Deployment", name="other"), False),
]


@pytest.mark.parametrize(("rule", "expected"), SELECTED)
def test_what_a_rule_selects(rule: Rule, expected: bool) -> None:
    assert rule.selects(WEB) is expected
    assert Policy("upstream", (rule,)).of(WEB).rules == ((rule,) if expected else ())


def test_the_first_match_wins() -> None:
    rules = (
        Rule(path=parse_path("spec.replicas"), on_conflict="local"),
        Rule(path=parse_path("spec"), on_delete="upstream"),
        Rule(path=parse_path("spec"), on_conflict="fail"),
        Rule(on_conflict="upstream", on_delete="local"),
    )
    policy = Policy("fail", rules)
    assert policy.conflict(parse_path("spec.replicas")) == "local"
    assert policy.conflict(parse_path("spec.replicas.x")) == "local"
    assert policy.conflict(parse_path("spec.other")) == "fail"
    assert policy.conflict(parse_path("data")) == "upstream"
    assert policy.conflict(()) == "upstream"
    assert policy.delete(parse_path("spec.x")) == "upstream"
    assert policy.delete(parse_path("data")) == "local"


# ---- reach -------------------------------------------------------------------------------------------------------

REACHED = [
    (None, True),
    ("spec", True),
    ("spec.replicas", True),
    ("spec.none", False),
    ("spec.replicas.x", False),
    ("spec.*", True),
    ("*.replicas", True),
    ("*.*.*", True),
    ("*.*.*.*.*", False),
    ("list[0]", True),
    ("list[7]", False),
    ("list[0].y", False),
    ("list[1].y", True),
    ("list[1].x", False),
    ("list[*].x", True),
    ("list.*.x", True),
    ("list.x", False),
    ("list[name=a].x", True),
    ("list[name=a,x=1]", True),
    ("list[name=a,x=2]", False),
    ("list[name=b]", False),
    ("list[image=gcr.io/a]", True),
    ("list[image=gcr.io/a:v1]", True),
    ("list[image=gcr.io/b]", False),
    ("words[name=a]", False),
    ("words[0]", True),
    ("alias.replicas", True),
    ("spec[0]", False),
    ("spec[name=a]", False),
]


@pytest.mark.parametrize(("path", "expected"), REACHED)
def test_where_a_rule_leads(path: str | None, expected: bool) -> None:
    text = "spec: &s {replicas: 1}\nlist: [{name: a, x: 1, image: 'gcr.io/a:v1'}, {y: 1}]\nwords: [a]\nalias: *s\n"
    steps: FieldPath | None = None if path is None else parse_path(path)
    assert reaches(Rule(path=steps), [Member(place="a.yaml", identity=WEB, root=root(text), file="a.yaml")]) is expected
    assert not reaches(
        Rule(kind="Other", path=steps), [Member(place="a.yaml", identity=WEB, root=root(text), file="a.yaml")]
    )
    assert not reaches(Rule(path=steps), [])


def test_the_table_is_read_as_meant() -> None:
    (node,) = functions("n=a:v1/?x:1,y:2")
    assert node.source is not None
    assert yaml.safe_load(node.source.text) == [{"name": "n", "image": "a:v1", "configMap": {"x": 1, "y": 2}}]
