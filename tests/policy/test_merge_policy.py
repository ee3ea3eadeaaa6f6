"""The MergePolicy of a package in every command, and what `check` finds in it."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import jsonschema
import pytest
import yaml

from checkout import ROOT
from e2e.in_process import krm_merge
from krm_merge.errors import KrmMergeError
from krm_merge.functions import process
from krm_merge.merge import OnConflict
from krm_merge.packages import File
from krm_merge.policy import (
    PackagePolicy,
    PolicyError,
    combine,
    edit_policy,
    find_policy,
    parse_policy,
    stale_messages,
)
from krm_merge.policy.package_policy import RulesError, read_rules
from krm_merge.text import Object

POLICY = """\
# How this package wants its conflicts settled.
apiVersion: fn.kpt.dev/v1alpha1
kind: MergePolicy
metadata:
  name: merge-policy
  annotations:
    config.kubernetes.io/local-config: "true"
onConflict: local   # ours
"""
TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: {}\n"
RESOLUTION = """\
- path: data.a
  nature: value
  fingerprint: {}
  choice: {}
"""


def run(place: Path, *arguments: str, code: int = 0) -> str:
    done = krm_merge(*arguments, cwd=place)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    for name, value in (("o", "b"), ("u", "c"), ("l", "d")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "c.yaml").write_text(TEXT.format(value))
    return tmp_path


def fingerprint(sides: Path) -> str:
    (record,) = json.loads(run(sides, "merge", "o", "u", "l", "--format", "json", code=1))["records"]
    return str(record["fingerprint"])


def test_merge_obeys_it_and_the_command_line_comes_first(sides: Path) -> None:
    (sides / "l" / "merge-policy.yaml").write_text(POLICY)
    run(sides, "merge", "o", "u", "l", "-o", "m")
    assert (sides / "m" / "c.yaml").read_text() == TEXT.format("d")
    run(sides, "merge", "o", "u", "l", "-o", "n", "--on-conflict", "upstream")
    assert (sides / "n" / "c.yaml").read_text() == TEXT.format("c")


RULES = {
    "a rule": "rules:\n- {kind: ConfigMap, path: data.a, onConflict: local}\n",
    "a choice": "resolutions:\n",
}


@pytest.mark.parametrize("options", [[], ["--on-conflict", "upstream"], ["--on-conflict", "markers"]], ids=str)
@pytest.mark.parametrize("settled_by", RULES)
def test_what_rules_and_choices_settle_stops_nothing_and_stays_so(
    sides: Path, settled_by: str, options: list[str]
) -> None:
    """`--on-conflict` is for what is open: `b` is, `a` is not."""
    more = RESOLUTION.format(fingerprint(sides), "local") if settled_by == "a choice" else ""
    policy = POLICY.replace("onConflict: local   # ours\n", RULES[settled_by] + more)
    (sides / "l" / "merge-policy.yaml").write_text(policy)
    run(sides, "merge", "o", "u", "l", "-o", "m", *options)
    assert (sides / "m" / "c.yaml").read_text() == TEXT.format("d")
    for side, value in (("o", "1"), ("u", "2"), ("l", "3")):
        with (sides / side / "c.yaml").open("a") as file:
            file.write(f"  b: {value}\n")
    done = run(sides, "merge", "o", "u", "l", "-o", "n", *options, code="upstream" not in options)
    assert (sides / "n").exists() == bool(options)
    if not options:
        assert "error   c.yaml: data.b: upstream changed it, local changed it (original 1, upstream 2, local 3)" in done
        assert "stopped at 1 conflict, the rest merges; nothing was written. Run one of:" in done
        return
    merged = (sides / "n" / "c.yaml").read_text()
    assert merged.startswith(TEXT.format("d"))
    assert ("<<<<<<< ours\n  b: 3\n=======\n  b: 2\n" in merged) == ("markers" in options)


def test_the_policy_of_a_package_comes_before_markers(sides: Path) -> None:
    (sides / "l" / "merge-policy.yaml").write_text(POLICY)
    run(sides, "merge", "o", "u", "l", "-o", "m", "--on-conflict", "markers")
    assert (sides / "m" / "c.yaml").read_text() == TEXT.format("d")


@pytest.mark.parametrize(
    ("rule", "code", "is_kept"),
    [
        ("{kind: ConfigMap, onDelete: upstream}", 0, False),
        ("{kind: ConfigMap, onDelete: local}", 0, True),
        ("{kind: ConfigMap, onConflict: upstream}", 0, True),
        ("{kind: Deployment, onDelete: upstream}", 1, None),
        ("{kind: ConfigMap, onConflict: fail, onDelete: upstream}", 0, False),
        ("{kind: ConfigMap, onConflict: fail}", 1, None),
    ],
)
def test_a_rule_for_deletions_settles_them(sides: Path, rule: str, code: int, is_kept: bool | None) -> None:
    """F5: a resource that upstream removed and local changed."""
    (sides / "u" / "c.yaml").unlink()
    (sides / "l" / "merge-policy.yaml").write_text(
        POLICY.replace("onConflict: local   # ours\n", f"rules:\n- {rule}\n")
    )
    run(sides, "merge", "o", "u", "l", "-o", "m", code=code)
    assert (sides / "m").exists() == (is_kept is not None)
    assert (sides / "m" / "c.yaml").exists() == bool(is_kept)


def test_a_choice_is_replayed_and_a_stale_one_is_reported(sides: Path) -> None:
    fingerprints = fingerprint(sides)
    text = (
        POLICY + "resolutions:\n" + RESOLUTION.format(fingerprints, "original") + RESOLUTION.format("ab" * 32, "local")
    )
    (sides / "l" / "merge-policy.yaml").write_text(text)
    output = run(sides, "merge", "o", "u", "l", "--in-place", "--on-conflict", "fail")
    assert "settled by merge-policy.yaml resolutions[0]: original" in output
    assert "merge-policy.yaml resolutions[1]: matches no conflict" in output
    assert (sides / "l" / "c.yaml").read_text() == TEXT.format("b")
    again = run(sides, "merge", "o", "u", "l", "--in-place", "--on-conflict", "fail")
    assert "no file changes" in again
    assert "resolutions[0]: matches no conflict" not in again


def test_choices_of_upstream_never_come_in(sides: Path) -> None:
    policy = (
        POLICY.replace("local   # ours", "upstream") + "resolutions:\n" + RESOLUTION.format(fingerprint(sides), "local")
    )
    (sides / "u" / "merge-policy.yaml").write_text(policy)
    run(sides, "merge", "o", "u", "l", "--in-place", "--on-conflict", "upstream")
    added = (sides / "l" / "merge-policy.yaml").read_text()
    assert "onConflict: upstream" in added
    assert "resolutions" not in added
    (sides / "o" / "merge-policy.yaml").write_text(POLICY)
    (sides / "l" / "merge-policy.yaml").write_text(POLICY + "resolutions:\n" + RESOLUTION.format("ab" * 32, "local"))
    run(sides, "merge", "o", "u", "l", "--in-place")
    merged = (sides / "l" / "merge-policy.yaml").read_text()
    assert "onConflict: upstream\n" in merged
    assert "fingerprint: " + "ab" * 32 in merged


def test_a_wrong_policy_is_refused(sides: Path) -> None:
    (sides / "l" / "merge-policy.yaml").write_text(POLICY.replace("local   # ours", "me"))
    assert "merge-policy.yaml: onConflict is 'me'" in run(sides, "merge", "o", "u", "l", code=3)


def test_the_policy_of_a_package_lies_in_its_own_folder_in_a_file_that_holds_resources() -> None:
    policy = File(POLICY.encode())
    for path in ("merge-policy.yaml", "other.yml"):
        assert find_policy({"a.yaml": File(b"kind: A\n"), path: policy}).file == path
    for path in ("nested/merge-policy.yaml", "merge-policy.txt"):
        assert find_policy({path: policy}).on_conflict is None
    with pytest.raises(
        PolicyError, match=r"other.yaml: a second MergePolicy; the package has one in merge-policy.yaml"
    ):
        find_policy({"other.yaml": policy, "merge-policy.yaml": policy})


@pytest.mark.parametrize(
    ("kind", "fields", "problem"),
    [
        ("ConfigMap", {"choice": "value", "value": 1}, ""),
        ("ConfigMap", {"choice": "value", "value": None}, ""),
        ("ConfigMap", {"choice": "value"}, "the field value is missing"),
        ("ConfigMap", {"choice": "local", "value": 1}, "remove one of the two"),
        ("Secret", {"choice": "local"}, ""),
        ("Secret", {"choice": "value", "value": "x"}, "values of Secrets are not recorded"),
        ("", {"choice": "value", "value": "x"}, ""),
    ],
)
def test_a_choice_has_a_value_where_it_is_one_and_never_that_of_a_secret(
    kind: str, fields: Object, problem: str
) -> None:
    resource: Object = {"resource": {"apiVersion": "v1", "kind": kind, "name": "c"}} if kind else {}
    choice: Object = {**resource, "path": "data.a", "nature": "value", "fingerprint": "0" * 64, **fields}
    policy: Object = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "resolutions": [choice]}
    with pytest.raises(PolicyError, match=problem) if problem else nullcontext():
        assert len(parse_policy(policy, "p.yaml").resolutions.all) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "not valid YAML"),
        ("", "a mapping with rules or listKeys is expected"),
        ("- rules\n", "a mapping with rules or listKeys is expected"),
        ("rule: []\n", "rule is an unknown field; choose from rules and listKeys"),
        ("rules: [{onConflict: me}]\n", "rules[0].onConflict is 'me'"),
    ],
)
def test_a_file_of_rules_that_cannot_be_used_is_refused(text: str, problem: str) -> None:
    with pytest.raises(RulesError, match=re.escape(problem)):
        read_rules(text)


def test_a_file_of_rules_may_be_a_whole_functionconfig() -> None:
    rules = read_rules("kind: MergePackage\nspec: {}\nrules: [{kind: A, onConflict: local}]\n", "r.yaml").rules
    assert [(rule.kind, rule.on_conflict) for rule in rules] == [("A", "local")]


def test_a_choice_for_packages_of_a_campaign_is_refused_in_a_package() -> None:
    choice: Object = {
        "path": "data.a",
        "nature": "value",
        "fingerprint": "0" * 64,
        "choice": "local",
        "packages": ["a"],
    }
    policy: Object = {"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "resolutions": [choice]}
    with pytest.raises(PolicyError, match=r"resolutions\[0\].packages is for the policy.yaml of a campaign"):
        parse_policy(policy, "p.yaml")


def choice(path: str, side: str) -> Object:
    return {"path": path, "nature": "value", "fingerprint": "0" * 64, "choice": side}


def test_new_choices_and_rules_take_the_place_of_those_that_they_replace() -> None:
    file = edit_policy(
        None, "p.yaml", [choice("data.a", "local"), choice("data.b", "local")], [{"kind": "A", "onConflict": "local"}]
    )
    file = edit_policy(file, "p.yaml", [choice("data.a", "upstream")], [{"kind": "B", "onConflict": "local"}])
    file = edit_policy(file, "p.yaml", [], [{"kind": "A", "onConflict": "upstream"}], [choice("data.b", "local")])
    assert file.data.decode() == POLICY.partition("\n")[2].replace(
        "onConflict: local   # ours\n",
        """\
