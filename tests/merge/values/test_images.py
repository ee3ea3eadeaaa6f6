"""Rules V10, F2 and F4: an image is its repository and its version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.krm.fieldpath import FieldPath
from krm_merge.merge.values.images import image_repository, is_image, merge_images

DIGEST = "@sha256:" + "0" * 64
REPOSITORIES = [
    ("set-labels", "set-labels"),
    ("set-labels:v1", "set-labels"),
    ("gcr.io/kpt-fn/set-labels:v0.1", "gcr.io/kpt-fn/set-labels"),
    ("gcr.io/kpt-fn/set-labels", "gcr.io/kpt-fn/set-labels"),
    ("localhost:5000/set-labels", "localhost:5000/set-labels"),
    ("localhost:5000/a/set-labels:v1", "localhost:5000/a/set-labels"),
    ("localhost:5000/a@sha256:0a1b", "localhost:5000/a"),
    ("localhost:5000/a:v1@sha256:0a1b", "localhost:5000/a"),
    ("a@sha256:0a1b", "a"),
    ("a:v1@sha256:0a1b", "a"),
    ("[::1]:5000/a:v1", "[::1]:5000/a"),
    ("", ""),
]
IMAGES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["web", "quay.io/a/web", "own:5000/web", "localhost:5000/a/b"]),
    st.sampled_from(["", ":v1", ":v2"]),
    st.sampled_from(["", DIGEST]),
)


@pytest.mark.parametrize(("image", "repository"), REPOSITORIES)
def test_the_repository(image: str, repository: str) -> None:
    assert image_repository(image) == repository


@given(IMAGES, IMAGES)
def test_what_one_side_changed_stands(one: str, other: str) -> None:
    assert merge_images(one, other, one) == other
    assert merge_images(one, one, other) == other
    assert merge_images(one, other, other) == other


@given(IMAGES, IMAGES, IMAGES)
def test_repository_and_version_are_each_of_one_side(original: str, upstream: str, local: str) -> None:
    merged = merge_images(original, upstream, local)
    if merged is None:
        return
    repository = image_repository(merged)
    assert repository in map(image_repository, (upstream, local))
    assert merged[len(repository) :] in (side[len(image_repository(side)) :] for side in (upstream, local))
    assert merge_images(original, upstream, merged) == merged


def test_both_changed_one_part() -> None:
    assert merge_images("web:v1", "web:v2", "web:v3") is None
    assert merge_images("web:v1", "a/web:v2", "b/web:v1") is None


CONTAINER = (("name", "c"),)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("spec", "containers", CONTAINER, "image"), True),
        (("spec", "template", "spec", "initContainers", CONTAINER, "image"), True),
        (("spec", "ephemeralContainers", 0, "image"), True),
        (("pipeline", "mutators", CONTAINER, "image"), True),
        (("pipeline", "validators", 1, "image"), True),
        (("spec", "containers", CONTAINER, "name"), False),
        (("spec", "image"), True),
        (("data", "image"), True),
        (("image",), True),
        (("spec", "sidecarImage"), True),
        (("spec", "imagePullPolicy"), False),
        (("spec", "images", 0), False),
        ((), False),
    ],
)
def test_which_fields_are_images(path: FieldPath, expected: bool) -> None:
    assert is_image(path) is expected
