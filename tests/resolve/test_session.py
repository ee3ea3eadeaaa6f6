"""A session: choices are carried out, undone and made again; what is saved is what a MergePolicy file would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import scaled
from krm_merge.merge.decisions.policy import Choice, Rule
from krm_merge.merge.package.merger import PackageMerger
from krm_merge.packages.files.tree import Changed, Tree
from krm_merge.report.record import DecisionRecord
from krm_merge.resolve.interface import OF_PACKAGES, RefusedChoiceError, choice_words
from krm_merge.resolve.session import Session
from krm_merge.usecases import Mergeable, Outcome
from report.conflicts import SECRETS
from resolve.packages import OWN_VALUE, PER_NATURE, Files, all_natures, config_maps, session_of, task_of

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"


def of_texts(*texts: str, file: str = "c.yaml", **options: Any) -> Session:
    original, upstream, local = ({file: text.encode()} for text in texts)
    return session_of(original, upstream, local, **options)


def replicas(*values: object) -> Session:
    return of_texts(*(f"{DEPLOYMENT}  replicas: {value}\n" for value in values))


def settle_all(session: Session) -> Session:
    """Chooses for every open conflict what its nature says."""
    while session.open:
        choose_first(session)
    return session


def choose_first(session: Session) -> None:
    record = session.open[0]
    choice = PER_NATURE[record.nature]
    session.choose([record.id], choice, *([OWN_VALUE] if choice == "value" else []))


def written(session: Session) -> Files:
    return {path: file.data for path, file in Changed(session.task.sides.local, session.save().changes).items()}


def records_of(session: Session) -> list[dict[str, Any]]:
    return [dict(record.to_value()) for record in session.records]


@pytest.mark.parametrize(
    ("given_text", "value"),
    [("7", 7), (7, 7), ("'7'", "7"), ("25%", "25%"), (" 3 # three", 3)],
)
def test_a_value_of_ones_own_is_read_as_yaml(given_text: Any, value: Any) -> None:
    session = replicas(1, 2, 5)
    (record,) = session.choose([session.open[0].id], "value", given_text).records
    assert record.values["result"] == value


@pytest.mark.parametrize(
    ("given_text", "value"),
    [("1.10", "1.10"), ("true", "true"), ("'a b'", "a b"), ("a\nb\n", "a\nb\n"), ("null", "null")],
)
def test_among_texts_it_is_a_text(given_text: str, value: str) -> None:
    session = of_texts(*(f"{HEAD}data: {{a: {side}}}\n" for side in "xyz"))
    (record,) = session.choose([session.open[0].id], "value", given_text).records
    assert record.values["result"] == value


@pytest.mark.parametrize(
    ("given_text", "reason"),
    [
        ("[1, 2", "not valid YAML"),
        ("a: b", "a mapping, and a string or number is expected"),
        ("- 1", "a list, and a string or number is expected"),
        ({"a": 1}, "a mapping, and a string or number is expected"),
        ("", "no value"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_and_nothing_changes(given_text: Any, reason: str) -> None:
    session = replicas(1, 2, 5)
    before = records_of(session)
    with pytest.raises(RefusedChoiceError, match=reason):
        session.choose([session.open[0].id], "value", given_text)
    assert (records_of(session), session.revision, session.can_undo) == (before, 0, False)


def test_a_value_that_would_make_the_resource_wrong_is_refused() -> None:
    head = DEPLOYMENT + "  template:\n    spec:\n      volumes: [{name: a}, {name: b}, {name: c}]\n"
    body = "      containers:\n      - name: web\n        volumeMounts:\n        - mountPath: /x\n          name: %s\n"
    session = of_texts(*(head + body % name for name in "abc"))
    identifier = session.open[0].id
    with pytest.raises(RefusedChoiceError, match="make the resource invalid"):
        session.choose([identifier], "value", "missing")
    session.choose([identifier], "value", "a")


def test_every_step_is_undone_and_done_again() -> None:
    session = session_of(*all_natures())
    states = [records_of(session)]
    while session.open:
        choose_first(session)
        states.append(records_of(session))
    for state in reversed(states[:-1]):
        session.undo()
        assert records_of(session) == state
    with pytest.raises(RefusedChoiceError):
        session.undo()
    for state in states[1:]:
        session.redo()
        assert records_of(session) == state
    with pytest.raises(RefusedChoiceError):
        session.redo()


def test_a_new_choice_forgets_what_was_undone() -> None:
    session = replicas(1, 2, 5)
    session.choose([session.open[0].id], "local")
    session.undo()
    session.choose([session.open[0].id], "upstream")
    assert not session.can_redo


def test_a_settled_conflict_can_be_settled_otherwise() -> None:
    session = replicas(1, 2, 5)
    identifier = session.open[0].id
    session.choose([identifier], "local")
    session.choose([identifier], "upstream")
    assert session.record(identifier).values["result"] == 2
    assert len(session.save().choices) == 1


def test_records_keep_their_ids_whatever_is_chosen() -> None:
    session = session_of(*all_natures())
    before = {(record.file, record.path, record.nature): record.id for record in session.records}
    settle_all(session)
    after = {(record.file, record.path, record.nature): record.id for record in session.records}
    assert {key: after[key] for key in before.keys() & after.keys()} == {
        key: before[key] for key in before.keys() & after.keys()
    }
    # What was chosen for a list without keys is chosen for all of it; each other conflict is still there.
    assert {key[2] for key in before.keys() - after.keys()} <= {"sequence", "order"}


def test_the_saved_policy_gives_the_same_bytes_without_anybody() -> None:
    original, upstream, local = all_natures()
    by_hand = written(settle_all(session_of(original, upstream, local)))
    policy = by_hand["merge-policy.yaml"]
    replayed = session_of(original, upstream, {**local, "merge-policy.yaml": policy})
    assert replayed.open == []
    assert written(replayed) == by_hand


def test_the_order_of_choices_does_not_show() -> None:
    original, upstream, local = config_maps(1)
    second = [{"d.yaml": (HEAD + f"data: {{b: {side}}}\n").encode()} for side in "xyz"]
    results = []
    for backwards in (False, True):
        session = session_of({**original, **second[0]}, {**upstream, **second[1]}, {**local, **second[2]})
        records = list(reversed(session.open)) if backwards else session.open
        for record in records:
            session.choose([record.id], "upstream")
        results.append(written(session))
    assert results[0] == results[1]


@dataclass
class CountedSides:
    """Sides that count how often they are merged."""

    sides: Mergeable
    merges: int = 0

    @property
    def local(self) -> Tree:
        return self.sides.local

    def merge(self, merger: PackageMerger) -> Outcome:
        self.merges += 1
        return self.sides.merge(merger)


def test_a_choice_merges_only_its_resource() -> None:
    task = task_of(*config_maps(3))
    sides = CountedSides(task.sides)
    session = Session(replace(task, sides=sides))
    answer = session.choose([session.open[0].id], "local")
    assert (len(answer.records), sides.merges) == (1, 1)


def test_one_choice_for_all_alike_is_written_once() -> None:
    session = session_of(*config_maps(3))
    first = session.open[0]
    alike = session.alike(first.id)
    assert len(alike) == 3
    answer = session.choose(alike, "upstream")
    assert [record.chosen for record in answer.records] == ["upstream"] * 3
    (choice,) = session.save().choices
    assert choice.resource is None
    # One of them can still be settled otherwise.
    session.choose([first.id], "local")
    assert sorted(str(record.chosen) for record in session.records) == ["local", "upstream", "upstream"]


def test_always_is_a_rule_as_narrow_as_the_place() -> None:
    session = replicas(1, 2, 5)
    (record,) = session.choose([session.open[0].id], "local", always=True).records
    assert (record.status, record.settled_by) == ("settled", "rule merge-policy.yaml")
    text = written(session)["merge-policy.yaml"].decode()
    assert '- group: apps\n  kind: Deployment\n  namespace: ""\n  name: web\n  path: spec.replicas\n' in text
    assert text.endswith("  onConflict: local\n")
    assert "resolutions" not in text
    session.undo()
    assert len(session.open) == 1


def test_always_about_a_deletion_says_who_deletes() -> None:
    session = of_texts(HEAD + "data: {a: b}\n", "", HEAD + "data: {a: c}\n")
    session.choose([session.open[0].id], "upstream", always=True)
    assert "onDelete: upstream" in written(session)["merge-policy.yaml"].decode()


def test_always_needs_a_place_that_stays() -> None:
    session = of_texts("a\n", "b\n", "c\n", file="README.md")
    with pytest.raises(RefusedChoiceError, match="cannot be a rule"):
        session.choose([session.open[0].id], "local", always=True)


def test_the_policy_of_the_package_keeps_what_is_written_there() -> None:
    policy = (
        "# ours\napiVersion: fn.kpt.dev/v1alpha1\nkind: MergePolicy\nmetadata: {name: own}\n"
        "rules:\n- {kind: Secret, onConflict: local} # as it was\n"
    )
    original, upstream, local = config_maps(2)
    session = session_of(original, upstream, {**local, "own.yaml": policy.encode()})
    session.choose([session.open[0].id], "upstream")
    session.choose([session.open[0].id], "local", always=True)
    files = written(session)
    assert "merge-policy.yaml" not in files
    text = files["own.yaml"].decode()
    assert text.startswith("# ours\n")
    assert "{kind: Secret, onConflict: local} # as it was" in text
    assert "choice: upstream" in text
    again = session_of(original, upstream, files)
    assert again.open == []


def test_a_rule_that_fails_leaves_its_conflict_open() -> None:
    session = of_texts(
        *(f"{DEPLOYMENT}  replicas: {value}\n" for value in (1, 2, 5)), rules=(Rule(on_conflict="fail"),)
    )
    assert [record.status for record in session.records] == ["open"]
    session.choose([session.open[0].id], "upstream")
    assert b"replicas: 2" in written(session)["c.yaml"]


def test_results_are_what_no_record_is_about() -> None:
    head = DEPLOYMENT + "  template:\n    spec:\n      containers:\n      - name: web\n        volumeMounts:\n"
    mount, volume = "        - mountPath: /x\n          name: %s\n", "      volumes: [{name: %s}]\n"
    session = of_texts(head + mount % "a" + volume % "a", head + mount % "b" + volume % "b", head + mount % "a")
    before = session.report().results
    for record in session.open:
        session.choose([record.id], "local")
    assert session.report().results == before
    assert replicas(1, 2, 5).report().results == []
    everything = session_of(*all_natures())
    assert everything.report().results == []
    settle_all(everything)
    assert everything.report().results == []


def test_conflicts_are_in_the_order_of_the_document() -> None:
    text = (
        f"{DEPLOYMENT}  replicas: %s\n  template:\n    spec:\n      containers:\n      - name: web\n        image: %s\n"
        "        resources: {limits: {memory: %s}}\n      priorityClassName: %s\n"
    )
    session = of_texts(*(text % side for side in ((1, "a", 1, "a"), (2, "b", 2, "b"), (3, "c", 3, "c"))))
    names = [record.path.rpartition(".")[2] for record in session.open]
    assert names == ["replicas", "image", "memory", "priorityClassName"]


@pytest.mark.parametrize("name", SECRETS)
def test_values_of_secrets_are_nowhere(name: str) -> None:
    values = ("hush-original", "hush-upstream", "hush-local")
    session = of_texts(*(SECRETS[name].replace("VALUE", value) for value in values))
    seen: list[object] = [session.report().to_value()]
    for record in session.open:
        seen += [session.contexts(record.id), session.choose([record.id], "local").records, session.save().choices]
    text = repr(seen)
    assert not any(value in text for value in values)


@pytest.mark.parametrize(
    ("texts", "choice", "result"),
    [
        (("replicas: 1", "replicas: 2", "replicas: 1"), "local", "replicas: 1"),
        (("replicas: 1", "replicas: 1", "replicas: 2"), "upstream", "replicas: 1"),
        (("replicas: 1", "replicas: 2", "replicas: 1"), "value", "replicas: 7"),
        (("replicas: 1", "paused: true", "replicas: 1"), "local", "replicas: 1"),
    ],
)
def test_what_was_merged_without_a_conflict_can_be_overruled(
    texts: tuple[str, str, str], choice: Choice, result: str
) -> None:
    session = of_texts(*(f"{DEPLOYMENT}  {text}\n  minReadySeconds: 3\n" for text in texts))
    if not session.records:
        # What only local changed is no decision of the merge.
        return
    record = next(record for record in session.records if record.path == "spec.replicas")
    assert (record.status, session.open) == ("automatic", [])
    answer = session.choose([record.id], choice, *([7] if choice == "value" else []))
    (settled,) = [record_after for record_after in answer.records if record_after.id == record.id]
    assert (settled.status, settled.chosen) == ("settled", choice)
    files = written(session)
    assert result in files["c.yaml"].decode()
    # Law D: the next merge.
    sides = [{"c.yaml": f"{DEPLOYMENT}  {text}\n  minReadySeconds: 3\n".encode()} for text in texts[:2]]
    again = session_of(sides[0], sides[1], files)
    assert again.open == []
    assert written(again) == files
    session.undo()
    assert session.record(record.id).status == "automatic"


CONTAINERS = f"{DEPLOYMENT}  template:\n    spec:\n      containers:\n      - {{name: web, image: web:1}}\n"
SIDECAR = "      - {name: log, image: log:1}\n"
TWO = f"{HEAD}data: {{a: b}}\n---\n{HEAD.replace('name: c', 'name: d')}data: {{a: b}}\n"
ONE = f"{HEAD}data: {{a: b}}\n"
SECRET = f"{HEAD.replace('ConfigMap', 'Secret')}stringData: {{a: hunter}}\n"


@pytest.mark.parametrize(
    ("texts", "lost", "words"),
    [
        ((ONE, ONE.replace("a: b", "a: b, new: 1"), ONE), "new: 1", "Leave it out"),
        ((ONE, ONE.replace("a: b", "a: b, new: {x: 1}"), ONE), "new: ", "Leave it out"),
        ((CONTAINERS, CONTAINERS + SIDECAR, CONTAINERS), "name: log", "Leave it out"),
        ((CONTAINERS + SIDECAR, CONTAINERS, CONTAINERS + SIDECAR), "name: log", "Keep yours"),
        ((ONE, TWO, ONE), "name: d", "Leave it out"),
        ((TWO, ONE, TWO), "name: d", "Keep yours"),
        (("", SECRET, ""), "hunter", "Leave it out"),
        ((SECRET, "", SECRET), "hunter", "Keep yours"),
    ],
    ids=[
        "field added",
        "mapping added",
        "element added",
        "element removed",
        "resource added",
        "resource removed",
        "secret added",
        "secret removed",
    ],
)
def test_what_upstream_alone_added_or_removed_can_be_overruled(
    texts: tuple[str, str, str], lost: str, words: str
) -> None:
    original, upstream, local = ({"c.yaml": text.encode()} if text else {} for text in texts)
    session = session_of(original, upstream, local)
    (record,) = (candidate for candidate in session.records if candidate.choices)
    assert (record.status, record.choices[:2], session.open) == ("automatic", ("upstream", "local"), [])
    assert choice_words(record, "local", OF_PACKAGES) == words
    before = written(session)
    session.choose([record.id], "local")
    assert (session.record(record.id).status, session.record(record.id).chosen) == ("settled", "local")
    files = written(session)
    assert (lost in files.get("c.yaml", b"").decode()) == (words == "Keep yours")
    # Law D: the next merge asks nothing and changes nothing.
    again = session_of(original, upstream, files)
    assert again.open == []
    assert written(again) == files
    session.choose([record.id], "upstream")
    others = {path: data for path, data in written(session).items() if path != "merge-policy.yaml"}
    assert others == before
    session.undo()
    session.undo()
    assert session.record(record.id).status == "automatic"
    assert written(session) == before


def test_a_package_inside_comes_and_goes_with_its_kptfile() -> None:
    kptfile = b"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: %s}\n"
    root = {"Kptfile": kptfile % b"web"}
    session = session_of(root, {**root, "in/Kptfile": kptfile % b"in"}, root)
    assert [record.choices for record in session.records] == [()]


CHOICES: Sequence[Choice] = ("upstream", "local", "original", "upstream-then-local", "local-then-upstream")


@settings(max_examples=scaled(30))
@given(st.data())
def test_whatever_is_chosen_can_be_saved_and_replayed(data: st.DataObject) -> None:
    original, upstream, local = all_natures()
    session = session_of(original, upstream, local)
    for _ in range(40):
        if not session.open:
            break
        record = data.draw(st.sampled_from(session.open))
        choices = [choice for choice in record.choices if choice != "value"]
        session.choose([record.id], data.draw(st.sampled_from(choices)))
        if data.draw(st.booleans()):
            before = records_of(session)
            session.undo()
            session.redo()
            assert records_of(session) == before
    assert session.open == []
    files = written(session)
    replayed = session_of(original, upstream, {**local, "merge-policy.yaml": files["merge-policy.yaml"]})
    assert replayed.open == []
    assert written(replayed) == files


@pytest.mark.parametrize(("first", "second"), list(product(["upstream", "local"], repeat=2)))
def test_the_answer_of_a_step_is_all_that_changed(first: Choice, second: Choice) -> None:
    session = session_of(*all_natures())
    records: dict[str, DecisionRecord] = {record.id: record for record in session.records}
    for number, choice in ((0, first), (3, second), (4, second)):
        answer = session.choose([session.open[number].id], choice)
        for identifier in answer.removed:
            del records[identifier]
        records |= {record.id: record for record in answer.records}
        assert records == {record.id: record for record in session.records}


def test_functions_that_nothing_tells_apart_are_not_to_be_recognised() -> None:
    head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline:\n  mutators:\n"
    function = "  - image: a:v1\n    configMap: {{x: '{}'}}\n"
    sides = [{"Kptfile": f"{head}{''.join(map(function.format, values))}".encode()} for values in ("11", "12", "13")]
    (record,) = session_of(*sides).open
    assert (record.nature, "recognise" in record.choices) == ("functions", False)