rules:
- kind: A
  onConflict: upstream
- kind: B
  onConflict: local
resolutions:
- path: data.a
  nature: value
  fingerprint: "%s"
  choice: upstream
""",
    ) % ("0" * 64)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("a: [", "p.yaml: line 2, column 1: not valid YAML"), ("kind: A\n", "p.yaml exists but holds no MergePolicy")],
)
def test_a_file_without_a_policy_takes_no_choices(text: str, problem: str) -> None:
    with pytest.raises(KrmMergeError, match=problem):
        edit_policy(File(text.encode()), "p.yaml", [choice("data.a", "local")], [])


def test_more_choices_than_the_limit_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRM_MERGE_MAX_RULES", "1")
    with pytest.raises(KrmMergeError, match=r"p\.yaml: rules: 2 "):
        edit_policy(None, "p.yaml", [], [{"kind": kind, "onConflict": "local"} for kind in "AB"])


@pytest.mark.parametrize("name", ["merge-policy.yaml", "policy.yml"])
def test_the_merge_driver_obeys_the_package_around_a_file(sides: Path, name: str) -> None:
    (sides / "pkg" / "deep").mkdir(parents=True)
    (sides / "pkg" / name).write_text(POLICY)
    (sides / "pkg" / "Kptfile").write_text("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n")
    run(sides, "merge-driver", "o/c.yaml", "l/c.yaml", "u/c.yaml", "pkg/deep/c.yaml")
    assert (sides / "l" / "c.yaml").read_text() == TEXT.format("d")
    run(sides, "merge-driver", "o/c.yaml", "l/c.yaml", "u/c.yaml", "elsewhere/c.yaml", code=1)
    assert "<<<<<<< ours" in (sides / "l" / "c.yaml").read_text()


def indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_the_function_obeys_it() -> None:
    kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\ninfo:\n  description: {}\n"

    def item(text: str) -> str:
        return "- " + "".join(f"  {line}\n" for line in text.splitlines())[2:]

    def merge(config: str, *policies: str) -> tuple[str, int]:
        data = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + item(kptfile.format("c"))
        data += "".join(map(item, policies))
        data += "functionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: MergePackage\n" + config
        data += "  original: |\n" + indent(kptfile.format("a")) + "  upstream: |\n" + indent(kptfile.format("b"))
        done = process(data.encode())
        return done.output.decode().partition("functionConfig:")[0], done.exit_code

    policy = POLICY.partition("\n")[2]
    assert "description: b" in merge("")[0]
    assert "description: c" in merge("", policy)[0]
    assert "description: b" in merge("  onConflict: upstream\n", policy)[0]
    assert merge("", policy.replace("onConflict: local", "onConflict: me"))[1] == 1
    assert merge("", policy, policy)[1] == 1


def test_the_example_of_the_page_is_a_policy_by_model_and_schema() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    (block,) = [text for text in re.findall(r"(?s)```yaml\n(.*?)```", page) if "kind: MergePolicy" in text]
    example = yaml.safe_load(block)
    schema = json.loads((ROOT / "docs" / "schemas" / "merge-policy.json").read_text(encoding="utf-8"))
    jsonschema.validate(example, schema)
    policy = parse_policy(example, "merge-policy.yaml")
    assert (policy.on_conflict, len(policy.rules), policy.resolutions.all[0].choice) == ("upstream", 1, "local")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**example, "resolutions": [{"choice": "both"}]}, schema)


@pytest.mark.parametrize(
    ("option", "package", "stops", "expected"),
    [
        (None, None, False, ("upstream", False)),
        (None, None, True, ("fail", True)),
        (None, "local", True, ("local", False)),
        ("upstream", "local", True, ("upstream", False)),
        ("fail", None, True, ("fail", False)),
    ],
)
def test_a_merge_stops_where_neither_the_run_nor_the_package_says_who_wins(
    option: OnConflict | None, package: OnConflict | None, stops: bool, expected: tuple[str, bool]
) -> None:
    policy = combine(option, (), PackagePolicy(package), stops=stops)
    assert (policy.on_conflict, policy.stops) == expected


@pytest.mark.parametrize(("count", "messages"), [(0, 0), (1, 1), (3, 3), (4, 1)])
def test_up_to_three_stale_choices_are_named_each(count: int, messages: int) -> None:
    choices = [choice(f"data.{name}", "local") for name in "abcd"[:count]]
    policy = parse_policy({"apiVersion": "fn.kpt.dev/v1alpha1", "kind": "MergePolicy", "resolutions": [*choices]}, "p")
    assert len(stale_messages(policy, [])) == messages
