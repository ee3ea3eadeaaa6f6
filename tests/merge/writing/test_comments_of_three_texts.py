"""Comments and blank lines of three texts, merged in each place (rule V8).

A row has the texts of original and upstream, with the merged values and comments of their own, the text that local's
edits made, local's text before them where it is another, and the result; `|` ends a line.
"""

from __future__ import annotations

from textwrap import indent

import pytest

from krm_merge import merge_packages
from krm_merge.merge.writing.comments import with_merged_comments

ROWS = [
    pytest.param("a: 1|b: 2", "# u|a: 1|b: 2", "a: 1|b: 2", "", "# u|a: 1|b: 2", id="added by upstream"),
    pytest.param("# o|a: 1", "a: 1", "# o|a: 1", "", "a: 1", id="removed by upstream"),
    pytest.param("# o|a: 1", "# u|a: 1", "# l|a: 1", "", "# l|a: 1", id="changed by both"),
    pytest.param("a: 1", "# u|a: 1", "# l|a: 1", "", "# l|# u|a: 1", id="added by both"),
    pytest.param("a: 1", "# b|# u|a: 1", "# b|a: 1", "", "# b|# u|a: 1", id="added alike by both, and more"),
    pytest.param("a: 1", "a: 1 # u", "a: 1", "", "a: 1 # u", id="behind, added"),
    pytest.param("a: 1", "a: 1  # u", "a: 1", "", "a: 1  # u", id="behind, two blanks"),
    pytest.param("a: 1 # o", "a: 1 # u", "a: 1   # o", "", "a: 1   # u", id="behind, local's blanks"),
    pytest.param("a: 1 # o", "a: 1", "a: 1 # o", "", "a: 1", id="behind, removed"),
    pytest.param("a: 1 # o", "a: 1 # u", "a: 1 # l", "", "a: 1 # l", id="behind, changed by both"),
    pytest.param(
        "a: 1 # o", "a: 2 # u", "a: 2 # l", "a: 1 # l", "a: 2 # u", id="behind, changed by both, value of upstream"
    ),
    pytest.param("a: 1 # o", "a: 2 # u", "a: 2", "a: 1", "a: 2 # u", id="behind, removed by local, value of upstream"),
    pytest.param(
        "a: 1 # o", "a: 1 # kpt-set: ${u}", "a: 1 # l", "", "a: 1 # kpt-set: ${u}", id="behind, setter of upstream"
    ),
    pytest.param(
        "a: 1 # o", "a: 1 # u", "a: 1 # kpt-set: ${l}", "", "a: 1 # kpt-set: ${l}", id="behind, setter of local"
    ),
    pytest.param(
        "a: 1 # o",
        "a: 1 # kpt-set: ${u}",
        "a: 1 # kpt-set: ${l}",
        "",
        "a: 1 # kpt-set: ${l}",
        id="behind, setters of both",
    ),
    pytest.param(
        "a: 1 # kpt-set: ${o}",
        "a: 1 # kpt-set: ${u}",
        "a: 1 # kpt-set: ${o} l",
        "",
        "a: 1 # kpt-set: ${o} l",
        id="behind, setter kept, comment changed",
    ),
    pytest.param(
        "a: 1 # kpt-merge: o",
        "a: 1 # kpt-merge: u",
        "a: 1 # kpt-merge: l",
        "",
        "a: 1 # kpt-merge: l",
        id="behind, kpt-merge",
    ),
    pytest.param(
        "# kpt-merge: o|a: 1",
        "# kpt-merge: u|a: 1",
        "# kpt-merge: l|a: 1",
        "",
        "# kpt-merge: l|a: 1",
        id="above, kpt-merge",
    ),
    pytest.param(
        "a: \"x # y\"|b: 'p # q'",
        "a: \"x # y\" # u|b: 'p # q' # v",
        "a: \"x # y\"|b: 'p # q'",
        "",
        "a: \"x # y\" # u|b: 'p # q' # v",
        id="quotes",
    ),
    pytest.param("a: it's # o", "a: it's # u", "a: it's # o", "", "a: it's # u", id="one quote"),
    pytest.param("a: 1", "a: 1|# u", "a: 1", "", "a: 1|# u", id="foot"),
    pytest.param("a: 1", "a: 1|# u", "a: 1|# l", "", "a: 1|# l|# u", id="foot of both"),
    pytest.param("a: 1|b: 1", "a: 1||b: 1", "a: 1|b: 1", "", "a: 1||b: 1", id="blank line"),
    pytest.param("a:|  b: 1", "a:|  # u|  b: 1", "a:|    b: 1", "", "a:|    # u|    b: 1", id="indented anew"),
    pytest.param("a:|  - b: 1", "a:|  # u|  - b: 1", "a:|- b: 1", "", "a:|# u|- b: 1", id="indented less"),
    pytest.param("a:|-|  b: 1", "a:|- # u|  b: 1", "a:|-|  b: 1", "", "a:|-|  # u|  b: 1", id="behind a dash"),
    pytest.param("a: 1|b: 1", "# u|a: 2|b: 1", "a: 2|b: 1", "a: 1|b: 1", "# u|a: 2|b: 1", id="value changed"),
    pytest.param("a: 1|b: 1", "# u|a: 1|b: 1", "a: 3|b: 1", "", "# u|a: 3|b: 1", id="value of local"),
    pytest.param(
        "a: 1|b: 1",
        "a: 1|# u|n: 1|b: 1",
        "a: 1|# u|n: 1|b: 1",
        "a: 1|b: 1",
        "a: 1|# u|n: 1|b: 1",
        id="line inserted by upstream brings its comment",
    ),
    pytest.param(
        "# m|a: 1|b: 1|c: 1",
        "a: 1|b: 1|# m|c: 1",
        "a: 1|# m|b: 1|c: 1",
        "",
        "a: 1|# m|b: 1|c: 1",
        id="comment moved by both",
    ),
    pytest.param(
        "# m|a: 1|b: 1|c: 1",
        "a: 1|b: 1|# m|c: 1",
        "# m|a: 1|b: 1|c: 1",
        "",
        "a: 1|b: 1|# m|c: 1",
        id="comment moved by upstream",
    ),
    pytest.param(
        "a:|  x: 1|b:|  x: 1",
        "a:|  x: 1|b:|  # u|  x: 1",
        "a:|  x: 1|b:|  x: 1",
        "",
        "a:|  x: 1|b:|  # u|  x: 1",
        id="two places alike",
    ),
    pytest.param(
        "a: 1|n: 1|# h|b: 1",
        "a: 1|# h|n: 1|b: 1",
        "a: 1|n: 1|# h|b: 1",
        "a: 1|# h|b: 1",
        "a: 1|# h|n: 1|b: 1",
        id="upstream inserted lines behind a comment",
    ),
    pytest.param(
        "a: 1|n: 1|# h|# i|b: 1",
        "a: 1|# h|# u|n: 1|b: 1",
        "a: 1|n: 1|# h|# i|b: 1",
        "a: 1|# h|# i|b: 1",
        "a: 1|# h|# u|n: 1|b: 1",
        id="upstream inserted lines and changed the comment",
    ),
    pytest.param(
        "a: 1|m: 1|n: 1|# h|b: 1",
        "a: 1|m: 1|# h|n: 1|b: 1",
        "a: 1|m: 1|n: 1|# h|b: 1",
        "a: 1|# h|b: 1",
        "a: 1|m: 1|# h|n: 1|b: 1",
        id="upstream inserted two, the comment above the second",
    ),
    pytest.param(
        "a: 1|b: 1|n: 1|# h|c: 1",
        "a: 1|b: 1|# h|n: 1|c: 1",
        "a: 1|# h|l: 1|b: 1|n: 1|c: 1",
        "a: 1|# h|l: 1|b: 1|c: 1",
        "a: 1|# h|l: 1|b: 1|n: 1|c: 1",
        id="local has the comment above its own line",
    ),
    pytest.param(
        "a:|- l|- x", "a:|- l|# u|- x", "a:|- l|- x", "", "a:|- l|# u|- x", id="an element of local before it"
    ),
    pytest.param(
        "a:|- # o|  b: 1",
        "a:|- # u|  b: 1",
        "a:|- # o|  b: 1",
        "",
        "a:|- # u|  b: 1",
        id="a dash in all, upstream changed it",
    ),
    pytest.param(
        "a:|- # o|  b: 1", "a:|-|  b: 1", "a:|- # o|  b: 1", "", "a:|-|  b: 1", id="a dash, upstream removed it"
    ),
    pytest.param(
        "a:|# o|- # l|  b: 1",
        "a:|# o|- # l||  b: 1",
        "a:|# o|- # l|  b: 1",
        "",
        "a:|# o|- # l||  b: 1",
        id="above and behind a dash, upstream added a blank line",
    ),
    pytest.param("# m|- # m", "# m|-", "# m|- # m", "", "# m|-", id="above and behind a dash alike, one removed"),
    pytest.param(
        "b: 1|# m", "# m|b: 1", "|b: 1|# m", "# m", "|# m|b: 1", id="foot moved above a line that upstream brings"
    ),
    pytest.param("-|# o|# o|-", "# o|-|# o|-", "-|# o|# o|- # q", "-", "# o|-|# o|- # q", id="one of two moved"),
    pytest.param(
        "c:|- # m|# n",
        "c:|# m|- # m|# n",
        "c:|- # m|# n",
        "",
        "c:|# m|- # m|# n",
        id="added above a dash that has it behind",
    ),
    pytest.param("# m|-", "# m|# m|-", "# m|-", "", "# m|# m|-", id="doubled by upstream"),
    pytest.param("# o|a: 1", "a: 1", "# l|# o|a: 1", "# l|# o|a: 1", "# l|a: 1", id="removed beside one of local"),
    pytest.param(
        "a|b", "a # m|# m|n|b", "a|# m|n|b|# m|l", "a|b|# m|l", "a # m|# m|n|b|# m|l", id="added twice, and elsewhere"
    ),
    pytest.param(
        'a: "x # y" # o', 'a: "x # y" # u', 'a: "x # y"   # o', "", 'a: "x # y"   # u', id="quotes, local's blanks"
    ),
    pytest.param(
        "a: 'x # y' # o",
        "a: 'x # y' # u",
        "a: 'x # y'   # o",
        "",
        "a: 'x # y'   # u",
        id="single quotes, local's blanks",
    ),
    pytest.param(
        "# kpt-merge: o|a: 1",
        "# kpt-merge: u|a: 1",
        "# kpt-merge: o|a: 1",
        "",
        "# kpt-merge: o|a: 1",
        id="above, kpt-merge of upstream alone",
    ),
    pytest.param(
        "a: 1 # kpt-merge: o",
        "a: 1 # kpt-merge: u",
        "a: 1 # kpt-merge: o",
        "",
        "a: 1 # kpt-merge: o",
        id="behind, kpt-merge of upstream alone",
    ),
    # Local has the original's comment above the dash, and one of its own behind it.
    pytest.param(
        "# m|a: 1|# m|b: 1|c: 1",
        "# m|a: 1|b: 1|# m|c: 1",
        "# m|a: 1|# m|b: 1|c: 1",
        "",
        "# m|a: 1|b: 1|# m|c: 1",
        id="twice in the original, one moved",
    ),
    pytest.param(
        "a: 1||b: 1", "a: 1||# u||b: 1", "a: 1||b: 1", "", "a: 1||# u||b: 1", id="comment in the middle of blank lines"
    ),
    pytest.param("a: 1||b: 1", "a: 1|b: 1", "a: 1||b: 1", "", "a: 1|b: 1", id="a line break that upstream removed"),
]


