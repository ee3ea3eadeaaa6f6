"""A document turned into another value: the text means the new value, and what is the same keeps its lines."""

from __future__ import annotations

import copy
from random import Random
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from effort import scaled, seeds
from krm_merge.text.document import rendered
from krm_merge.text.editing.change import Change
from krm_merge.text.editing.editor import Editor
from krm_merge.text.reading.layout import is_block
from krm_merge.text.reading.nodes import MappingNode, Node, TextError, Value, key_text, same, to_value
from krm_merge.text.reading.reader import read
from text.edits import tree
from text.random_documents import VALUES, Edits, is_subsequence, names_of, random_document, strip

Object = dict[str, Value]
slow = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


# ---- random documents, random new values -------------------------------------------------------------------------


def edit(rng: Random, value: Value) -> Value:
    """Another value that has much in common with this one; what is left alone is often the same object."""
    if isinstance(value, dict) and rng.random() < 0.9:
        names = [name for name in value if rng.random() < 0.85]
        result: Object = {n: value[n] if rng.random() < 0.6 else edit(rng, value[n]) for n in names}
        if rng.random() < 0.4:
            result[rng.choice(["new", "yes", "1", "k: v", "n\nl", "", "a", "<<"])] = rng.choice(VALUES)
        if rng.random() < 0.3:
            result = {name: result[name] for name in rng.sample(list(result), len(result))}
        return result
    if isinstance(value, list) and rng.random() < 0.9:
        items = [item if rng.random() < 0.6 else edit(rng, item) for item in value if rng.random() < 0.85]
        if rng.random() < 0.4:
            items.insert(rng.randint(0, len(items)), rng.choice(VALUES))
        if rng.random() < 0.3:
            rng.shuffle(items)
        return items if rng.random() < 0.5 else copy.deepcopy(items)
    return rng.choice(VALUES) if rng.random() < 0.7 else value


def object_of(rng: Random) -> tuple[str, MappingNode, Object] | None:
    """A random document that is a mapping: its text, its tree, its value."""
    document = random_document(rng)
    if document is None or not isinstance(document[1], MappingNode):
        return None
    value = to_value(document[1])
    assert isinstance(value, dict)
    return (*document[:1], document[1], value) if len(value) == len(document[1].fields) else None


def check(rng: Random) -> bool:
    """Whether there was a document to change; what is wrong about its change is raised."""
    document = object_of(rng)
    if document is None:
        return False
    text, root, old = document
    new = edit(rng, old)
    if not isinstance(new, dict):
        new = {"whole": new}
    before = copy.deepcopy((old, new))
    editor = Editor(root)
    Change(editor).mapping(root, old, new)
    assert same(old, before[0])
    assert same(new, before[1])
    try:
        out = rendered(editor)
    except TextError as error:
        # Beside a complex key nothing comes or goes, nor between comments in brackets.
        if "cannot edit a " not in str(error):
            raise
        return False
    assert same(to_value(read(out.text)), new), out.text
    if "*" in text or "? " in text or not text.endswith("\n"):
        # An alias may have to be written out anywhere; without a last newline, what follows changes the last line.
        # Where the value of a complex key stands is not known here.
        return True
    lines = unchanged_lines(text, root, old, new)
    assert is_subsequence(strip(lines), strip(out.text.split("\n"))), out.text
    assert names_of("\n".join(lines)) <= names_of(out.text)
    return True


def unchanged_lines(text: str, root: MappingNode, old: Object, new: Object) -> list[str]:
    """The lines of what is the same in both, in order."""
    edits = Edits(Random(0), root, text)

    def visit(node: Node, was: Value, now: Value) -> None:
        if not (isinstance(node, MappingNode) and isinstance(was, dict) and isinstance(now, dict)):
            return
        edits.touch(node, None)  # its first line where a field comes or goes
        for entry in node.fields.values():
            name = key_text(entry.key)
            if name in now and same(was[name], now[name]):
                continue
            inside, value_now = entry.value, now.get(name)
            if is_block(inside) and isinstance(inside, MappingNode) and isinstance(value_now, dict) and value_now:
                visit(inside, was[name], value_now)
            else:
                edits.touch(node, edits.place(node, entry))

    visit(root, old, new)
    return edits.untouched_lines()


