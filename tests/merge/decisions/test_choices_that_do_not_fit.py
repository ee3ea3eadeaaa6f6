"""Choices that a conflict does not have, and choices on whole resources: what does not fit changes nothing (M2)."""

from __future__ import annotations

from typing import Any

import pytest

from krm_merge.merge.decisions.policy import Nature
from merge.decisions.resolutions import again, identity, merge, policy, resolution, sides_of
from report.conflicts import CASES, HEAD, KPTFILE, conflicts

ALL_CHOICES = ("upstream", "local", "original", "upstream-then-local", "local-then-upstream", "recognise")
BY_RESOLUTION = "resolution policy resolutions[0]"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: %s}\n"
ANNOTATED = (
    "apiVersion: v1\nkind: ConfigMap\n"
    "metadata: {name: s, annotations: {internal.kpt.dev/upstream-identifier: x, own: y}}\ndata: {p: %s}\n"
)
WITHOUT_METADATA = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamePrefix: %s\n"
RESOURCES = pytest.mark.parametrize(
    "text", [SECRET, ANNOTATED, WITHOUT_METADATA], ids=["a Secret", "kpt's annotations", "no metadata"]
)


@pytest.mark.parametrize("nature", sorted(CASES.keys() - {"functions"}))
def test_a_choice_that_a_conflict_does_not_have_changes_nothing(nature: Nature) -> None:
    sides = sides_of(nature)
    without = merge(sides, **identity(nature))
    for record in conflicts(without):
        for choice in set(ALL_CHOICES) - set(record.choices):
            merged = merge(sides, policy(resolution(record, choice)), **identity(nature))
            assert merged.files == without.files
            assert {each.settled_by for each in conflicts(merged)} == {"policy"}


@pytest.mark.parametrize("choice", ["upstream-then-local", "local-then-upstream"])
def test_both_sides_of_a_text_are_not_taken_where_it_would_no_longer_be_json(choice: str) -> None:
    text = HEAD + "data:\n  f: |\n    [0,\n     %s]\n"
    sides = [{"c.yaml": (text % value).encode()} for value in "123"]
    (record,) = conflicts(merge(sides))
    merged = merge(sides, policy(resolution(record, choice)))
    assert merged.files["c.yaml"].decode() == text % 2
    assert [each.settled_by for each in conflicts(merged)] == ["policy"]


@RESOURCES
@pytest.mark.parametrize(("choice", "is_there"), [("upstream", False), ("local", True)])
def test_a_choice_on_a_resource_that_upstream_deleted(text: str, choice: str, is_there: bool) -> None:
    sides = [{"k": b"", "s.yaml": (text % "a").encode()}, {"k": b""}, {"k": b"", "s.yaml": (text % "b").encode()}]
    (record,) = conflicts(merge(sides))
    chosen = policy(resolution(record, choice))
    merged = merge(sides, chosen)
    assert [each.settled_by for each in conflicts(merged)] == [BY_RESOLUTION]
    assert ("s.yaml" in merged.files) == is_there
    rerun = again(sides, merged, chosen)
    assert rerun.changes == {}
    # M2: it is still known, but for what is hidden, of which only a conflict is.
    is_known = choice == "local" or text != SECRET
    assert [each.settled_by for each in rerun.records] == [BY_RESOLUTION] * is_known


@RESOURCES
@pytest.mark.parametrize(("choice", "is_there"), [("upstream", True), ("local", False)])
def test_a_choice_on_a_resource_that_local_deleted(text: str, choice: str, is_there: bool) -> None:
    sides = [{"k": b"", "s.yaml": (text % "a").encode()}, {"k": b"", "s.yaml": (text % "b").encode()}, {"k": b""}]
    (record,) = conflicts(merge(sides))
    chosen = policy(resolution(record, choice))
    merged = merge(sides, chosen)
    assert [each.settled_by for each in conflicts(merged)] == [BY_RESOLUTION]
    assert ("s.yaml" in merged.files) == is_there
    assert again(sides, merged, chosen).changes == {}


def test_a_choice_on_a_resource_is_for_its_values() -> None:
    sides = [{"k": b"", "s.yaml": (ANNOTATED % "a").encode()}, {"k": b""}]
    (record,) = conflicts(merge([*sides, {"k": b"", "s.yaml": (ANNOTATED % "b").encode()}]))
    merged = merge([*sides, {"k": b"", "s.yaml": (ANNOTATED % "c").encode()}], policy(resolution(record, "upstream")))
    assert [each.settled_by for each in conflicts(merged)] == ["policy"]
    assert "s.yaml" in merged.files


def test_a_choice_on_a_secret_is_for_its_place_alone() -> None:
    sides = [{"k": b"", "s.yaml": (SECRET % "a").encode()}, {"k": b""}, {"k": b"", "s.yaml": (SECRET % "b").encode()}]
    (record,) = conflicts(merge(sides))
    merged = merge(sides, policy(resolution(record, "upstream", anywhere=True)))
    assert [each.settled_by for each in conflicts(merged)] == ["policy"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("values.yaml", "stringData:\n  p: %s\n"),
        ("values.yaml", "env:\n- name: DB_PASSWORD\n  value: %s\n"),
        ("s.yaml", SECRET),
    ],
)
def test_a_choice_on_a_hidden_value_is_known_by_its_place(file: str, text: str) -> None:
    """M6: in what is no resource, by its file; whatever the values are, and never by another side's than these two."""
    sides = [{file: (text % value).encode()} for value in "abc"]
    (record,) = conflicts(merge(sides))
    assert record.choices == ("upstream", "local")

    def merged(entry: dict[str, Any], path: str = file, values: str = "abc") -> tuple[str, bool]:
        done = merge([{path: (text % value).encode()} for value in values], policy(entry))
        return done.files[path].decode(), BY_RESOLUTION in {each.settled_by for each in done.records}

    entry = resolution(record, "local")
    assert merged(entry) == (text % "c", True)
    assert merged(entry, values="def") == (text % "f", True)
    assert merged(entry, values="abb") == (text % "b", False)
    assert merged(entry, path=f"other-{file}") == (text % ("c" if file == "s.yaml" else "b"), file == "s.yaml")
    assert merged({**entry, "fingerprint": "0" * 64}) == (text % "b", False)
    assert merged(resolution(record, "original")) == (text % "b", False)


def pipeline(*functions: str) -> dict[str, bytes]:
    lines = (f"  - image: {image}\n    configMap: {{x: '{x}'}}\n" for image, x in map(str.split, functions))
    return {"Kptfile": (KPTFILE + "".join(lines)).encode()}


def test_functions_that_somebody_chose_to_recognise_merge_as_with_smart_where_the_choice_fits() -> None:
    sides = [pipeline("a:1 1", "a:2 2"), pipeline("a:1 1", "a:3 2"), pipeline("m:1 9", "a:1 1", "a:2 2")]
    record = next(each for each in conflicts(merge(sides, function_identity="document")) if "recognise" in each.choices)
    chosen = policy(resolution(record, "recognise"))
    merged = merge(sides, chosen, function_identity="document")
    assert BY_RESOLUTION in {each.settled_by for each in merged.records}
    assert merged.files == merge(sides, function_identity="smart").files == pipeline("m:1 9", "a:1 1", "a:3 2")
    sides[1] = pipeline("a:1 1", "a:5 2")
    other = merge(sides, chosen, function_identity="document")
    assert {each.settled_by for each in conflicts(other)} == {"policy"}
