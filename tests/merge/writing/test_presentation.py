"""The text of a merged document: comments and layout of three versions (rules V8, W1)."""

from __future__ import annotations

from textwrap import indent

import pytest

from krm_merge.functions import process
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.lines.three_way import comments_in
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.merge.writing import presentation
from krm_merge.merge.writing.presentation import merged_by_lines, notes_in
from krm_merge.packages.files.tree import Changed, File
from krm_merge.packages.merge.trees import merge_trees

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


def present(original: str, upstream: str, local: str) -> str:
    """The text of a resource below its metadata; merging again must give it again."""
    newline = "\r\n" if "\r\n" in local else "\n"
    sides = [{"a.yaml": File((HEAD + text).encode())} for text in (original, upstream)]
    ours = {"a.yaml": File((HEAD.replace("\n", newline) + local).encode())}
    done = merge_trees(sides[0], sides[1], ours, PackageMerger(Policy()))
    after = dict(Changed(ours, done.changes))
    assert merge_trees(sides[0], sides[1], after, PackageMerger(Policy())).changes == {}
    return after["a.yaml"].data.decode().removeprefix(HEAD.replace("\n", newline))


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("# o\na: 1\nb: 1\nc: 1\n", "# u\na: 1\nb: 1\nc: 1\n", "# o\na: 1\nb: 1\nc: 2\n", "# u\na: 1\nb: 1\nc: 2\n"),
        # In the line of a value that local changed.
        ("a: 1\n", "a: 1 # u\n", "a: 2\n", "a: 2 # u\n"),
        ("a: 1 # o\n", "a: 1\n", "a: 2 # o\n", "a: 2\n"),
        # Both changed it; other places beside it.
        ("a: 1\n", "a: 1 # u\n", "a: 1 # l\n", "a: 1 # l\n"),
        ("a: 1\n", "a: 1 # u\n", "# l\na: 1\n", "# l\na: 1 # u\n"),
        ("a: 1\nb: 1\n", "a: 1 # u\nb: 1\n", "a: 1\nb: 1 # l\n", "a: 1 # u\nb: 1 # l\n"),
        # Both added one, upstream another one below it.
        ("a: 1\n", "# b\n# u\na: 1\n", "# b\na: 1 # l\n", "# b\n# u\na: 1 # l\n"),
        # With a value of upstream's, and in another order of fields.
        ("a: 1\n", "a: 2\n", "a: 1\n# l\n", "a: 2\n# l\n"),
        ("a: 1\nb: 1\n", "b: 1\na: 1 # u\n", "a: 2\nb: 1\n", "a: 2 # u\nb: 1\n"),
        (
            "c:\n  # o\n  a: 1\n  b: 1\n",
            "c:\n  # u\n  b: 1\n  a: 1\n",
            "c:\n  # o\n  a: 1\n  b: 1\nd:\n  # o\n  a: 1\n  b: 1\n",
            "c:\n  a: 1\n  # u\n  b: 1\nd:\n  # o\n  a: 1\n  b: 1\n",
        ),
        # The comment that upstream removed is also in local's copy of the element.
        (
            "c:\n- name: a\n  v:\n    # o\n    w: 1\n",
            "c:\n- name: a\n  v:\n    w: 1\n",
            "c:\n- name: b\n  v:\n    # o\n    w: 1\n- name: a\n  v:\n    # o\n    w: 1\n",
            "c:\n- name: b\n  v:\n    # o\n    w: 1\n- name: a\n  v:\n    w: 1\n",
        ),
        (
            "c:\n- kind: a\n  # n\n  # o\n  v:\n",
            "c:\n- kind: a\n  # n\n  v:\n",
            "c:\n- kind: b\n  # n\n  # o\n  v:\n  - 1\n- kind: a\n  # n\n  # o\n  v:\n",
            "c:\n- kind: b\n  # n\n  # o\n  v:\n  - 1\n- kind: a\n  # n\n  v:\n",
        ),
        # It is also in local's copy of the field.
        (
            "c:\n  d:\n    v: 1 # o\n    w: 1\n",
            "c:\n  d:\n    v: 1\n    w: 1\n",
            "b:\n  d:\n    v: 1 # o\n    w: 1\n    x: 1\n    y: 1\nc:\n  d:\n    v: 1 # o\n    w: 1\n",
            "b:\n  d:\n    v: 1 # o\n    w: 1\n    x: 1\n    y: 1\nc:\n  d:\n    v: 1\n    w: 1\n",
        ),
        # What local only renamed is no copy.
        (
            "c:\n- name: a\n  v: # o\n    w: 1\n  x: 1\n",
            "c:\n- name: a\n  v: # u\n    w: 1\n  x: 1\n",
            "c:\n- name: b\n  v: # o\n    w: 1\n  x: 2\n",
            "c:\n- name: b\n  v: # u\n    w: 1\n  x: 2\n",
        ),
        # A copy of one that upstream removed elsewhere stays, and that one goes; of equal elements, only one does.
        (
            "c:\n- a: 3\n  # o\n  v: 1\n# o\n- a: 1\n  v: 1\n# o\n- a: 4\n  v: 1\n",
            "c:\n- a: 3\n  # o\n  v: 1\n- a: 1\n  v: 1\n# o\n- a: 4\n  v: 1\n",
            "c:\n- a: 1\n  # o\n  v: 1\n- a: 3\n  # o\n  v: 1\n# o\n- a: 1\n  v: 1\n# o\n- a: 4\n  v: 1\n",
            "c:\n- a: 1\n  # o\n  v: 1\n- a: 3\n  # o\n  v: 1\n- a: 1\n  v: 1\n# o\n- a: 4\n  v: 1\n",
        ),
        (
            "c:\n- a: 2\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n",
            "c:\n- a: 2\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n- a: 2\n  v: 1\n",
            "c:\n- a: 1\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n",
            "c:\n- a: 1\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n- a: 2\n  # o\n  v: 1\n- a: 2\n  v: 1\n",
        ),
        # Where upstream changed the element more than local's new one differs from it.
        (
            "c:\n- i: a\n  n: x\n  v: {w: 1} # o\n",
            "c:\n- i: a\n  n: y\n",
            "c:\n- i: b\n  n: z\n  v: {w: 1} # o\n- i: a\n  n: x\n  v: {w: 1} # o\n",
            "c:\n- i: b\n  n: z\n  v: {w: 1} # o\n- i: a\n  n: y\n",
        ),
        # An element whose list is as it was is the same element.
        (
            "c:\n- i: 1\n  # o\n  s: [x]\n  r: abcd\n- i: 9\n  s: [y]\n  r: z\n",
            "c:\n- i: 1\n  s: [x]\n  r: abcd\n- i: 9\n  s: [y]\n  r: z\n",
            "c:\n- i: 7\n  s: [w]\n  r: q\n- i: 1\n  # o\n  s: [x]\n  r: efgh\n- i: 9\n  s: [y]\n  r: z\n",
            "c:\n- i: 7\n  s: [w]\n  r: q\n- i: 1\n  s: [x]\n  r: efgh\n- i: 9\n  s: [y]\n  r: z\n",
        ),
        # Both wrote an element in the place of a comment, upstream one more.
        (
            "c:\n- a\n#- b\n#- c\n#- d\n- e\n",
            "c:\n- a\n- b\n- c\n- d\n- e\n",
            "c:\n- a\n- b\n#- c\n- d\n- e\n",
            "c:\n- a\n- b\n- c\n- d\n- e\n",
        ),
        # Of a list of objects, the one of the same name.
        (
            "c:\n- kind: K\n  metadata: {name: a}\n  v:\n    # o\n    w: 1\n    x: 1\n",
            "c:\n- kind: K\n  metadata: {name: a}\n  v:\n    # u\n    w: 2\n    x: 1\n",
            "c:\n- kind: K\n  metadata: {name: b}\n  v:\n    # o\n    w: 1\n    y: 1\n"
            "- kind: K\n  metadata: {name: a}\n  v:\n    # o\n    w: 1\n    x: 3\n",
            "c:\n- kind: K\n  metadata: {name: b}\n  v:\n    # o\n    w: 1\n    y: 1\n"
            "- kind: K\n  metadata: {name: a}\n  v:\n    # u\n    w: 2\n    x: 3\n",
        ),
        # Blank lines above what upstream added, and its flow collections as they are written.
        ("a: 1\n", "a: 1\n\n# u\nb:\n  c: 1\n", "a: 1\nd: 1\n", "a: 1\nd: 1\n\n# u\nb:\n  c: 1\n"),
        ("a:\n- 1\n", "a:\n- 1\n\n- 2\n", "a:\n- 1\n- 3\n", "a:\n- 1\n- 3\n\n- 2\n"),
        ("a: 1\n", "a: 1\nb: { c: 1,  d: 'x' }\n", "a: 2\nd: 1\n", "a: 2\nd: 1\nb: { c: 1,  d: 'x' }\n"),
        (
            "a: 1\n",
            "a: 1\nb: { # u\n  c: 1,\n\n  d: [2,\n    3], # v\n}\n",
            "a: 1\nd: 1\n",
            "a: 1\nd: 1\nb: { # u\n  c: 1,\n\n  d: [2,\n    3], # v\n}\n",
        ),
        (
            "a: [\n  x, # X\n]\nc: 1\n",
            "a: [\n  x, # X\n  {u: 1, # u\n   v: 2},\n]\nc: 1\n",
            "c: 1\na: [\n    x, # X\n    y, # l\n]\n",
            "c: 1\na: [\n    x, # X\n    y, # l\n    {u: 1, # u\n     v: 2},\n]\n",
        ),
        # Indented as the place is that they come to: below a key, a dash, and both.
        ("l:\n- a\n", "l:\n  - a\n  - [b,\n     c] # u\n", "l:\n- a\n- d\n", "l:\n- a\n- d\n- [b,\n   c] # u\n"),
        ("l:\n- a\n", "l:\n  - a\n  - b: [\n      c\n    ]\n", "l:\n- a\n- d\n", "l:\n- a\n- d\n- b: [\n    c\n  ]\n"),
        ("l:\n- a\n", "l:\n- a\n- b:\n    [c,\n     d]\n", "l:\n- a\n- d\n", "l:\n- a\n- d\n- b: [c,\n   d]\n"),
        # Where lines give another order that the next merge would not change, they are taken.
        (
            "l:\n- a\n# c1\n# c2\n- b\n- x\n- y\n- z\n",
            "l:\n# c1\n# c2\n- b\n- x\n- y\n- a\n- z\n",
            "l:\n- a\n# c1\n# c2\n- d\n- b\n- x\n- y\n- z\n",
            "l:\n# c1\n# c2\n- d\n- b\n- x\n- y\n- a\n- z\n",
        ),
        # Above a line that upstream inserted behind it.
        (
            "a: 1\n# o\nc: 1\n",
            "a: 1\n# o\nb: 1\nc: 1\nd:\n  # o\n  b: 1\n",
            "a: 1\n# l\nc: 1\n",
            "a: 1\n# l\nb: 1\nc: 1\nd:\n  # o\n  b: 1\n",
        ),
        # Above lines that both inserted behind it.
        (
            "# a\n# b\n# c\nf: 1\n",
            "# A\n# b\n# c\n# u\nd: 1\nf: 1\n",
            "# a\n# b\n# c\ne: 1\nf: 1\n",
            "# A\n# b\n# c\ne: 1\n# u\nd: 1\nf: 1\n",
        ),
        # Added by both in two places, with blank lines.
        (
            "# a\n\nf: 1 # o\ng: 1\n",
            "# a\n# b\n\n\nf: 1\ng: 2\n",
            "\n# b\n\n# a\n\nf: 1 # o\ng: 1\n",
            "\n# b\n\n# a\n\nf: 1\ng: 2\n",
        ),
        # Above a value that local changed, or wrote in another way.
        ("data:\n  a: ''\n", "data:\n  # u\n  a: ''\n", "data:\n  a: b\n", "data:\n  # u\n  a: b\n"),
        ("a: x\nb: y\n", "# u\na: x\nb: y\n", "a: 'x'\nb: \"y\"\n", "# u\na: 'x'\nb: \"y\"\n"),
        # Half of them above an inserted line.
        (
            "k: 1\n# a\n# b\nm: 1\n",
            "k: 1\n# a\nn: 1\nm: 1\n",
            "k: 1\n# a\n# b\n# c\nm: 1\n",
            "k: 1\n# a\n# c\nn: 1\nm: 1\n",
        ),
        # Beside one that the other side exchanged.
        ("# a\nk: 1\n", "# c\nk: 1\n", "# a\n# b\n# c\nk: 1\n", "# b\n# c\nk: 1\n"),
        # Line ends are local's; so are kpt's notes.
        ("a: 1\nb: 1\n", "# u\n\na: 1\nb: 1\n", "a: 1\r\nb: 2\r\n", "# u\r\n\r\na: 1\r\nb: 2\r\n"),
        ("a: 1\n", "a: 1 # kpt-merge: u/u\n", "a: 1 # kpt-merge: l/l\nb: 1\n", "a: 1 # kpt-merge: l/l\nb: 1\n"),
        # Behind a dash, with its blanks.
        (
            "k: 1\nl:\n-  # o\n",
            "k: 1\nl:\n-  # o\n  # u\n",
            "# u\nk: 1\nl:\n-  # o\n",
            "# u\nk: 1\nl:\n-  # o\n  # u\n",
        ),
        # At the end of a list, where local added an element below.
        (
            "l:\n- a: 1\n  b: 1\n# o\n# p\n",
            "l:\n- a: 1\n  b: 1\n# u\n# p\n",
            "l:\n- a: 1\n  b: 1\n# o\n# p\n- a: 2\n  b: 1\n",
            "l:\n- a: 1\n  b: 1\n# u\n# p\n- a: 2\n  b: 1\n",
        ),
        # In flow collections.
        (
            "a: [x, # o\n  y]\nb: 1\n",
            "a: [x, # u\n  y]\nb: 1\n",
            "a: [x, # o\n  y]\nb: 2\n",
            "a: [x, # u\n  y]\nb: 2\n",
        ),
    ],
)
def test_comments_and_layout_of_both(original: str, upstream: str, local: str, expected: str) -> None:
    assert present(original, upstream, local) == expected


