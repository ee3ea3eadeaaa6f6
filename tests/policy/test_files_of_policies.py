"""Where a MergePolicy and rules are read, and what their files may hold."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from krm_merge.krm import KPTFILE
from krm_merge.merge import OnConflict
from krm_merge.packages import File
from krm_merge.policy import (
    MergeRules,
    PackagePolicy,
    PolicyError,
    find_policy,
    find_policy_around,
    parse_policy,
    rule_value,
    stale_messages,
)
from krm_merge.policy.package_policy import RulesError, read_rules
from krm_merge.text import Object, Value
from krm_merge.usecases import MergeChoices, MergeSides, merge_sides

POLICY = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata: {name: p}\nonConflict: %s\n"


@pytest.mark.parametrize(
    ("files", "winner"),
    [
        ({}, "local"),
        ({"pkg/a/c.yaml": "kind: A\n"}, "local"),
        ({"pkg/a/policy.yaml": POLICY % "upstream"}, "upstream"),
        # A package of its own, which the policy around it is not for.
        ({f"pkg/a/{KPTFILE}": "kind: Kptfile\n"}, None),
        # Neither is a file that holds resources.
        ({"pkg/a/notes.txt": POLICY % "upstream"}, "local"),
        ({"pkg/a/folder.yaml/notes.txt": ""}, "local"),
    ],
)
def test_the_policy_around_a_file_is_that_of_the_nearest_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], winner: OnConflict | None
) -> None:
    for path, text in ({"pkg/policy.yaml": POLICY % "local", "pkg/a/x": ""} | files).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert find_policy_around(Path("pkg/a/c.yaml")).on_conflict == winner


def test_a_file_outside_of_the_working_directory_has_no_policy_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "policy.yaml").write_text(POLICY % "local")
    monkeypatch.chdir(tmp_path / "inside")
    assert find_policy_around(tmp_path / "c.yaml") == PackagePolicy()
    assert find_policy_around(Path("../c.yaml")) == PackagePolicy()


def test_a_policy_may_lie_beside_other_documents() -> None:
    others = "- kind: MergePolicy\n---\napiVersion: v1\nkind: A # not kind: MergePolicy\n---\n"
    assert find_policy({"a.yaml": File((others + POLICY % "local").encode())}).on_conflict == "local"


def test_only_the_file_that_is_named_for_it_must_be_readable() -> None:
    """Any other may be the template of something."""
    wrong = File(b"kind: MergePolicy\na: [")
    assert find_policy({"other.yaml": wrong}) == PackagePolicy()
    with pytest.raises(PolicyError, match=r"merge-policy\.yaml: line 3, column 1: not valid YAML"):
        find_policy({"merge-policy.yaml": wrong})


@pytest.mark.parametrize(("upstream", "is_stale"), [(b"b\n", False), (b"a\n", True)])
def test_a_choice_for_a_file_without_resources_is_stale_where_it_settles_nothing(
    upstream: bytes, is_stale: bool
) -> None:
    original, theirs, ours = ({"a.txt": File(text)} for text in (b"a\n", upstream, b"c\n"))

    def merge(package: PackagePolicy) -> tuple[str, list[str]]:
        outcome = merge_sides(
            MergeSides(original, theirs, ours), MergeChoices.of("upstream", "smart", None).obeying(package)
        )
        fingerprints = [record.fingerprint for record in outcome.records()]
        return "".join(fingerprints), stale_messages(package, outcome.decided)

    fingerprint = merge(PackagePolicy())[0] or "0" * 64
    choice: Object = {"path": "", "nature": "file", "fingerprint": fingerprint, "choice": "local"}
    policy: Object = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "resolutions": [choice]}
    assert len(merge(parse_policy(policy, "p.yaml"))[1]) == is_stale


@pytest.mark.parametrize(
    ("keys", "expected"),
    [("k", ["k"]), ("k1, k2", ["k1", "k2"]), (["k"], ["k"]), (["k1,k2", "k3"], ["k1", "k2", "k3"])],
)
def test_keys_of_a_list_are_one_text_or_several(keys: Value, expected: list[str]) -> None:
    entry: Object = {"apiVersion": "a/v1", "kind": "A", "path": "spec.parts", "keys": keys}
    (list_keys,) = read_rules(f"listKeys: [{entry}]").list_keys
    assert list(list_keys.keys) == expected
    jsonschema.validate({"listKeys": [entry]}, MergeRules.model_json_schema())


@pytest.mark.parametrize("keys", ["", [], 1, [1], ["k", 1], {"k": 1}])
def test_keys_that_are_no_names_are_refused(keys: Value) -> None:
    entry: Object = {"apiVersion": "a/v1", "kind": "A", "path": "spec.parts", "keys": keys}
    with pytest.raises(RulesError, match=r"listKeys\[0\]\.keys"):
        read_rules(f"listKeys: [{entry}]")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"listKeys": [entry]}, MergeRules.model_json_schema())


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "A", "onConflict": "local"},
        {"group": "", "namespace": "n", "name": "a", "path": "spec.parts[name=x].b", "onDelete": "upstream"},
    ],
)
def test_a_rule_is_written_as_it_was_read(rule: Object) -> None:
    (read,) = read_rules(f"rules: [{rule}]").rules
    assert rule_value(read) == rule
