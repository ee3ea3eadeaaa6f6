"""Choices on single conflicts (rules M2, M3): what each gives, and whether it is known again in its result.

A paragraph has the place of a conflict, `o`, `u` and `l` with a side each, and the choices with what they give, with
`*` where the choice is known again. Choices that do not fit are left out: they change nothing.
"""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from krm_merge.krm import format_path
from krm_merge.merge.decisions.decision import Decision
from krm_merge.merge.decisions.policy import Choice, Policy, Resolution, Resolutions, content_of, fingerprint
from krm_merge.merge.values.tree import merge_values
from krm_merge.text import to_value
from krm_merge.text.reading.nodes import MappingNode
from merge.values.deciding import NamedSchema, mapping, merge_roots

CHOICES: tuple[Choice, ...] = ("upstream", "local", "original", "upstream-then-local", "local-then-upstream", "value")
TABLE = """\
a value / value
o {a: 1}
u {a: 2}
l {a: 3}
upstream *: {a: 2}
local *: {a: 3}
original *: {a: 1}
value *: {a: 9}

a value / value removed by upstream
o {a: 1}
u {}
l {a: 3}
upstream: {}
local *: {a: 3}
original *: {a: 1}
value *: {a: 9}

a value / value removed by local
o {a: 1}
u {a: 2}
l {}
upstream *: {a: 2}
local *: {}
original *: {a: 1}
value *: {a: 9}

a added-twice / added
o {}
u {a: 2}
l {a: 3}
upstream *: {a: 2}
local *: {a: 3}
value *: {a: 9}

a kind / kind
o {a: 1}
u {a: [2]}
l {a: {b: 3}}
upstream *: {a: [2]}
local *: {a: {b: 3}}
original *: {a: 1}
value *: {a: 9}

a text / text
o {a: "x\\ny\\nz\\n"}
u {a: "u\\ny\\nz\\n"}
l {a: "l\\ny\\nz\\n"}
upstream *: {a: "u\\ny\\nz\\n"}
local *: {a: "l\\ny\\nz\\n"}
original *: {a: "x\\ny\\nz\\n"}
upstream-then-local *: {a: "u\\nl\\ny\\nz\\n"}
local-then-upstream *: {a: "l\\nu\\ny\\nz\\n"}
value *: {a: 9}

a text / text with another change
o {a: "x\\ny\\nz\\nw\\nv\\n"}
u {a: "u\\ny\\nz\\nw\\nV\\n"}
l {a: "l\\ny\\nz\\nw\\nv\\n"}
upstream *: {a: "u\\ny\\nz\\nw\\nV\\n"}
local *: {a: "l\\ny\\nz\\nw\\nV\\n"}
original *: {a: "x\\ny\\nz\\nw\\nv\\n"}
upstream-then-local *: {a: "u\\nl\\ny\\nz\\nw\\nV\\n"}
local-then-upstream *: {a: "l\\nu\\ny\\nz\\nw\\nV\\n"}
value *: {a: 9}

named[name=a] element / element
o {named: [{name: a, v: 1}]}
u {named: []}
l {named: [{name: a, v: 3}]}
upstream: {named: []}
local *: {named: [{name: a, v: 3}]}

named[name=a] element / element of local
o {named: [{name: a, v: 1}]}
u {named: [{name: a, v: 2}]}
l {named: []}
upstream *: {named: [{name: a, v: 2}]}
local *: {named: []}

whole value / list whole
o {whole: [1]}
u {whole: [1, 2]}
l {whole: [3]}
upstream *: {whole: [1, 2]}
local *: {whole: [3]}
original *: {whole: [1]}
upstream-then-local *: {whole: [1, 2, 3]}
local-then-upstream *: {whole: [3, 1, 2]}
value *: {whole: 9}

l sequence / sequence
o {l: [a, x, a, y]}
u {l: [x, a, y]}
l {l: [a, x, y]}
upstream *: {l: [x, a, y]}
local *: {l: [a, x, y]}
upstream-then-local *: {l: [x, a, y]}
local-then-upstream *: {l: [a, x, y]}

l element / place of a set
o {l: [a, b, c]}
u {l: [a, u, c]}
l {l: [a, l, c]}
upstream: {l: [a, u, c]}
local *: {l: [a, l, c]}

l sequence / place of a sequence
o {l: [a, {b: 1}, a]}
u {l: [a, {u: 1}, {v: 1}, a]}
l {l: [a, {l: 1}, a]}
upstream: {l: [a, {u: 1}, {v: 1}, a]}
local *: {l: [a, {l: 1}, a]}
upstream-then-local: {l: [a, {u: 1}, {v: 1}, {l: 1}, a]}
local-then-upstream: {l: [a, {l: 1}, {u: 1}, {v: 1}, a]}

named order / order
o {named: [{name: a}, {name: b}, {name: c}]}
u {named: [{name: c}, {name: a}, {name: b}]}
l {named: [{name: b}, {name: a}, {name: c}]}
upstream *: {named: [{name: c}, {name: a}, {name: b}]}
local *: {named: [{name: b}, {name: a}, {name: c}]}

named order / order, and an element more
o {named: [{name: a}, {name: b}, {name: c}]}
u {named: [{name: c}, {name: b}, {name: a}, {name: u}]}
l {named: [{name: b}, {name: a}, {name: c}]}
upstream *: {named: [{name: c}, {name: b}, {name: a}, {name: u}]}
local *: {named: [{name: b}, {name: a}, {name: u}, {name: c}]}

volume alternative / alternative
o {volume: {file: 1}}
u {volume: {dir: 2}}
l {volume: {file: 3}}
upstream: {volume: {dir: 2}}
local *: {volume: {file: 3}}

m element / mapping with mapping
o {m: {b: {x: 1}}}
u {}
l {m: {b: {x: 1}, d: 1}}
upstream: {}
local *: {m: {b: {x: 1}, d: 1}}

functions functions / functions
o {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
u {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
l {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}]}
upstream *: {functions: [{image: "a:2"}, {image: "a:1", x: 1}]}
local *: {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}]}
original *: {functions: [{image: "a:1"}, {image: "a:1", x: 1}]}
upstream-then-local *: {functions: [{image: "a:2"}, {image: "a:1", x: 1}, {image: "a:1"}, {image: "c:1"}]}
local-then-upstream *: {functions: [{image: "a:1"}, {image: "a:1", x: 1}, {image: "c:1"}, {image: "a:2"}]}
value *: {functions: 9}

functions[name=f] added-twice / two functions
o {functions: []}
u {functions: [{name: f, image: "a:1"}]}
l {functions: [{name: f, image: "b:2"}]}
upstream *: {functions: [{name: f, image: "a:1"}]}
local *: {functions: [{name: f, image: "b:2"}]}
"""