def test_a_document_in_conflict_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(presentation, "_read", texts.append)
    sides = [{"a.yaml": File(f"{HEAD}data:\n  a: {value}\n".encode())} for value in "123"]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    assert list(done.changes) == ["a.yaml"]
    assert texts == []


PODS = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {MARK\n  name: a\n}\n"
    "spec:\n  template:\n    spec:\n      containers:\n"
)
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: root\n"
SETTERS = "pipeline:\n  mutators:\n  - # o\n    image: example.com/setters:v1 # p\n    name: n\n"
CHANGED = SETTERS.replace("# o\n", "# o\n\n    # u\n").replace("name: n", "name: changed")
DASH = "patches:\n-\n  path: a\nimages:\n-\n  # o\n  name: web # p\n  newTag: v1\n"
MERGED = "pipeline:\n  mutators:\n  # o\n  - # u\n    image: example.com/setters:v1 # p\n    name: changed\n"


@pytest.mark.parametrize(
    ("path", "original", "upstream", "local", "expected"),
    [
        pytest.param(
            "a.yaml",
            PODS.replace("MARK", " # m")
            + "        - name: a\n          env:\n            - name: E\n              # o\n",
            PODS.replace("MARK", "") + "        - name: a\n        - name: b\n              # o\n",
            PODS.replace("MARK", " # m") + "        - name: a\n              # o\n",
            PODS.replace("MARK", "") + "        - name: a\n              # o\n        - name: b\n",
            id="behind-what-both-removed",
        ),
        pytest.param(
            "Kptfile",
            f"{KPTFILE}info:\n  keywords:\n  - a\n{SETTERS}",
            f"{KPTFILE}{CHANGED}",
            f"{KPTFILE}info:\n  keywords:\n  - # l\n    x: 1\n  - a\n{SETTERS}",
            f"{KPTFILE}info:\n  keywords:\n  - # l\n    x: 1\n{MERGED}",
            id="behind-a-dash",
        ),
        pytest.param(
            "kustomization.yaml",
            DASH,
            DASH.replace("path: a", "path: b\n-\n  path: c").replace("-\n  # o", "- # u\n  # o").replace("web", "api"),
            DASH.replace("path: a", "path: a\n# l\n- x"),
            "patches:\n# l\n- x\n- path: b\n- path: c\nimages:\n# u\n- # o\n  name: api # p\n  newTag: v1\n",
            id="above-a-dash",
        ),
    ],
)
def test_no_comment_is_there_twice(path: str, original: str, upstream: str, local: str, expected: str) -> None:
    sides = [{path: File(text.encode())} for text in (original, upstream, local)]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    merged = dict(Changed(sides[2], done.changes))[path].data.decode()
    assert merged == expected


