"""What the lines of three documents settle, where their fields leave a doubt (law H).

In a row, `|` ends a line, and `¦` stands for it.
"""

from __future__ import annotations

import pytest

from krm_merge.merge.decisions.decision import Decision
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.values.tree import TreeMerge
from krm_merge.merge.writing.presentation import decision_by_lines, has_all_by_lines, settled_by_lines
from krm_merge.text.reading.nodes import MappingNode
from merge.values.deciding import NamedSchema, mapping


def document(lines: str) -> MappingNode:
    return mapping(lines.replace("|", "\n").replace("¦", "|") + "\n")


ROWS = [
    pytest.param(
        "a:|  x: 1|  y: 1|  z: 1|k: 1",
        "b:|  x: 1|  y: 1|  z: 1|k: 1",
        "a:|  x: 1|  y: 2|  z: 1|k: 1",
        False,
        "b:|  x: 1|  y: 2|  z: 1|k: 1",
        id="upstream renamed, local changed inside",
    ),
    pytest.param("a: 1|b: 1", "a: 2|b: 1", "a: 1|b: 2", False, None, id="no conflict"),
    pytest.param("a: 1|b: 1", "a: 2|b: 1", "a: 3|b: 1", False, None, id="one line by both"),
    pytest.param("a: 1|b: 1|c: 1", "a: 2|b: 1|c: 1", "a: 2|b: 1|c: 3", True, None, id="local has all"),
    pytest.param(
        "a:|  x: 1|b:|  y: 1",
        "a:|  x: 2|b:|  y: 1",
        "b:|  y: 1|a:|  x: 2",
        False,
        None,
        id="local has all, moved into another map",
    ),
    pytest.param("a: 1|b: 1|c: 1", "b: 1|c: 1", "b: 1|c: 1|a: 1", False, None, id="upstream removed what local moved"),
    pytest.param(
        "m:|  a: 1|  b: 2|  c: 3|k: 1",
        "m:|  a: 1|  b: 2|k: 1",
        "k: 1",
        True,
        "k: 1",
        id="upstream removed a line, local the whole",
    ),
    pytest.param(
        "m:|  a: 1|  b: 2|  c: 3|k: 1",
        "m:|  a: 1|  b: 2|k: 1",
        "k: 1|n:|  a: 1|  b: 2",
        True,
        "k: 1|n:|  a: 1|  b: 2",
        id="upstream removed a line, local the whole, kept elsewhere",
    ),
    pytest.param("l:|- a|- b|- c", "l:|- a|- u|- c", "l:|- l|- b|- c", False, None, id="list elements"),
    pytest.param("l:|- a|- b", "l:|- u|- b", "l:|- a|- l", False, None, id="replaced neighbours"),
    pytest.param(
        "l:|- a: 1|  b: 1|- a: 2|  b: 2",
        "l:|- a: 1|  b: 3|- a: 2|  b: 2",
        "l:|- a: 1|  b: 1|- a: 2|  b: 4",
        False,
        None,
        id="two lines of a list moved",
    ),
    pytest.param(
        "l:|- name: a|  v: 1",
        "l:|- name: b|  v: 1|- name: a|  v: 1",
        "l:|- name: a|  v: 1|- name: b|  v: 1",
        False,
        None,
        id="a name twice",
    ),
    pytest.param(
        "volume:|  file: 1|k: 1",
        "volume:|  dir: 2|k: 1",
        "volume:|  file: 1|  x: 1|k: 1",
        False,
        None,
        id="an alternative",
    ),
    pytest.param("a:|k: 1", "a:|  b: 1|k: 1", "a:|k: 2", False, None, id="kinds"),
    pytest.param(
        "m:|  a: 1|  b: 1|k: 1",
        "k: 1",
        "m:|  a: 1|  b: 1|  c: 1|k: 1",
        False,
        None,
        id="a removed mapping that local filled",
    ),
    pytest.param("a: 'x'|b: 1|c: 1", "a: 'y'|b: 1|c: 1", "a: 'x'|b: 1|c: [1]", False, None, id="json text"),
    pytest.param("a: 1|b: 1|c: 1", "z:|  a: 1|b: 1|c: 1", "a: 1|b: 1|c: 2", False, None, id="scalar to map around"),
    pytest.param(
        "a:|  x: 1|  y: 1|  z: 1|k: 1",
        "b:|  x: 1|  z: 1|k: 1",
        "a:|  x: 1|  y: 1|  z: 2|k: 1",
        False,
        None,
        id="renamed and removed below",
    ),
    pytest.param(
        "a:|  x: 1|  y: 1|b: 1", "a:|    x: 1|    y: 1|b: 1", "a:|  x: 1|  y: 1|b: 2", False, None, id="indent changed"
    ),
    pytest.param("a: 1|b: 2|c: 3", "a: 2|b: 1|c: 3", "a: 1|b: 2|c: 4", False, None, id="swapped values"),
    pytest.param(
        "a:|  x: 1|  y: 1|  z: 1|k: 1",
        "a:|  x: 1|  y: 2|  z: 1|k: 1",
        "b:|  x: 1|  y: 1|  z: 1|k: 1",
        False,
        "b:|  x: 1|  y: 2|  z: 1|k: 1",
        id="local renamed, upstream changed inside",
    ),
    pytest.param(
        "a: # kpt-merge: o|  x: 1|  y: 1|  z: 1|k: 1",
        "b: # kpt-merge: u|  x: 1|  y: 1|  z: 1|k: 1",
        "a: # kpt-merge: o|  x: 1|  y: 2|  z: 1|k: 1",
        False,
        None,
        id="notes",
    ),
    pytest.param(
        "m:|  x:|    a: 1|  b: 2|  c: 3|k: 1",
        "m:|  x:|    a: 1|  b: 2|k: 1",
        "k: 1",
        False,
        None,
        id="local removed all of what upstream made smaller",
    ),
    pytest.param(
        "m:|  x:|    a: 1|  b: 2|  c: 3|k: 1",
        "m:|  x:|    a: 1|  b: 2|k: 1",
        "n:|  x:|    a: 1|  b: 2|k: 1",
        True,
        "n:|  x:|    a: 1|  b: 2|k: 1",
        id="local moved what upstream made smaller",
    ),
    pytest.param(
        "m:|  x:|    a: 1|  b: 2|  c: 3|k: 1",
        "m:|  x:|    a: 1|  b: 2|k: 1",
        "n:|  x:|    a: 1|  b: 2|  c: 3|k: 1",
        False,
        "n:|  x:|    a: 1|  b: 2|k: 1",
        id="local renamed what upstream made smaller",
    ),
    pytest.param(
        "m:|  x:|    a: 1|  b: 2|k: 1",
        "m:|  x:|    a: 1|  b: 3|k: 1",
        "k: 1",
        False,
        None,
        id="local removed what upstream changed",
    ),
    pytest.param(
        "l:|- a: 1|  b: 1|  c: 1|- d: 1|k: 1",
        "l:|- a: 1|  b: 1|- d: 1|k: 1",
        "l:|- d: 1|k: 1",
        False,
        None,
        id="an element removed by both in other sizes",
    ),
    pytest.param(
        "l:|- a: 1|  b: 1|  c: 1|- d: 1|- e: 1|- f: 1",
        "l:|- a: 1|  b: 1|  c: 2|- d: 1|- e: 1|- f: 1",
        "l:|- d: 1|- e: 1|- f: 2",
        False,
        None,
        id="an element that only one has, lines apart",
    ),
    pytest.param(
        "a:|  s: ¦|    p|    q|  t: 1|k: 1",
        "b:|  s: ¦|    p|    q|  t: 1|k: 1",
        "a:|  s: ¦|    p|    r|  t: 1|k: 1",
        False,
        "b:|  s: ¦|    p|    r|  t: 1|k: 1",
        id="texts of lines renamed",
    ),
    pytest.param(
        "a:|  x: &v 1|  y: *v|  z: 1|k: 1",
        "b:|  x: &v 1|  y: *v|  z: 1|k: 1",
        "a:|  x: &v 1|  y: *v|  z: 2|k: 1",
        False,
        "b:|  x: &v 1|  y: *v|  z: 2|k: 1",
        id="renamed with an alias",
    ),
    pytest.param(
        "a:|  x:|  y: 1|  z: 1|k: 1",
        "b:|  x:|  y: 1|  z: 1|k: 1",
        "a:|  x:|  y: 1|  z: 2|k: 1",
        False,
        "b:|  x:|  y: 1|  z: 2|k: 1",
        id="renamed, a null beside",
    ),
    pytest.param(
        "a:|  x: 1|  y: 1|  z: 1|k: 1",
        "b:|  x: 1|  y: 2|  z: 1|k: 1",
        "a:|  x: 1|  y: 2|  z: 1|k: 1",
        False,
        "b:|  x: 1|  y: 2|  z: 1|k: 1",
        id="renamed, both changed inside alike",
    ),
    pytest.param(
        "metadata:|  annotations:|    config.kubernetes.io/index: 'x'|a:|  x: 1|  y: 1|  z: 1|k: 1",
        "metadata:|  annotations:|    config.kubernetes.io/index: 'u'|b:|  x: 1|  y: 1|  z: 1|k: 1",
        "metadata:|  annotations:|    config.kubernetes.io/index: 'x'|a:|  x: 1|  y: 2|  z: 1|k: 1",
        False,
        None,
        id="renamed by upstream, bookkeeping of local",
    ),
    pytest.param(
        "l:|- name: a|  v:|    x: 1|    y: 1|    z: 1|- q: 1",
        "l:|- name: a|  w:|    x: 1|    y: 1|    z: 1|- q: 1|- name: n",
        "l:|- name: n|- name: a|  v:|    x: 1|    y: 2|    z: 1|- q: 1",
        False,
        None,
        id="renamed, a name that would be there twice",
    ),
    pytest.param(
        "a:|  x: 1|  y: 1|  z: 1|k: 1|m: 1",
        "b:|  x: 1|  y: 1|  z: 1|k: 1|m: 2",
        "b:|  x: 1|  y: 1|  z: 3|k: 1|m: 1",
        False,
        None,
        id="renamed by both alike",
    ),
]