def paragraphs() -> list[ParameterSet]:
    parameters = []
    for paragraph in TABLE.strip().split("\n\n"):
        head, *lines = paragraph.splitlines()
        place, nature = head.partition(" / ")[0].split(" ")
        given = dict(line.split(": ", 1) for line in lines[3:])
        parameters.append(pytest.param(place, nature, [line[2:] for line in lines[:3]], given, id=head))
    return parameters


def merge(sides: list[MappingNode], policy: Policy) -> tuple[MappingNode, list[Decision]]:
    decisions = merge_values(sides[0], sides[1], sides[2], NamedSchema(), policy)
    return merge_roots(sides[2], decisions), decisions


@pytest.mark.parametrize(("place", "nature", "texts", "given"), paragraphs())
def test_what_a_choice_gives(place: str, nature: str, texts: list[str], given: dict[str, str]) -> None:
    sides = [mapping(text) for text in texts]
    without, decisions = merge(sides, Policy())
    conflict = next(d for d in decisions if (format_path(d.path), d.nature) == (place, nature) and d.is_reported)
    contents = [content_of(node) for node in (conflict.original, conflict.upstream, conflict.local)]
    digits = fingerprint(conflict.nature, "", conflict.path, contents)
    for choice in CHOICES:
        resolution = Resolution(conflict.nature, conflict.path, digits, choice, 9 if choice == "value" else None)
        policy = Policy(resolutions=Resolutions([resolution]))
        merged, decisions = merge(sides, policy)
        settled = [decision for decision in decisions if decision.resolution]
        is_known = f"{choice} *" in given
        if choice not in given and not is_known:
            assert not settled
            assert merged.canonical == without.canonical
            continue
        assert settled[0].resolution is resolution
        assert (settled[0].severity, settled[0].nature) == ("info", nature)
        assert settled[0].message == f"upstream and local differ; settled by a resolution: {choice}"
        expected = given[f"{choice} *" if is_known else choice]
        assert to_value(merged) == to_value(mapping(expected))
        # Law D.
        sides_again = [*sides[:2], mapping(expected)]
        again, decisions = merge(sides_again, policy)
        assert again.canonical == merged.canonical
        assert any(decision.resolution for decision in decisions) == is_known