def test_comments_come_where_a_side_has_aliases_in_other_places() -> None:
    texts = ("a: &x 1\nold: 1\nb: *x\n", "a: 1\nold: 1\n# why\nb: 2\n", "a: &x 1\nb: *x\n")
    sides = [{"values.yaml": File(text.encode())} for text in texts]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    assert done.changes["values.yaml"] == File(b"a: &x 1\n# why\nb: 2\n")


@pytest.mark.parametrize(
    ("upstream", "local", "expected"),
    [
        pytest.param(
            "a: &x 2\nb: *x\nc: 1\nd: 1\n", "a: &x 1\nb: *x\nc: 1\nd: *x\n", "a: &x 2\nb: *x\nc: 1\nd: *x\n", id="new"
        ),
        pytest.param(
            "a: &x 2\nb: *x\nc: 1\nd: 1\n",
            "a: &x 1\nb: 1\nc: 1\nd: 1\n",
            "a: 2\nb: 2\nc: 1\nd: 1\n",
            id="written out",
        ),
        pytest.param(
            "a: &x 1\nb: *x\nc: 1\nd: 1\ne: *x\n",
            "a: &x 2\nb: *x\nc: 1\nd: 1\n",
            "a: &x 2\nb: *x\nc: 1\nd: 1\ne: *x\n",
            id="in a new field",
        ),
    ],
)
def test_an_alias_that_a_side_added_follows_its_anchor(upstream: str, local: str, expected: str) -> None:
    original = "a: &x 1\nb: *x\nc: 1\nd: 1\n"
    sides = [{"values.yaml": File(text.encode())} for text in (original, upstream, local)]
    done = merge_trees(sides[0], sides[1], sides[2], PackageMerger(Policy()))
    assert done.changes["values.yaml"] == File(expected.encode())
    after = dict(Changed(sides[2], done.changes))
    assert merge_trees(sides[0], sides[1], after, PackageMerger(Policy())).changes == {}


