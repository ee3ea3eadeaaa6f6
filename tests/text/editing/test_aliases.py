"""V9: aliases and merge keys are read as what they stand for; an edit inside one writes that place out, no other."""

from __future__ import annotations

import pytest

from krm_merge.text.reading.layout import CannotEditError
from krm_merge.text.reading.nodes import to_value
from text.edits import Edit, tree

ALIASES = """\
a: &x
  b: 1 # one
  c: [2]
d: *x # two
e:
- *x
- &y z
- *y
"""


def test_read_as_what_they_stand_for() -> None:
    value = {"b": 1, "c": [2]}
    assert to_value(tree(ALIASES)) == {"a": value, "d": value, "e": [value, "z", "z"]}


def test_untouched_aliases_stay() -> None:
    assert Edit(ALIASES).add(key="f", value=1).text() == ALIASES + "f: 1\n"
    assert Edit(ALIASES).move("d", after="e").comment("a", line="# c").text() == (
        "a: &x # c\n  b: 1 # one\n  c: [2]\ne:\n- *x\n- &y z\n- *y\nd: *x # two\n"
    )


def test_looking_into_an_alias_is_no_edit() -> None:
    # The editor could not write this text.
    before = "a: &x [1]\x85c: *x\x85"
    edit = Edit(before)
    assert to_value(edit.collection("c")) == [1]
    assert edit.text() == before


def test_an_edit_behind_an_alias_writes_out_this_one() -> None:
    assert Edit(ALIASES).set("d", "b", to=5).text() == ALIASES.replace(
        "d: *x # two\n", "d: # two\n  b: 5 # one\n  c: [2]\n"
    )
    assert Edit(ALIASES).set("d", to=5).text() == ALIASES.replace("*x # two", "5 # two")
    assert Edit("a: &x [1]\nb: {c: *x }\n").add("b", "c", value=2).text() == "a: &x [1]\nb: {c: [1, 2] }\n"


def test_an_edit_of_the_anchored_value_leaves_the_aliases_their_value() -> None:
    assert Edit(ALIASES).set("a", "b", to=5).text() == (
        "a: &x\n  b: 5 # one\n  c: [2]\nd: # two\n  b: 1 # one\n  c: [2]\ne:\n- b: 1 # one\n  c: [2]\n- &y z\n- *y\n"
    )
    assert Edit(ALIASES).set("e", 1, to="w").text() == ALIASES.replace("&y z", "w").replace("*y", "z")


def test_beside_aliases_that_are_written_out_all_else_stays_as_it_is() -> None:
    before = "a: &x\n  b: 1\nc: [ 'y',k: ,{ d,e: z} ]\n"
    assert Edit(before + "f: *x\n").set("a", "b", to=5).text() == before.replace("1", "5") + "f:\n  b: 1\n"


def test_an_edit_that_an_alias_shares_with_its_anchor_is_written_once() -> None:
    before = "a: &x\n  b: 1\nd: {e: *x }\nf: *x # two\n"
    shared = Edit(before).set("a", "b", to=5).set("d", "e", "b", to=5)
    assert shared.text() == "a: &x\n  b: 5\nd: {e: *x }\nf: # two\n  b: 1\n"
    assert shared.set("f", "b", to=5).text() == before.replace("b: 1", "b: 5")
    assert shared.comment("f", line="# three").text() == before.replace("b: 1", "b: 5").replace("two", "three")


def test_a_removed_or_moved_anchor() -> None:
    assert Edit("a: &x 1\nb: *x\n").remove("a").text() == "b: 1\n"
    assert Edit("a: &x 1\nb: *x\n").move("a", after="b").text() == "b: 1\na: &x 1\n"
    assert Edit("a: &x 1\nb: *x\nc: 1\n").move("a", after="b").move("b", after="c").text() == "a: &x 1\nc: 1\nb: *x\n"


def test_an_anchor_of_the_same_name_in_between() -> None:
    before = "a: &x 1\nb: &x 2\nc: *x\n"
    assert Edit(before).remove("b").text() == "a: &x 1\nc: 2\n"
    assert Edit(before).move("b", after="c").text() == "a: &x 1\nc: 2\nb: &x 2\n"
    assert Edit(before).set("a", to=3).text() == "a: 3\nb: &x 2\nc: *x\n"


def test_keys_with_anchors_and_aliases() -> None:
    before = "&k key: 1\nb: *k\n*k : 2\n"
    with pytest.raises(Exception, match="twice"):
        tree(before)
    before = "&k key: 1\nb:\n  *k : 2\n"
    assert Edit(before).set("b", "key", to=3).text() == "&k key: 1\nb:\n  *k : 3\n"
    with pytest.raises(CannotEditError, match="alias"):
        Edit(before).remove("key").text()


MERGE = """\
base: &d # base
  cpu: 1 # cpu
  mem: 2
one:
  !!merge <<: *d # merged
  mem: 3
two:
  <<: *d
"""


