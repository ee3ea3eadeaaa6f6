"""Rules V10, F1 and F4: an image is its repository and its version. Rows are those of `packages.merge.cases`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.krm.identity import FieldPath
from krm_merge.merge.values.images import contested_fields, image_repository, is_image, merge_images
from merge.values.deciding import mapping
from packages.merge.cases import Case, Row, assert_merges, config_map, container, kptfile, kustomization, pod, row

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
def test_what_one_side_changed_stands(first: str, other: str) -> None:
    assert merge_images(first, other, first) == other
    assert merge_images(first, first, other) == other
    assert merge_images(first, other, other) == other


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


@pytest.mark.parametrize(
    ("original", "side", "other", "merged"),
    [
        pytest.param("a:1", "a:2", "a:1", "a:2", id="one side's version"),
        pytest.param("a:1", "a:2", "a:2", "a:2", id="one version of both"),
        pytest.param("a:1", "a:2", "a:3", None, id="two versions"),
        pytest.param("r.io/a:1", "m.io/a:1", "n.io/a:1", None, id="two repositories"),
        pytest.param("r.io/a:1", "m.io/a:1", "r.io/a:2", "m.io/a:2", id="another registry, and a version"),
        pytest.param("r.io/a:1", "m.io/p/q/a:1", "r.io/a:2", "m.io/p/q/a:2", id="a path in another registry"),
        pytest.param("r.io/x/a:1", "r.io/y/a:1", "r.io/x/a:2", None, id="a fork in the same registry"),
        pytest.param("r.io/x/a:1", "r.io/y/a:1", "r.io/x/a:1", "r.io/y/a:1", id="a fork alone"),
        pytest.param("r.io/a:1", "r.io/b:1", "r.io/a:2", None, id="another name"),
        pytest.param("r.io/a:1", "m.io/b:1", "r.io/a:2", None, id="another name in another registry"),
        pytest.param("a:1", "b:1", "a:2", None, id="another name without a registry"),
        pytest.param("r.io/a:1", "m.io/b:1", "m.io/b:2", "m.io/b:2", id="one repository of both, and a version"),
        pytest.param("r.io/p/a@s:1", "m.io/q/a@s:1", "r.io/p/a@s:2", None, id="a digest of another path"),
        pytest.param("r.io/p/a@s:1", "m.io/xp/a@s:1", "r.io/p/a@s:2", None, id="a digest of a path that ends alike"),
        pytest.param(
            "r.io/p/a@s:1", "m.io/r.io/p/a@s:1", "r.io/p/a@s:2", "m.io/r.io/p/a@s:2", id="a digest in a mirror"
        ),
        pytest.param("m.io/q/p/a@s:1", "r.io/p/a@s:1", "m.io/q/p/a@s:2", "r.io/p/a@s:2", id="a digest of the mirrored"),
        pytest.param("r.io/a:1", "m.io/a:1", "r.io/a:2 --x", None, id="no image"),
        pytest.param("a:5000/web", "b:6000/web", "a:5000/web:v2", "b:6000/web:v2", id="a port and no tag"),
        pytest.param("localhost/a:1", "localhost/p/a:1", "localhost/a:2", None, id="a fork in the local registry"),
        pytest.param("r:5/a:1", "r:5/p/a:1", "r:5/a:2", None, id="a fork in a registry with a port"),
    ],
)
def test_an_image_of_both_sides(original: str, side: str, other: str, merged: str | None) -> None:
    assert merge_images(original, side, other) == merged
    assert merge_images(original, other, side) == merged


VERSION, IMAGE = "both sides changed the version", "one side changed the image, the other its version"


@pytest.mark.parametrize(
    ("original", "side", "other", "why"),
    [
        pytest.param("{n: a, tag: 1}", "{n: a, tag: 2}", "{n: a, tag: 1, digest: d}", VERSION, id="tag and digest"),
        pytest.param("{newTag: 1}", "{newTag: 2}", "{newTag: 1, digest: d}", VERSION, id="new tag and digest"),
        pytest.param("{tag: 1}", "{tag: 2, newTag: x}", "{tag: 2, digest: d}", VERSION, id="one tag, and more of each"),
        pytest.param("{tag: 1}", "{tag: 2}", "{tag: 2, digest: d}", "", id="one tag, and a digest"),
        pytest.param("{tag: 1}", "{tag: 2}", "{tag: 3, digest: d}", "", id="two tags"),
        pytest.param("{}", "{tag: 1, newTag: x}", "{tag: 1, digest: d}", "", id="nothing before"),
        pytest.param(
            "{repository: r.io/a, tag: 1}", "{repository: r.io/b, tag: 1}", "{repository: r.io/a, tag: 2}", IMAGE
        ),
        pytest.param(
            "{repository: r.io/a, tag: 1}",
            "{repository: m.io/a, tag: 1}",
            "{repository: r.io/a, tag: 2}",
            "",
            id="copy",
        ),
        pytest.param(
            "{registry: r.io, name: p/a, tag: 1}",
            "{registry: m.io, name: p/a, tag: 1}",
            "{registry: r.io, name: p/a, tag: 2}",
            "",
            id="a copy, by its registry",
        ),
        pytest.param(
            "{registry: r.io, name: p/a, tag: 1}",
            "{registry: r.io, name: q/a, tag: 1}",
            "{registry: r.io, name: p/a, tag: 2}",
            IMAGE,
            id="another one in the registry",
        ),
        pytest.param(
            "{name: r.io/p/a, digest: d}",
            "{name: m.io/q/a, digest: d}",
            "{name: r.io/p/a, digest: e}",
            IMAGE,
            id="a digest of another path",
        ),
        pytest.param(
            "{name: r.io/p/a, newName: r.io/a, newTag: 1}",
            "{name: r.io/p/a, newName: r.io/b, newTag: 1}",
            "{name: r.io/p/a, newName: r.io/a, newTag: 2}",
            IMAGE,
            id="by its new name",
        ),
        pytest.param(
            "{repository: r.io/a, tag: 1}", "{repository: r.io/b, tag: 2}", "{repository: r.io/a, tag: 1}", "", id="one"
        ),
        pytest.param(
            "{repository: r.io/a, tag: 1}",
            "{repository: r.io/b, tag: 2}",
            "{repository: r.io/b, tag: 1}",
            "",
            id="one repository of both",
        ),
        pytest.param("{n: 1, tag: 1}", "{n: 1, repository: b, tag: 1}", "{n: 1, tag: 2}", "", id="none before"),
        pytest.param("{registry: r.io, tag: 1}", "{registry: m.io, tag: 1}", "{registry: r.io, tag: 2}", "", id="none"),
        pytest.param(
            "{repository: [a], tag: 1}", "{repository: [b], tag: 1}", "{repository: [a], tag: 2}", "", id="no scalars"
        ),
    ],
)
def test_fields_of_an_image_that_are_one_value(original: str, side: str, other: str, why: str) -> None:
    for theirs, ours in ((side, other), (other, side)):
        sides = [mapping(text).fields for text in (original, theirs, ours)]
        contested, reason = contested_fields(sides, is_kustomize="repository" not in original)
        assert reason == why
        assert bool(contested) is bool(why)


# ---- merges of packages ----------------------------------------------------------------------------------------------


def images(name: str, original: str, upstream: str, local: str, expected: str, *conflicts: str) -> Row:
    return row(f"V10 {name}", *[pod(container(image)) for image in (original, upstream, local, expected)], *conflicts)


MERGES = [
    images(
        "local's registry, upstream's tag", "quay.io/a/web:v1", "quay.io/a/web:v2", "own.io/a/web:v1", "own.io/a/web:v2"
    ),
    row(
        "V10 images of init containers",
        *[
            pod(container(), more=f"  initContainers:\n  - name: i\n    image: {i}\n")
            for i in ("a/i:1", "a/i:2", "b/i:1", "b/i:2")
        ],
    ),
    row(
        "V10 images of functions",
        {"Kptfile": kptfile("  - name: f\n    image: gcr.io/f:v1\n")},
        {"Kptfile": kptfile("  - name: f\n    image: gcr.io/f:v2\n")},
        {"Kptfile": kptfile("  - name: f\n    image: own.io/f:v1\n")},
        {"Kptfile": kptfile("  - name: f\n    image: own.io/f:v2\n")},
    ),
    row(
        "V10 a mirror and a tag in two fields",
        *[
            config_map(f"  image: {{repository: {name}, tag: {tag}, pull: x}}\n")
            for name in ("quay.io/acme/web", "own.io/acme/web")
            for tag in ("v1", "v2")
        ],
    ),
    row(
        "V10 a tag of another image in another field",
        *[
            config_map(f"  image: {{repository: {name}, tag: {tag}}}\n")
            for name, tag in (("web", "v1"), ("web", "v2"), ("caddy", "v1"), ("web", "v2"))
        ],
        *["V4", "V4"],
        says="one side changed the image, the other its version: upstream changed it, local kept it",
    ),
    row(
        "V10 a fork in a Kustomization",
        *[
            kustomization(f"images:\n- name: quay.io/acme/web\n  newName: quay.io/{org}/web\n  newTag: {tag}\n")
            for org, tag in (("acme", "v1"), ("acme", "v2"), ("fork", "v1"), ("acme", "v2"))
        ],
        *["V4", "V4"],
    ),
    row(
        "V10 an image in any kind",
        *[config_map(f"  image: {i}\n") for i in ("a/i:1", "a/i:2", "b/i:1", "b/i:2")],
    ),
    row(
        "V10 an image with a registry in any field",
        *[config_map(f"  package: {i}\n") for i in ("a.io/i:1", "a.io/i:2", "b.io/i:1", "b.io/i:2")],
    ),
    row(
        "V10 local's quotes",
        *[config_map(f"  package: {i}\n") for i in ("'a.io/i:1'", '"a.io/i:2"', "'b.io/i:1'", "'b.io/i:2'")],
    ),
    row(
        "V10 an address is no image",
        *[config_map(f"  url: {i}\n") for i in ("http://a/i:1", "http://a/i:2", "http://b/i:1", "http://a/i:2")],
        "V4",
    ),
    row(
        "V10 text with blanks is no image",
        *[config_map(f"  image: {i}\n") for i in ("a b/i:1", "a b/i:2", "b c/i:1", "a b/i:2")],
        "V4",
    ),
]


@pytest.mark.parametrize("case", MERGES)
def test_merges(case: Case) -> None:
    assert_merges(case)
