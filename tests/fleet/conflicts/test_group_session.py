"""A session about groups of equal conflicts: one choice for all packages, and packages that are settled apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fleet.groups import campaign, conflict, groups, teams
from krm_merge.fleet.conflicts import GroupSession, GroupSteps
from krm_merge.resolve.api import Host
from krm_merge.resolve.choices import ChoiceJournal
from krm_merge.resolve.interface import NotSettledError, RefusedChoiceError

REPLICAS = conflict()
IMAGE = conflict("spec.image", "own")
PORT = conflict("spec.port", 8080, kind="Service")


def session(policy: bytes = b"") -> GroupSession:
    found = groups((REPLICAS, teams(1, 2, 3, 4)), (PORT, teams(1, 2, 3)), (IMAGE, teams(1)))
    return GroupSession(campaign(policy), found)


def policy_of(made: GroupSession) -> str:
    file = made.save().changes["policy.yaml"]
    assert file is not None
    return file.data.decode().partition("\nresolutions:\n")[2] or file.data.decode().partition("\nrules:\n")[2]


def test_groups_of_one_kind_are_together_the_largest_kind_first() -> None:
    made = session()
    assert [(one.file, one.path) for one in made.records] == [
        ("Deployment", "spec.replicas"),
        ("Deployment", "spec.image"),
        ("Service", "spec.port"),
    ]
    assert [len(made.packages(one.id)) for one in made.records] == [4, 1, 3]
    assert not made.can_save


def test_groups_that_differ_in_local_alone_are_two() -> None:
    made = GroupSession(campaign(), groups((REPLICAS, teams(1)), (conflict(local=7), teams(2))))
    first, second = made.records
    made.choose([first.id], "local")
    assert [one.status for one in made.records] == ["settled", "open"]
    assert first.id != second.id


def test_a_choice_on_hidden_values_is_for_their_place() -> None:
    hidden = replace(conflict("data.p", kind="Secret"), values={}, alike={"local": "A"}, choices=("upstream", "local"))
    made = GroupSession(campaign(), groups((hidden, teams(1, 2))))
    made.choose([made.records[0].id], "local")
    assert made.records[0].settled_by == "resolution policy.yaml"
    assert policy_of(made).startswith("- resource:\n    apiVersion: apps/v1\n    kind: Secret\n")
    made.set_apart(made.records[0].id, ["teams/team-2/web"])
    made.choose([made.records[1].id], "upstream")
    assert "  packages:\n  - teams/team-2/web\n" in policy_of(made)
    with pytest.raises(RefusedChoiceError, match="a campaign keeps no secret values"):
        made.hidden_values(made.records[0].id)


def test_a_choice_for_a_group() -> None:
    made = session()
    answer = made.choose([made.records[0].id], "local")
    (record,) = answer.records
    assert (record.status, record.chosen, record.values["result"]) == ("settled", "local", 5)
    assert policy_of(made) == (
        f"- path: spec.replicas\n  nature: value\n  fingerprint: {REPLICAS.fingerprint}\n  choice: local\n"
    )


def test_packages_are_settled_apart() -> None:
    made = session()
    group = made.records[0].id
    answer = made.set_apart(group, ["teams/team-[12]/*", "teams/team-4"])
    assert [one.id for one in answer.records] == [group, f"{group}-1"]
    assert made.packages(group) == ("teams/team-3/web",)
    assert made.packages(f"{group}-1") == ("teams/team-1/web", "teams/team-2/web", "teams/team-4/web")
    made.choose([group], "upstream")
    made.choose([f"{group}-1"], "value", "3")
    assert policy_of(made) == (
        f"- path: spec.replicas\n  nature: value\n  fingerprint: {REPLICAS.fingerprint}\n  choice: upstream\n"
        "- packages:\n  - teams/team-1/web\n  - teams/team-2/web\n  - teams/team-4/web\n"
        f"  path: spec.replicas\n  nature: value\n  fingerprint: {REPLICAS.fingerprint}\n  choice: value\n  value: 3\n"
    )


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["teams/team-9"], "none of the packages is called teams/team-9"),
        ([], "none of the packages is called like that"),
        (["*"], "these are all packages; choose for the group"),
    ],
)
def test_packages_that_cannot_be_apart(patterns: list[str], said: str) -> None:
    made = session()
    with pytest.raises(RefusedChoiceError, match=said.replace("*", ".")):
        made.set_apart(made.records[0].id, patterns)
    assert not made.can_undo


def test_always_is_a_rule_for_all_packages() -> None:
    made = session()
    group = made.records[0].id
    made.choose([group], "local", always=True)
    assert policy_of(made) == "- group: apps\n  kind: Deployment\n  path: spec.replicas\n  onConflict: local\n"
    made.set_apart(group, ["teams/team-1"])
    with pytest.raises(RefusedChoiceError, match="a rule is for all packages"):
        made.choose([f"{group}-1"], "local", always=True)
    with pytest.raises(RefusedChoiceError, match="a rule says upstream or local"):
        made.choose([group], "original", always=True)


@pytest.mark.parametrize(
    ("choice", "value", "said"),
    [
        ("recognise", None, "recognise cannot be chosen here; upstream, local, original, value can"),
        ("value", "[1]", "this is a list, and a text or number is expected here"),
    ],
)
def test_choices_that_are_refused(choice: str, value: str | None, said: str) -> None:
    made = session()
    with pytest.raises(RefusedChoiceError) as refused:
        made.choose([made.records[0].id], choice, *([] if value is None else [value]))  # type: ignore[arg-type]
    assert said in str(refused.value)
    assert made.revision == 0


def test_undo_and_redo() -> None:
    made = session()
    group = made.records[0].id
    made.set_apart(group, ["teams/team-1"])
    made.choose([f"{group}-1"], "local")
    assert made.undo().removed == []
    answer = made.undo()
    assert answer.removed == [f"{group}-1"]
    assert len(made.packages(group)) == 4
    made.redo()
    made.redo()
    assert made.record(f"{group}-1").chosen == "local"
    with pytest.raises(RefusedChoiceError, match="nothing to do again"):
        made.redo()


def test_nothing_chosen_is_nothing_to_save() -> None:
    made = session()
    made.set_apart(made.records[0].id, ["teams/team-1"])
    with pytest.raises(NotSettledError, match="nothing is chosen"):
        made.save()


def test_a_killed_session_goes_on(tmp_path: Path) -> None:
    file = tmp_path / ".policy.yaml.choices.krm-merge"
    host = Host(session(), ChoiceJournal(file, GroupSteps()), lambda saved: None)
    group = host.session.records[0].id
    host.set_apart(group, ["teams/team-1"])
    host.choose([f"{group}-1"], "value", "3")
    host.choose([group], "local", always=True)
    host.undo()
    again = GroupSession(campaign(), groups((REPLICAS, teams(1, 2, 3, 4))), ChoiceJournal(file, GroupSteps()).steps)
    assert [(one.status, one.chosen) for one in again.records] == [("open", None), ("settled", "value")]
    # Groups that are settled meanwhile do not matter.
    assert GroupSession(campaign(), [], ChoiceJournal(file, GroupSteps()).steps).records == []