def test_merge_keys_are_read() -> None:
    assert to_value(tree(MERGE)) == {
        "base": {"cpu": 1, "mem": 2},
        "one": {"cpu": 1, "mem": 3},
        "two": {"cpu": 1, "mem": 2},
    }


def test_untouched_merge_keys_stay() -> None:
    assert Edit(MERGE).set("one", "mem", to=4).text() == MERGE.replace("mem: 3", "mem: 4")
    assert Edit(MERGE).add("one", key="x", value=1, after="cpu").text() == MERGE.replace(
        "# merged\n", "# merged\n  x: 1\n"
    )
    assert Edit(MERGE).comment("base", "cpu", line="# c").text() == MERGE.replace("# cpu", "# c")


def test_an_inherited_field_gets_its_own_value_beside() -> None:
    assert Edit(MERGE).set("two", "cpu", to=5).text() == MERGE + "  cpu: 5\n"
    nested = "a: &x\n  l: {m: 1}\nb:\n  <<: *x\n"
    assert Edit(nested).set("b", "l", "m", to=2).text() == nested + "  l: {m: 2}\n"
    behind_another = "a: &x\n  l: {m: 1}\nb:\n  k: 0\n  <<: *x\n"
    assert Edit(behind_another).set("b", "l", "m", to=2).text() == behind_another + "  l: {m: 2}\n"


def test_a_removed_inherited_field_writes_the_others_out() -> None:
    assert Edit(MERGE).remove("two", "cpu").text() == MERGE.replace("two:\n  <<: *d\n", "two:\n  mem: 2\n")
    assert Edit(MERGE).remove("one", "mem").text() == MERGE.replace(
        "  !!merge <<: *d # merged\n  mem: 3\n", "  cpu: 1\n"
    )


def test_a_changed_base_leaves_the_heirs_their_values() -> None:
    assert Edit(MERGE).set("base", "cpu", to=5).text() == (
        "base: &d # base\n  cpu: 5 # cpu\n  mem: 2\none:\n  cpu: 1\n  mem: 3\ntwo:\n  cpu: 1\n  mem: 2\n"
    )
    assert Edit(MERGE).remove("base").text() == "one:\n  cpu: 1\n  mem: 3\ntwo:\n  cpu: 1\n  mem: 2\n"


def test_merge_of_several() -> None:
    before = "a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc:\n  <<: [*a, *b]\n"
    assert to_value(tree(before)) == {"a": {"x": 1}, "b": {"x": 2, "y": 3}, "c": {"x": 1, "y": 3}}
    assert Edit(before).set("b", "x", to=9).text() == before.replace("x: 2", "x: 9")
    assert Edit(before).set("b", "y", to=9).text() == "a: &a {x: 1}\nb: &b {x: 2, y: 9}\nc:\n  x: 1\n  y: 3\n"


def test_what_a_base_and_its_heirs_get_is_written_once() -> None:
    edit = Edit(MERGE).set("base", "cpu", to=5).set("one", "cpu", to=5).set("two", "cpu", to=5)
    assert edit.text() == MERGE.replace("cpu: 1", "cpu: 5")
    edit = Edit(MERGE).add("base", key="x", value=1, after="mem").add("one", key="x", value=1, after="mem")
    assert edit.add("one", key="z", value=2, after="mem").add("two", key="x", value=1, after="mem").text() == (
        "base: &d # base\n  cpu: 1 # cpu\n  mem: 2\n  x: 1\n"
        "one:\n  !!merge <<: *d # merged\n  mem: 3\n  z: 2\ntwo:\n  <<: *d\n"
    )
    edit = Edit(MERGE).remove("base", "cpu").remove("one", "cpu").remove("two", "cpu")
    assert edit.text() == MERGE.replace("  cpu: 1 # cpu\n", "")
    # An heir that keeps its value has it written out.
    changed = MERGE.replace("cpu: 1", "cpu: 5").replace("two:\n  <<: *d\n", "two:\n  cpu: 1\n  mem: 2\n")
    assert Edit(MERGE).set("base", "cpu", to=5).set("one", "cpu", to=5).text() == changed


def test_into_another_text_they_come_written_out() -> None:
    source = tree(MERGE)
    assert Edit("a: 1\n").set("a", to=source).text() == (
        "a:\n  base: # base\n    cpu: 1 # cpu\n    mem: 2\n  one:\n    cpu: 1\n    mem: 3\n"
        "  two:\n    cpu: 1\n    mem: 2\n"
    )


def test_an_alias_of_a_block_scalar_ends_the_text() -> None:
    assert Edit("a: &z |+\nb: 1\nc: *z").remove("a").move("c", after="b").text() == 'b: 1\nc: ""'
    assert Edit("a: &z |\n  x\nb: *z").remove("a").add(key="c", value=1).text() == "b: |\n  x\nc: 1"
