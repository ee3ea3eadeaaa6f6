"""Records are made by reading decisions: every nature arises, values of Secrets do not leave."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from krm_merge import merge_packages
from krm_merge.merge.decisions.policy import Nature
from krm_merge.report.forms import FORMS, render_document
from krm_merge.report.record import MergeReport
from report.conflicts import CASES, HEAD, SECRETS, WIDGET, conflicts, merged_case


def test_there_is_a_case_for_every_nature() -> None:
    # A lost comment is reported, and is no conflict.
    assert set(CASES) == set(get_args(Nature)) - {"comment"}


@pytest.mark.parametrize("text", [f"# version 0\n---\n{HEAD}data: {{a: b}}\n", f"{HEAD}data:\n  a: b # version 0\n"])
def test_a_lost_comment_has_a_record(text: str) -> None:
    """Above the first document of a file, too, where no resource has it."""
    merged = merge_packages(*({"c.yaml": text.replace("0", version).encode()} for version in "123"))
    (record,) = merged.records
    assert (record.nature, record.status, record.choices) == ("comment", "automatic", ())
    assert "# version 2" in record.message
    assert not merged.has_conflicts


@pytest.mark.parametrize("nature", CASES)
def test_every_nature_arises(nature: Nature) -> None:
    merged = merged_case(nature)
    assert nature in {record.nature for record in conflicts(merged)}
    assert all(record.settled_by == "policy" for record in conflicts(merged))


@pytest.mark.parametrize("nature", sorted(CASES.keys() - {"order"}))
def test_refused_conflicts_are_open_and_nothing_changes(nature: Nature) -> None:
    merged = merged_case(nature, on_conflict="fail")
    assert merged.has_conflicts
    assert merged.changes == {}
    assert nature in {record.nature for record in merged.records if record.status == "open"}


def test_a_record_has_what_each_side_has() -> None:
    (record,) = conflicts(merged_case("value"))
    value = record.to_value()
    assert (value["original"], value["upstream"], value["local"], value["result"]) == ("b", "c", "d", "c")
    assert value["resource"] == {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "", "name": "c"}
    assert (value["file"], value["path"], value["rule"]) == ("c.yaml", "data.a", "V4")
    assert value["chosen"] == "upstream"
    assert value["choices"] == ["upstream", "local", "original", "value"]


def test_absence_is_not_null() -> None:
    sides = [
        {"c.yaml": (HEAD + data).encode()}
        for data in ("data: {a: b, c: d}\n", "data: {a: null, c: d}\n", "data: {c: d}\n")
    ]
    (record,) = conflicts(merge_packages(*sides))
    value = record.to_value()
    assert value["upstream"] is None
    assert "local" not in value


def test_rules_are_named_where_they_settle_a_conflict() -> None:
    (record,) = conflicts(merged_case("value", rules=[{"kind": "ConfigMap", "onConflict": "local"}]))
    assert record.settled_by == "rule rules[0]"
    assert record.values["result"] == "d"


def test_the_same_conflict_has_one_fingerprint_whatever_the_names() -> None:
    def prints(name: str, file: str, local: str = "d") -> list[str]:
        head = HEAD.replace("name: c", f"name: {name}")
        sides = [{file: f"{head}data: {{a: {value}}}\n".encode()} for value in ("b", "c", local)]
        return [record.fingerprint for record in conflicts(merge_packages(*sides))]

    assert prints("c", "c.yaml") == prints("other", "x/y.yaml")
    assert prints("c", "c.yaml") != prints("c", "c.yaml", "e")


def test_ids_are_stable_and_unique() -> None:
    sides = [{"c.yaml": (HEAD + f"data: {{a: {v}, b: {v}}}\n").encode()} for v in "xyz"]
    first, second = (merge_packages(*sides).records for _ in range(2))
    assert [record.id for record in first] == [record.id for record in second]
    assert len({record.id for record in first}) == len(first) == 2


def test_records_of_secrets_say_which_sides_are_the_same() -> None:
    sides = [{"s.yaml": SECRETS["a Secret"].replace("VALUE", value).encode()} for value in "abc"]
    (record,) = merge_packages(*sides).records
    assert record.to_value()["alike"] == {"original": "A", "upstream": "B", "local": "C", "result": "B"}
    assert record.choices == ("upstream", "local")


def test_numbers_that_json_lacks_are_texts() -> None:
    sides = [{"w.yaml": (WIDGET + f"spec: {value}\n").encode()} for value in ("1", ".nan", ".inf")]
    text = render_document(MergeReport(records=merge_packages(*sides).records), ".json")
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name))["records"][0]["upstream"] == "nan"


def test_rules_that_do_not_decide_are_not_named() -> None:
    (record,) = conflicts(merged_case("resource", rules=[{"onConflict": "upstream"}]))
    assert (record.settled_by, record.chosen) == ("policy", "local")
    (record,) = conflicts(merged_case("resource", rules=[{"onDelete": "upstream"}]))
    assert (record.settled_by, record.chosen) == ("rule rules[0]", "upstream")
    (record,) = conflicts(merged_case("file", rules=[{"kind": "Deployment", "onConflict": "local"}]))
    assert (record.settled_by, record.chosen) == ("policy", "upstream")
    (record,) = conflicts(merged_case("file", rules=[{"onConflict": "local"}]))
    assert (record.settled_by, record.chosen) == ("rule rules[0]", "local")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("file", ["c.yaml", "notes.txt"])
def test_credentials_in_urls_are_in_no_report(form: str, file: str) -> None:
    texts = [f"{HEAD}data:\n  url: https://me:hunter{at}@example.com/x?token=s3cret{at}\n" for at in range(3)]
    original, upstream, local = ({file: text.encode()} for text in texts)
    merged = merge_packages(original, upstream, local)
    assert [record.file for record in merged.records] == [file]
    report = render_document(MergeReport(records=merged.records), form)
    assert "hunter" not in report
    assert "s3cret" not in report