def test_many_random_changes() -> None:
    count = 0
    for seed in seeds(3000):
        try:
            count += check(Random(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    assert count > scaled(3000) / 2


@pytest.mark.parametrize("deep", [True, False])
def test_an_equal_value_is_no_edit(deep: bool) -> None:
    for seed in seeds(300):
        if (document := object_of(Random(seed))) is None:
            continue
        _, root, old = document
        editor = Editor(root)
        new = copy.deepcopy(old) if deep else old
        Change(editor).mapping(root, old, dict(reversed(new.items())))
        assert editor.revision == 0
        assert not editor.is_touched(root)


# ---- lists -------------------------------------------------------------------------------------------------------


def change(text: str, edit: Any, keys: tuple[str, ...] = ()) -> str:
    """The text after an edit of its value; `keys` identify the elements of all its lists."""
    root = tree(dedent(text))
    assert isinstance(root, MappingNode)
    old = to_value(root)
    new = copy.deepcopy(old)
    new = edit(new) or new
    editor = Editor(root)
    Change(editor, lambda _: keys).mapping(root, old, new)
    out = rendered(editor)
    assert same(to_value(read(out.text)), new)
    return out.text


@settings(max_examples=50, suppress_health_check=slow)
@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefgh"), unique=True), st.data()
)
@example(["a", "b", "c"], ["c", "d", "a"], None)
def test_elements_keep_their_comments(before: list[str], after: list[str], data: st.DataObject | None) -> None:
    """Whatever is moved, changed, added and removed: an element's comments go where it goes."""
    lines = {name: f"# over {name}\n  - name: '{name}' # at {name}\n    # in {name}\n    x: 1\n" for name in before}
    text = "list:\n" + "".join(f"  {lines[name]}" for name in before) if before else "list: []\n"
    numbers = {name: data.draw(st.integers(1, 2)) if data else 1 for name in after}
    numbers |= {name: 9 for name in after if name not in before}
    out = change(text, lambda _: {"list": [{"name": n, "x": numbers[n]} for n in after]}, ("name",))
    survivors = [name for name in after if name in before]
    for name in survivors:
        assert lines[name].replace("x: 1", f"x: {numbers[name]}") in out, out
    for name in {*before} - {*after}:
        assert f" {name}\n" not in out
    if numbers == dict.fromkeys(before, 1) and after == before:
        assert out == text


LISTS = [
    # before, edit, after
    ("a:\n- x # the x\n# over y\n- y\n- z\n", ["y", "x", "z"], "a:\n# over y\n- y\n- x # the x\n- z\n"),
    ("a:\n- x # the x\n# over y\n- y\n- z\n", ["x", "z"], "a:\n- x # the x\n- z\n"),
    ("a:\n- x # the x\n- y\n", ["x", "new", "y"], "a:\n- x # the x\n- new\n- y\n"),
    ("a:\n- x # one\n- x # two\n", ["x"], "a:\n- x # one\n"),
    ("a:\n- x # one\n- x # two\n", ["x", "x", "x"], "a:\n- x # one\n- x # two\n- x\n"),
    ("a: [x, 'y', \"z\"] # all\n", ["z", "x"], 'a: ["z", x] # all\n'),
    ("a:\n- '1' # text\n- 1 # number\n", [1, "1"], "a:\n- 1 # number\n- '1' # text\n"),
    ("a:\n- true # yes\n- 1 # one\n", [1], "a:\n- 1 # one\n"),
    ("a:\n- [p] # p\n- [q] # q\n", [["q"], ["p"]], "a:\n- [q] # q\n- [p] # p\n"),
    ("a:\n- b: 1 # one\n  c: 2 # two\n", [{"b": 1, "c": 3}], "a:\n- b: 1 # one\n  c: 3 # two\n"),
    (
        "a:\n- x\n- b: 1 # one\n  c: 2 # two\n",
        ["new", "x", {"b": 1, "c": 3}],
        "a:\n- new\n- x\n- b: 1 # one\n  c: 3 # two\n",
    ),
    ("a:\n- x # gone\n", [], "a: []\n"),
    ("a: # list\n- x\n", "text", "a: text # list\n"),
    ("a: # list\n- x\n", {"b": 1}, "a: # list\n  b: 1\n"),
    ("a: [] # none\n", ["x"], "a: # none\n- x\n"),
    ("a: # list\n\n# x\n\n- x\n", [], "a: [] # list\n"),
    ("a: # map\n\n  # b\n\n  b: 1\n", {}, "a: {} # map\n"),
    # What is of another kind is another element, and has no comment of the old one.
    ("a:\n# old\n- x\n- z\n", ["new", "z"], "a:\n- new\n- z\n"),
    ("a:\n# old\n- b: 1\n- z\n", ["new", "z"], "a:\n- new\n- z\n"),
    ("a:\n# old\n- x\n- z\n", [{"b": 1}, "z"], "a:\n- b: 1\n- z\n"),
    ("a:\n# old\n- b: 1\n- z\n", [["b"], "z"], "a:\n- - b\n- z\n"),
    ("a:\n# old\n- [b]\n- z\n", [{"b": 1}, "z"], "a:\n- b: 1\n- z\n"),
    ("a:\n# old\n- [b]\n- z\n", [["c"], "z"], "a:\n# old\n- [c]\n- z\n"),
]


@pytest.mark.parametrize(("before", "value", "after"), LISTS)
def test_lists(before: str, value: Value, after: str) -> None:
    assert change(before, lambda _: {"a": value}) == after


KEYED = """\
    ports:
    # the web
    - port: 80 # plain
      name: web
    - port: 53
      protocol: UDP # names
    - port: 53
      protocol: TCP # zones
    """


@pytest.mark.parametrize(
    ("value", "after"),
    [
        (
            [{"port": 53, "protocol": "TCP", "x": 1}, {"port": 80, "name": "http"}],
            "ports:\n- port: 53\n  protocol: TCP # zones\n  x: 1\n# the web\n- port: 80 # plain\n  name: http\n",
        ),
        ([{"port": 53, "protocol": "SCTP"}], "ports:\n- port: 53\n  protocol: SCTP\n"),
        # A key field that the schema has a default for is written out: still the same element.
        (
            [{"port": 80, "protocol": "TCP", "x": 1}, {"port": 53, "protocol": "TCP"}],
            "ports:\n# the web\n- port: 80 # plain\n  protocol: TCP\n  x: 1\n- port: 53\n  protocol: TCP # zones\n",
        ),
        (
            [{"port": 80, "name": "web"}, {"port": 53, "protocol": "UDP"}, {"port": 53, "x": 1}],
            "ports:\n# the web\n- port: 80 # plain\n  name: web\n"
            "- port: 53\n  protocol: UDP # names\n- port: 53\n  x: 1\n",
        ),
        # All else is the same: a key was changed in place.
        (
            [{"port": 81, "name": "web"}, {"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}],
            "ports:\n# the web\n- port: 81 # plain\n  name: web\n- port: 53\n  protocol: UDP # names\n"
            "- port: 53\n  protocol: TCP # zones\n",
        ),
    ],
)
def test_elements_with_several_keys(value: Value, after: str) -> None:
    assert change(KEYED, lambda _: {"ports": value}, ("port", "protocol")) == after


def test_elements_without_keys_are_known_by_what_they_hold() -> None:
    text = "a:\n- {b: 1} # one\n- {b: 2} # two\n- 3 # three\n"
    after = "a:\n- 3 # three\n- {b: 2} # two\n- {b: 1} # one\n"
    assert change(text, lambda _: {"a": [3, {"b": 2}, {"b": 1}]}, ("name",)) == after


NAMED = "a:\n- name: x # x\n  v: 1 # v\n- name: y # y\n- name: z # z\n  v: 3\n"


@pytest.mark.parametrize(
    ("value", "after"),
    [
        pytest.param(
            [{"name": "new", "v": 1}, {"name": "y"}, {"name": "z", "v": 3}],
            NAMED.replace("name: x", "name: new"),
            id="another name in the place of one, and the same values",
        ),
        pytest.param(
            [{"name": "new", "v": 2}, {"name": "y"}, {"name": "z", "v": 3}],
            NAMED.replace("name: x # x\n  v: 1 # v", "name: new\n  v: 2"),
            id="another name, and other values",
        ),
        pytest.param(
            [{"name": "x", "v": 1}, {"name": "new"}, {"name": "z", "v": 3}],
            NAMED.replace("name: y # y", "name: new"),
            id="another name, and no values",
        ),
        pytest.param(
            [{"name": "new", "v": 1}, {"name": "z", "v": 3}, {"name": "y"}],
            "a:\n- name: new\n  v: 1\n- name: z # z\n  v: 3\n- name: y # y\n",
            id="another name, where others moved",
        ),
        pytest.param(
            [{"name": "new", "v": 1}, {"name": "y"}],
            "a:\n- name: new\n  v: 1\n- name: y # y\n",
            id="another name, where others went",
        ),
    ],
)
def test_an_element_with_another_name_is_the_same_one_only_if_all_else_is(value: Value, after: str) -> None:
    assert change(NAMED, lambda _: {"a": value}, ("name",)) == after


def test_keys_are_asked_by_paths_without_steps_into_elements() -> None:
    paths = set()

    def keys_of(path: tuple[str, ...]) -> tuple[str, ...]:
        paths.add(path)
        return ("name",) if path == ("spec", "boxes", "env") else ()

    text = (
        "spec:\n  boxes:\n  - name: a\n    env:\n    - name: x # X\n      value: 1\n    - name: y # Y\n      value: 2\n"
    )
    root = tree(text)
    old: Any = to_value(root)
    assert isinstance(root, MappingNode)
    new = copy.deepcopy(old)
    env = new["spec"]["boxes"][0]["env"]
    env[0]["value"], env[1]["value"] = 3, 4
    env.reverse()
    editor = Editor(root)
    Change(editor, keys_of).mapping(root, old, new)
    elements = "    - name: y # Y\n      value: 4\n    - name: x # X\n      value: 3\n"
    assert rendered(editor).text == text.partition("    - name: x")[0] + elements
    assert paths == {("spec", "boxes"), ("spec", "boxes", "env")}


# ---- aliases and merge keys --------------------------------------------------------------------------------------


def put(*path: str | int, to: Value) -> Any:
    """An edit that sets one value."""

    def edit(value: Any) -> None:
        for step in path[:-1]:
            value = value[step]
        value[path[-1]] = to

    return edit


MERGED = """\
base: &base # shared
  image: nginx
  env: {A: 1}
one:
  <<: *base
  name: one # first
two:
  <<: *base # as it is
  name: two
"""


@pytest.mark.parametrize("value", [{"x": 2, "<<": 3}, {"x": 1, "<<": 4}, {"x": 1}, {"<<": 3}, {"<<": 3, "y": 0}])
@pytest.mark.parametrize("text", ['a: &a {x: 1, "<<": 3}\nb:\n  <<: *a\n', 'a: &a {x: 1}\nb:\n  <<: *a\n  "<<": 3\n'])
def test_a_field_that_is_named_as_a_merge_key_is(text: str, value: Object) -> None:
    assert to_value(read(change(text, put("b", to=value)))) == {**to_value(read(text)), "b": value}  # type: ignore[dict-item]


def test_a_field_named_as_a_merge_key_is_added() -> None:
    assert change(MERGED, put("one", "<<", to=1)) == MERGED.replace("# first\n", '# first\n  "<<": 1\n')


def test_what_does_not_change_in_a_merge_key_stays_one() -> None:
    out = change(MERGED, put("one", "name", to="1"))
    assert out == MERGED.replace("name: one #", 'name: "1" #')
    # Another value than the inherited one is a field of its own, behind those that are there.
    out = change(MERGED, put("one", "image", to="httpd"))
    assert out == MERGED.replace("# first\n", "# first\n  image: httpd\n")
    out = change(MERGED, put("one", "more", to=1))
    assert out == MERGED.replace("# first\n", "# first\n  more: 1\n")


def test_elements_without_the_keys_of_others_are_known_by_their_place() -> None:
    text = change("list:\n- a # first\n- name: x # second\n", lambda old: {"list": ["b", *old["list"][1:]]}, ("name",))
    assert "name: x # second\n" in text
