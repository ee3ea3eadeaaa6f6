"""Tags before digests that are replaced: kept, dropped or replaced (C17)."""

from __future__ import annotations

from typing import Final

import pytest

from krm_merge.components.digests import EditedFile, ImageIdentity, ReplacementPolicy, TagPolicy, replace_digests

APP: Final = "quay.io/org/app"
OLD: Final = "sha256:" + "0d" * 32
NEW: Final = "sha256:" + "1e" * 32


def edit(text: str, policy: TagPolicy, tag: str = "v2") -> EditedFile:
    identity = ImageIdentity(frozenset({OLD, NEW}))
    return replace_digests(text.encode(), [APP], identity, NEW, ReplacementPolicy(tag=policy), "a.yaml", tag)


TAGGED: Final = {
    "a word": (f"image: {APP}:v1@{OLD} # {APP}:v1\n", f"image: {APP}:v2@{NEW} # {APP}:v1\n"),
    "a longer tag before another": (
        f"FROM {APP}:v1.2_x-3@{OLD} AS a\nFROM {APP}:v1@{OLD}\n",
        f"FROM {APP}:v2@{NEW} AS a\nFROM {APP}:v2@{NEW}\n",
    ),
    "of a kustomization": (
        f"\ufeffimages: # ä\n- name: {APP}\n  newTag: 'v1'\n  digest: {OLD}\n",
        f"\ufeffimages: # ä\n- name: {APP}\n  newTag: 'v2'\n  digest: {NEW}\n",
    ),
    "behind the digest": (
        f"image: {{repository: {APP}, digest: {OLD}, tag: v1}}\n",
        f"image: {{repository: {APP}, digest: {NEW}, tag: v2}}\n",
    ),
    "with the digest in its field": (
        f"image:\n  repository: {APP}\n  tag: v1@{OLD}\n",
        f"image:\n  repository: {APP}\n  tag: v2@{NEW}\n",
    ),
}


@pytest.mark.parametrize(("text", "replaced"), TAGGED.values(), ids=TAGGED)
def test_a_tag_is_replaced_with_its_digest(text: str, replaced: str) -> None:
    """C17: as Renovate writes both."""
    text_after = edit(text, "replace")
    assert (text_after.data.decode(), text_after.problems) == (replaced, ())
    assert edit(replaced, "replace", "v3").data.decode() == replaced
    # Without the new image's tag, the old one is kept.
    assert edit(text, "replace", "").data.decode() == text.replace(OLD, NEW)


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        (f"image: {APP}:v1@{OLD}\n", f"image: {APP}@{NEW}\n"),
        (f"image: {APP}@{OLD}\n", f"image: {APP}@{NEW}\n"),
        # A field is not removed: other programs may need it.
        (f"repository: {APP}\ntag: v1\ndigest: {OLD}\n", f"repository: {APP}\ntag: v1\ndigest: {NEW}\n"),
        (f"repository: {APP}\ntag: v1@{OLD}\n", f"repository: {APP}\ntag: v1@{NEW}\n"),
    ],
)
def test_a_tag_is_dropped_where_it_is_part_of_a_word(text: str, dropped: str) -> None:
    text_after = edit(text, "drop")
    assert (text_after.data.decode(), text_after.problems) == (dropped, ())


@pytest.mark.parametrize(
    "text",
    [
        f"APP_IMAGE={APP}:v1\nAPP_DIGEST={OLD}\n",
        f"a: {{repository: {APP}, tag: &tag v1, digest: {OLD}}}\nb: *tag\n",
    ],
    ids=["variable", "anchor"],
)
@pytest.mark.parametrize("tag", ["drop", "replace"])
def test_a_tag_that_others_may_read_is_kept(text: str, tag: TagPolicy) -> None:
    assert edit(text, tag).data.decode() == text.replace(OLD, NEW)
