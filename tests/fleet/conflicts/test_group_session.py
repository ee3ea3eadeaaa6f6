"""A session about groups of equal conflicts: one choice for all packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.groups import campaign, conflict, groups, teams
from krm_merge.fleet.conflicts import GroupSession, GroupStep
from krm_merge.fleet.job import TargetConflict
from krm_merge.packages import state_file
from krm_merge.resolve.api import Host
from krm_merge.resolve.choices import ChoiceJournal
from krm_merge.resolve.interface import NotSettledError, RefusedChoiceError
from krm_merge.startup import replace

REPLICAS = conflict()
IMAGE = conflict("spec.image", "own")
PORT = conflict("spec.port", 8080, kind="Service")


def session(policy: bytes = b"") -> GroupSession:
    records = groups((REPLICAS, teams(1, 2, 3, 4)), (PORT, teams(1, 2, 3)), (IMAGE, teams(1)))
    return GroupSession(campaign(policy), records)


def policy_of(choices: GroupSession) -> str:
    file = choices.save().changes["policy.yaml"]
    assert file is not None
    return file.data.decode().partition("\nresolutions:\n")[2] or file.data.decode().partition("\nrules:\n")[2]


def test_groups_of_one_kind_are_together_the_largest_kind_first() -> None:
    choices = session()
    assert [(record.file, record.path) for record in choices.records] == [
        ("Deployment", "spec.replicas"),
        ("Deployment", "spec.image"),
        ("Service", "spec.port"),
    ]
    assert [len(choices.packages(record.id)) for record in choices.records] == [4, 1, 3]
    assert not choices.can_save


def test_groups_that_differ_in_local_alone_are_two() -> None:
    choices = GroupSession(campaign(), groups((REPLICAS, teams(1)), (conflict(local=7), teams(2))))
    first, second = choices.records
    choices.choose([first.id], "local")
    assert [record.status for record in choices.records] == ["settled", "open"]
    assert first.id != second.id


def test_a_choice_on_hidden_values_is_for_their_place() -> None:
    record = conflict("data.p", kind="Secret").record
    hidden = TargetConflict("", replace(record, values={}, alike={"local": "A"}, choices=("upstream", "local")))
    choices = GroupSession(campaign(), groups((hidden, teams(1, 2))))
    choices.choose([choices.records[0].id], "local")
    assert choices.records[0].settled_by == "resolution policy.yaml"
    assert policy_of(choices).startswith("- resource:\n    apiVersion: apps/v1\n    kind: Secret\n")
    with pytest.raises(RefusedChoiceError, match="a campaign keeps no secret values"):
        choices.hidden_values(choices.records[0].id)


def test_a_choice_for_a_group() -> None:
    choices = session()
    answer = choices.choose([choices.records[0].id], "local")
    (record,) = answer.records
    assert (record.status, record.chosen, record.values["result"]) == ("settled", "local", 5)
    assert policy_of(choices) == (
        f"- path: spec.replicas\n  nature: value\n  fingerprint: {REPLICAS.record.fingerprint}\n  choice: local\n"
    )


def test_always_is_a_rule_for_all_packages() -> None:
    choices = session()
    group = choices.records[0].id
    choices.choose([group], "local", always=True)
    assert policy_of(choices) == "- group: apps\n  kind: Deployment\n  path: spec.replicas\n  onConflict: local\n"
    with pytest.raises(RefusedChoiceError, match="a rule chooses upstream or local"):
        choices.choose([group], "original", always=True)


@pytest.mark.parametrize(
    ("choice", "value", "message"),
    [
        ("recognise", None, "recognise cannot be chosen here; upstream, local, original, value can"),
        ("value", "[1]", "this is a list, and a string or number is expected here"),
    ],
)
def test_choices_that_are_refused(choice: str, value: str | None, message: str) -> None:
    choices = session()
    with pytest.raises(RefusedChoiceError) as refused:
        choices.choose([choices.records[0].id], choice, *([] if value is None else [value]))  # type: ignore[arg-type]
    assert message in str(refused.value)
    assert choices.revision == 0


def test_undo_and_redo() -> None:
    choices = session()
    group = choices.records[0].id
    choices.choose([group], "upstream")
    choices.choose([group], "local")
    for chosen in ("upstream", None):
        (record,) = choices.undo().records
        assert record.chosen == chosen
    choices.redo()
    choices.redo()
    assert choices.record(group).chosen == "local"
    with pytest.raises(RefusedChoiceError, match="nothing to redo"):
        choices.redo()


def test_nothing_chosen_is_nothing_to_save() -> None:
    choices = session()
    with pytest.raises(NotSettledError, match="nothing was chosen"):
        choices.save()


def test_a_killed_session_goes_on(tmp_path: Path) -> None:
    file = state_file(tmp_path / "policy.yaml", "choices")
    host = Host(session(), ChoiceJournal(file, GroupStep.from_value), lambda saved: None)
    group = host.session.records[0].id
    host.choose([group], "value", "3")
    host.choose([group], "local", always=True)
    host.undo()
    again = GroupSession(
        campaign(), groups((REPLICAS, teams(1, 2, 3, 4))), ChoiceJournal(file, GroupStep.from_value).steps
    )
    assert [(record.status, record.chosen) for record in again.records] == [("settled", "value")]
    # Groups that are settled meanwhile do not matter.
    assert GroupSession(campaign(), [], ChoiceJournal(file, GroupStep.from_value).steps).records == []