@pytest.mark.parametrize(("original", "upstream", "local", "has_all", "settled"), ROWS)
def test_what_lines_settle(original: str, upstream: str, local: str, has_all: bool, settled: str | None) -> None:
    """Whether local has all that upstream changed, and the text that holds what both did."""
    before, theirs, ours = map(document, (original, upstream, local))

    def decide(root: MappingNode) -> list[Decision]:
        return TreeMerge(NamedSchema(), Policy()).merge(before, theirs, root)

    decisions = decide(ours)
    assert has_all_by_lines(before, theirs, ours, decisions) is has_all
    text = settled_by_lines(before, theirs, ours, decide, decisions)
    assert text == (None if settled is None else settled.replace("|", "\n").replace("¦", "|") + "\n")


@pytest.mark.parametrize(
    ("local", "merged", "places"),
    [
        ("a: 1|b: 2", "a: 3|b: 2", "a"),
        ("a: 1|b: 2", "b: 3|c: 4", "a, b, c"),
        ("a:|  b: 1|  c: 1", "a:|  b: 1|  c: 2", "a.c"),
        ("a: [1, 2]", "a: [1, 3]", "a[1]"),
        ("a: [1, 2]", "a: [1, 2, 3]", "a"),
        ("a: [{b: 1, c: 1}]", "a: [{b: 2, c: 1}]", "a[0].b"),
        ("a: {b: 1}", "a: [1]", "a"),
        ("a: [1]", "a: {b: 1}", "a"),
        ("a: &x 1|b: *x", "a: &x 2|b: *x", "a, b"),
    ],
)
def test_what_lines_took_from_upstream_is_named(local: str, merged: str, places: str) -> None:
    decision = decision_by_lines(document(local), merged.replace("|", "\n"))
    assert decision.message.partition("; taken from upstream: ")[2] == places
    assert (decision.rule, decision.side, decision.is_reported) == ("H", "upstream", True)


def test_of_what_local_has_already_nothing_is_taken() -> None:
    message = "merged with upstream's by lines, which hold what both sides changed"
    assert decision_by_lines(document("a: 1"), "a:  1\n").message == message