@pytest.mark.parametrize(("original", "upstream", "text", "local", "expected"), ROWS)
@pytest.mark.parametrize("end", ["\n", ""], ids=["ended", "open"])
def test_each_place_has_the_comments_of_both(
    original: str, upstream: str, text: str, local: str, expected: str, end: str
) -> None:
    before, theirs, now, ours = (side.replace("|", "\n") for side in (original, upstream, text, local or text))
    merged = with_merged_comments(now + end, before + "\n", theirs + "\n", ours + end, ())
    assert merged == expected.replace("|", "\n") + end


@pytest.mark.parametrize("pad", ["", "  "])
@pytest.mark.parametrize("todo", ["", "# TODO\n"])
def test_a_head_of_the_file_that_upstream_joins_to_a_new_first_field_is_there_once(pad: str, todo: str) -> None:
    """E: a blank line ends the head of the file; without it the head is the new field's."""
    head = "# Copyright\n# License\n"
    texts = (head + "\na: 1\n", "# License\n" + todo + "new: 1\na: 1\n", head + "\na: 2\n")
    around = "x:\n" if pad else ""
    sides = ({"a.yaml": (around + indent(text, pad)).encode()} for text in texts)
    merged = merge_packages(*sides)
    assert merged.files["a.yaml"].decode() == around + indent(f"{head}\n{todo}new: 1\na: 2\n", pad)


def test_a_head_of_the_file_stays_where_local_moved_its_field() -> None:
    """E: upstream's new first field leaves the head to the field that local put first."""
    image, hosts = "image:\n  name: a\n  tag: b\n", "hosts:\n- a\n- b\n- c\n- d\n"
    texts = ("# head\n" + image + hosts, "# head\n# new\nn: 1\n" + image + hosts, "# head\n" + hosts + image)
    merged = merge_packages(*({"a.yaml": text.encode()} for text in texts))
    assert merged.files["a.yaml"].decode() == f"# head\n{hosts}# new\nn: 1\n{image}"
