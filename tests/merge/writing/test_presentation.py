"""The text of a merged document: aliases, and what the host notes on an item (rules V9, W3)."""

from __future__ import annotations

from textwrap import indent

import pytest

from krm_merge.functions import process
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, File
from krm_merge.packages.merge.trees import merge_trees


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
