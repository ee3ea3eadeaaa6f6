"""How the settings of a run and of a package become the policy of a merge."""

from __future__ import annotations

import pickle
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from generated.texts import triple
from krm_merge.errors import KrmMergeError
from krm_merge.krm import Resource, Results
from krm_merge.merge import Policy, Resolution, Resolutions, ResourceOutcome, carry_out
from krm_merge.packages import File, PackageError, Tree, Version
from krm_merge.policy import PackagePolicy, parse_policy
from krm_merge.report import records_of
from krm_merge.text import Object
from krm_merge.usecases import MergeChoices, MergeSides, PackageUpdate, merge_for_git, merge_packages, merge_sides
from packages.repositories import kptfile


@pytest.mark.parametrize("side", ["upstream", "local"])
def test_between_markers_each_side_wins_once(side: Literal["upstream", "local"]) -> None:
    choices = MergeChoices.of(None, "smart", None, otherwise="markers")
    policy = choices.policy_won_by(side)
    assert (policy.on_conflict, policy.marks, policy.on_delete) == (side, True, side)


def test_what_is_not_left_open_between_markers_is_won_by_upstream() -> None:
    choices = MergeChoices.of(None, "smart", None, otherwise="markers")
    assert choices.on_conflict == "markers"
    policy = choices.policy
    assert (policy.on_conflict, policy.marks, policy.rules) == ("upstream", False, ())


@pytest.mark.parametrize(
    ("option", "package", "otherwise", "expected"),
    [
        ("local", "upstream", "markers", "local"),
        # Markers are for what nobody decided (M3).
        ("markers", "upstream", "fail", "upstream"),
        ("markers", None, "fail", "markers"),
        (None, "local", "markers", "local"),
        (None, None, "fail", "fail"),
    ],
)
def test_the_run_says_who_wins_then_the_package_then_the_command(
    option: Any, package: Any, otherwise: Any, expected: str
) -> None:
    choices = MergeChoices.of(option, "smart", None, otherwise=otherwise).obeying(PackagePolicy(package))
    assert choices.on_conflict == expected
    if expected != "markers":
        assert choices.policy.on_conflict == expected


@pytest.mark.parametrize(("function_identity", "smart"), [("smart", True), ("document", False)])
def test_functions_are_recognised_as_the_run_says(function_identity: str, smart: bool) -> None:
    assert MergeChoices.of(None, function_identity, None).smart is smart


@pytest.mark.parametrize(("function_identity", "conflicts"), [("smart", False), ("document", True)])
def test_functions_of_one_image_are_recognised_as_the_caller_says(
    function_identity: Literal["smart", "document"], conflicts: bool
) -> None:
    head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline:\n  mutators:\n"
    functions = "".join(f"  - image: set:v1\n    configMap: {{a: {value}, b: {value}}}\n" for value in "xy")
    versions = functions, functions.replace("v1", "v2"), functions.replace("b: y", "b: z")
    sides = [{"Kptfile": f"{head}{version}".encode()} for version in versions]
    assert merge_packages(*sides, function_identity=function_identity).has_conflicts is conflicts


def test_choices_made_elsewhere_come_behind_those_of_the_package() -> None:
    own, earlier = (Resolution("value", ("data", "a"), digit * 64, "local") for digit in "01")
    choices = MergeChoices.of(None, "smart", None).obeying(PackagePolicy(resolutions=Resolutions([own])))
    assert choices.remembering(Resolutions([earlier])).policy.resolutions.all == (own, earlier)
    assert choices.remembering(Resolutions([])) == choices


REPOSITORY = "https://git.example.com/web"


@dataclass(frozen=True)
class Upstream:
    """A repository in memory: refs are commits."""

    versions: Mapping[str, Tree]

    def resolve(self, repository: str, directory: str, ref: str) -> Version:
        return Version(ref, ref)

    def fetch(self, repository: str, commits: Sequence[str]) -> None:
        pass

    def tree(self, repository: str, directory: str, commit: str) -> Tree:
        return self.versions[commit]


def test_the_sides_of_an_update_are_the_versions_of_the_outermost_package() -> None:
    versions = {ref: {"Kptfile": File(b"kind: Kptfile\n"), "a.txt": File(ref.encode())} for ref in ("v0", "v1", "v2")}
    nested = {f"sub/{path}": file for path, file in versions["v1"].items()}
    kptfiles = {
        "Kptfile": kptfile(REPOSITORY, "v1", "v1"),
        "sub/Kptfile": kptfile(REPOSITORY, "v0", "v0", "/sub"),
    }
    local = versions["v1"] | nested | {path: File(text.encode()) for path, text in kptfiles.items()}
    update = PackageUpdate(local, Upstream(versions), "here", ref="v2")
    outcome = update.merge(MergeChoices.of(None, "smart", None).merger_under(Policy()))
    assert {name: str(side) for name, side in outcome.sides.items()} == {
        "original": "v1",
        "upstream": "v2",
        "local": "here",
    }
    assert outcome.tree["a.txt"].data == b"v2"
    assert len(outcome.updated) == 2