@pytest.mark.parametrize(
    ("original", "upstream", "local", "expected"),
    [
        ("a\nb\nc\n", "u\nb\nc\n", "a\nb\nl\n", "u\nb\nl\n"),
        ("a\nb\nc\n", "u\nb\nc\n", "l\nb\nc\n", None),
        ("a\nb\n", "a\nb\nno\n", "l\nb\n", None),
    ],
)
def test_lines(original: str, upstream: str, local: str, expected: str | None) -> None:
    assert merged_by_lines(original, upstream, local, lambda text: "no" not in text) == expected


def test_what_looks_like_a_comment() -> None:
    assert comments_in("# a\nb: 1 # c \nd: 2\n'#e'\n") == ["# a", "# c", "#e'"]
    assert notes_in("metadata: # kpt-merge: a/b\n  # c\n") == ["# kpt-merge: a/b"]
    assert notes_in("metadata: # c\n") == []


ITEM = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{}data:\n  # {}\n  a: {}\n  b: {}\n"
CONFIG = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
{}
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: MergePackage
  original: |
{}  upstream: |
{}"""


@pytest.mark.parametrize("identity", ["internal.config.kubernetes.io/id", "config.k8s.io/id"])
@pytest.mark.parametrize(("comment", "value", "is_changed"), [("u", 1, True), ("o", 2, True), ("o", 1, False)])
def test_an_item_loses_the_annotations_of_kpt_for_its_own_use_where_it_changes(
    identity: str, comment: str, value: int, is_changed: bool
) -> None:
    """W3, also where lines would keep them: the comment of upstream is merged by lines."""
    annotations = f"  annotations:\n    {identity}: '1'\n    own: x\n"

    def merged(annotations: str) -> str:
        item = indent(ITEM.format(annotations, "o", 1, 5), "  ").replace("  ", "- ", 1)
        sides = (ITEM.format("", "o", 1, 1), ITEM.format("", comment, value, 1))
        done = process(CONFIG.format(item, *(indent(side, "    ") for side in sides)).encode())
        assert done.exit_code == 0
        return done.output.decode().partition("functionConfig:")[0]

    assert (identity in merged(annotations)) is not is_changed
    assert f"# {comment}\n    a: {value}\n    b: 5\n" in merged(annotations)
    assert "own: x\n" in merged(annotations)
