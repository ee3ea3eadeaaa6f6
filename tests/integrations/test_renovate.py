"""The preset for Renovate: what its expression finds in Kptfiles, and the command that runs after an upgrade."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import re2  # type: ignore[import-untyped]

from checkout import ROOT
from e2e.hosts import git
from integrations.workflows import World

PRESET = json.loads((ROOT / "integrations" / "renovate" / "kpt.json").read_text(encoding="utf-8"))
(MANAGER,) = PRESET["customManagers"]
(PATTERN,) = MANAGER["matchStrings"]
(RULE,) = PRESET["packageRules"]
BY_KPT = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
upstream:
  type: git
  git:
    repo: https://github.com/example/packages.git
    directory: /web
    ref: web/v1.0
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git:
    repo: https://github.com/example/packages.git
    directory: /web
    ref: web/v0.9
    commit: abc
"""


def named_groups(pattern: str) -> str:
    """The pattern as Python and RE2's binding for it write groups."""
    return pattern.replace("(?<", "(?P<")


@pytest.mark.parametrize(
    ("kptfile", "dependency"),
    [
        (BY_KPT, ("https://github.com/example/packages.git", "example/packages", "web/v1.0")),
        (
            BY_KPT.replace("    directory: /web\n    ref: web/v1.0", "    ref: 'v1.0' # ours"),
            ("https://github.com/example/packages.git", "example/packages", "v1.0"),
        ),
        (
            BY_KPT.replace(
                "repo: https://github.com/example/packages.git\n    directory: /web\n    ref: web/v1.0",
                'repo: "git@example.com:team/shop" # ssh\n    directory: /\n    ref: v2',
            ),
            ("git@example.com:team/shop", "team/shop", "v2"),
        ),
    ],
)
def test_the_expression_finds_the_ref_of_upstream(kptfile: str, dependency: tuple[str, str, str]) -> None:
    """Renovate matches with RE2."""
    (match,) = re2.finditer(named_groups(PATTERN), kptfile)
    assert (match["packageName"], match["depName"], match["currentValue"]) == dependency


def test_a_package_without_upstream_is_left_alone() -> None:
    kptfile = BY_KPT[: BY_KPT.index("upstream:")] + BY_KPT[BY_KPT.index("upstreamLock:") :]
    assert list(re2.finditer(named_groups(PATTERN), kptfile)) == []


@pytest.mark.parametrize(
    ("tag", "parts"),
    [("v1.2.3", (None, "1", "2", "3")), ("web/v1.2", ("web/", "1", "2", None)), ("main", None), ("v1.0-rc1", None)],
)
def test_tags_with_one_prefix_are_compared(tag: str, parts: tuple[str | None, ...] | None) -> None:
    versioning = named_groups(MANAGER["versioningTemplate"].removeprefix("regex:"))
    match = re.fullmatch(versioning, tag)
    assert (None if match is None else match.group("compatibility", "major", "minor", "patch")) == parts


def test_the_command_merges_what_the_new_ref_names(tmp_path: Path) -> None:
    world = World.create(tmp_path)
    kptfile = world.clone / "web" / "Kptfile"
    text = kptfile.read_text(encoding="utf-8")
    # What Renovate does first.
    kptfile.write_text(text.replace("ref: v1", "ref: v2", 1), encoding="utf-8")
    (command,) = RULE["postUpgradeTasks"]["commands"]
    done = world.run(command.replace("{{{packageFileDir}}}", "web"), {})
    assert done.returncode == 0, done.stderr
    assert "replicas: '2'" in (world.clone / "web" / "a.yaml").read_text(encoding="utf-8")
    assert kptfile.read_text(encoding="utf-8").count("ref: v2") == 2


def test_conflicts_that_the_package_leaves_open_stay_between_markers(tmp_path: Path) -> None:
    world = World.create(tmp_path, replicas="5")
    kptfile = world.clone / "web" / "Kptfile"
    raised = kptfile.read_text(encoding="utf-8").replace("ref: v1", "ref: v2", 1)
    kptfile.write_text(raised, encoding="utf-8")
    (command,) = RULE["postUpgradeTasks"]["commands"]
    command = command.replace("{{{packageFileDir}}}", "web")
    policy = "apiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata:\n  name: merge-policy\nonConflict: local\n"
    (world.clone / "web" / "merge-policy.yaml").write_text(policy, encoding="utf-8")
    assert world.run(command, {}).returncode == 0
    assert "replicas: '5'" in (world.clone / "web" / "a.yaml").read_text(encoding="utf-8")
    git(world.clone, "checkout", "--quiet", "web")
    (world.clone / "web" / "merge-policy.yaml").unlink()
    kptfile.write_text(raised, encoding="utf-8")
    assert world.run(command, {}).returncode == 1
    assert "<<<<<<< ours" in (world.clone / "web" / "a.yaml").read_text(encoding="utf-8")


def test_the_command_is_the_one_that_the_page_allows() -> None:
    page = (ROOT / "docs" / "integrations" / "renovate.md").read_text(encoding="utf-8")
    (allowed,) = re.findall(r'allowedCommands: \["(.*)"\]', page)
    (command,) = RULE["postUpgradeTasks"]["commands"]
    for folder in ("", "web", "teams/web"):
        assert re.search(allowed.replace("\\\\", "\\"), command.replace("{{{packageFileDir}}}", folder))