def test_a_stale_choice_is_reported_where_only_files_without_resources_were_merged() -> None:
    choice: Object = {"path": "", "nature": "file", "fingerprint": "0" * 64, "choice": "local"}
    policy: Object = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "resolutions": [choice]}
    choices = MergeChoices.of(None, "smart", None).obeying(parse_policy(policy, "merge-policy.yaml"))
    original, upstream, local = ({"README.md": File(text)} for text in (b"a\nb\n", b"a\nc\n", b"a\nb\n"))
    outcome = merge_sides(MergeSides(original, upstream, local), choices)
    assert [(bool(part.outcomes), bool(part.files)) for part in outcome.decided] == [(False, True)]
    choices.report_unused(outcome)
    assert [result.file for result in outcome.results if "README" not in str(result.file)] == ["merge-policy.yaml"]


@pytest.mark.parametrize("seed", range(20))
def test_decisions_are_data(seed: int) -> None:
    """They can be stored: a copy has the same records, and carries the same out."""
    original, upstream, local = (
        {path: File(text.encode()) for path, text in side.items()} for side in triple(random.Random(seed))
    )
    outcome = merge_sides(MergeSides(original, upstream, local), MergeChoices.of("local", "smart", None))
    copied = pickle.loads(pickle.dumps(outcome.decided))
    assert records_of(copied, outcome.policy) == outcome.records()
    for decided, stored in zip(outcome.decided[0].outcomes, copied[0].outcomes, strict=True):
        assert written(stored) == written(decided)


def written(outcome: ResourceOutcome) -> str:
    resource = Resource.from_tree(outcome.member.root)
    if outcome.fate == "merged":
        carry_out(resource, outcome, Results())
    return resource.text()


PACKAGE = {"a.txt": b"a\n"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"on_conflict": "me"}, "on_conflict is 'me'; expected one of upstream, local, fail"),
        ({"function_identity": "me"}, "function_identity is 'me'; expected one of document, smart"),
        ({"rules": [{"onConflict": "me"}]}, r"rules\[0\].onConflict is 'me'"),
        ({"upstream": {"../a": b""}}, "upstream: '../a' is not the path of a file in a package"),
        ({"local": {"a": "text"}}, "local: a: bytes are expected, not str"),
    ],
)
def test_what_cannot_be_merged_is_refused(options: dict[str, Any], problem: str) -> None:
    sides = {"original": PACKAGE, "upstream": PACKAGE, "local": PACKAGE}
    with pytest.raises(KrmMergeError, match=problem):
        merge_packages(**{**sides, **options})


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: {}\n"
POLICY = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata:\n  name: p\nonConflict: {}\n"


@pytest.mark.parametrize(
    ("options", "policy", "value"),
    [
        ({}, "", "u"),
        ({"on_conflict": "local"}, "", "l"),
        ({}, "local", "l"),
        ({"on_conflict": "local"}, "upstream", "l"),
        ({"on_conflict": "fail"}, "", "l"),
        ({"rules": [{"kind": "ConfigMap", "onConflict": "local"}]}, "", "l"),
        (
            {"policy": {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "onConflict": "local"}},
            "upstream",
            "l",
        ),
    ],
)
def test_who_wins_a_conflict(options: dict[str, Any], policy: str, value: str) -> None:
    original, upstream, local = ({"c.yaml": CONFIG_MAP.format(side).encode()} for side in "oul")
    if policy:
        local["p.yaml"] = POLICY.format(policy).encode()
    merged = merge_packages(original, upstream, local, **options)
    assert merged.files["c.yaml"].decode() == CONFIG_MAP.format(value)
    assert merged.has_conflicts
    assert dict(merged.changes) == ({} if value == "l" else {"c.yaml": merged.files["c.yaml"]})
    assert [record.status for record in merged.records] == ["open" if "fail" in options.values() else "settled"]


def test_a_package_without_conflicts_has_none_and_names_deleted_files() -> None:
    merged = merge_packages(PACKAGE | {"b.txt": b"b\n"}, PACKAGE, PACKAGE | {"b.txt": b"b\n"})
    assert (dict(merged.files), dict(merged.changes), merged.has_conflicts) == (PACKAGE, {"b.txt": None}, False)


@pytest.mark.parametrize(("values", "is_silent"), [("ool", True), ("oul", False)])
def test_a_file_is_merged_for_git(tmp_path: Path, values: str, is_silent: bool) -> None:
    places = [tmp_path / name for name in ("base", "ours", "theirs")]
    for place, value in zip(places, (values[0], values[2], values[1]), strict=True):
        place.write_text(CONFIG_MAP.format(value))
    merge = merge_for_git(places, "", MergeChoices.of(None, "smart", None, otherwise="markers"))
    merge.write()
    assert merge.is_silent is is_silent
    assert ("<<<<<<< ours\n  a: l\n=======\n  a: u\n" in places[1].read_text()) is not is_silent
    assert merge.outcome.marked == (not is_silent)


@pytest.mark.parametrize(
    ("sides", "option", "leaves_conflicts", "reported"),
    [
        # A change of one side is no news.
        (["  a: 1\n  b: 1\n", "  a: 2\n  b: 1\n", "  a: 1\n  b: 2\n"], None, False, []),
        (["  a: 1\n", "  a: 1 # u\n", "  a: 1 # l\n"], None, False, ["info"]),
        (["  a: 1\n", "  a: 2\n", "  a: 3\n"], "local", False, ["warning"]),
        (["\0a", "\0b", "\0c"], None, True, ["warning"]),
        (["\0a", "\0b", "\0c"], "local", False, ["warning"]),
    ],
)
def test_a_merge_for_git_reports_conflicts_and_lost_comments(
    tmp_path: Path, sides: list[str], option: Any, leaves_conflicts: bool, reported: list[str]
) -> None:
    places = [tmp_path / name for name in ("base", "ours.txt", "theirs")]
    for place, side in zip(places, (sides[0], sides[2], sides[1]), strict=True):
        place.write_text(side if "\0" in side else CONFIG_MAP.replace("  a: {}\n", side))
    merge = merge_for_git(places, "", MergeChoices.of(option, "smart", None, otherwise="markers"))
    assert merge.outcome.leaves_conflicts is leaves_conflicts
    assert [result.severity for result in merge.reported] == reported
    assert merge.is_silent is (not reported)
    assert merge.path.startswith("ours.txt")


def test_a_file_that_is_not_there_is_no_side_of_a_merge_for_git(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("base", "ours", "theirs")]
    for place, text in zip(places, (CONFIG_MAP.format("o"), CONFIG_MAP.format("o"), ""), strict=True):
        place.write_text(text)
    merge_for_git(places, "", MergeChoices.of(None, "smart", None, otherwise="markers")).write()
    assert places[1].read_text() == ""


@pytest.mark.parametrize("text", [b"\xff", b"rule: []\n"])
def test_a_file_of_rules_that_cannot_be_read_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "r.yaml").write_bytes(text)
    with pytest.raises(PackageError, match=r"r\.yaml: "):
        MergeChoices.of(None, "smart", tmp_path / "r.yaml")


def test_a_rule_that_matches_nothing_is_reported(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(
        "rules: [{kind: ConfigMap, onConflict: local}, {kind: Other, onConflict: local}]\n"
    )
    choices = MergeChoices.of(None, "smart", tmp_path / "r.yaml")
    original, upstream, local = ({"c.yaml": File(CONFIG_MAP.format(side).encode())} for side in "oul")
    outcome = merge_sides(MergeSides(original, upstream, local), choices)
    choices.report_unused(outcome)
    warnings = [result.message for result in outcome.results if result.severity == "warning"]
    assert [
        message.partition(": ")[2] for message in warnings if "r.yaml" in message and "matches nothing" in message
    ] == ["rules[1] matches nothing in the package; check its kind, name and path"]


def test_a_report_has_the_lines_around_conflicts_where_it_is_asked_for_them() -> None:
    text = CONFIG_MAP + "  b: {}\n"
    original, upstream, local = ({"c.yaml": File(text.format(*side).encode())} for side in ("oo", "uu", "lo"))
    outcome = merge_sides(MergeSides(original, upstream, local), MergeChoices.of(None, "smart", None))
    report = outcome.report("p", with_contexts=True)
    assert report.package == "p"
    assert {record.path: record.status for record in report.records} == {"data.a": "settled", "data.b": "automatic"}
    assert list(report.contexts) == [record.id for record in report.records if record.path == "data.a"]
    assert not outcome.report("p").contexts
