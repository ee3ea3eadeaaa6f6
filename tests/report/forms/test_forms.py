"""The forms of a report: what they hold, what they cost, and that no content becomes markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import jsonschema
import pytest

from checkout import ROOT
from krm_merge import merge_packages
from krm_merge.krm import Result
from krm_merge.report.forms import FORMS, render_document
from krm_merge.report.reading import contexts_of
from krm_merge.report.record import DecisionRecord, Files, MergeReport, RecordedSide
from krm_merge.report.words import RULES, anchor_of, words_changed, yaml_text
from krm_merge.schema.secrecy import Redaction
from krm_merge.startup import replace
from report.conflicts import CASES, SCHEMA, merged_case

HOSTILE = (
    "</pre><script>alert(1)</script>\"'><img src=x onerror=alert(1)>`|@all ![x](http://evil.example)\x1b[31m\u202e"
)


def report_of_all(**options: object) -> MergeReport:
    merged = [merged_case(nature, **options) for nature in CASES]
    records = [record for file in merged for record in file.records]
    sides = {"original": RecordedSide("v1", "a" * 40), "upstream": RecordedSide("v2", "b" * 40)}
    return MergeReport("web", sides, records, Files((), ("c.yaml",), ()), (), ())


def hostile_report() -> MergeReport:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {json.dumps(HOSTILE)}}}\n"
    sides = [{f"{'x' * 3}.yaml": f"{head}data: {{a: {json.dumps(HOSTILE + side)}}}\n".encode()} for side in "oul"]
    merged = merge_packages(*sides)
    results = [Result("warning", HOSTILE)]
    return MergeReport(HOSTILE, {"local": RecordedSide(HOSTILE)}, merged.records, Files(), results, ())


def many(count: int, value: str = "value of the field, some words long") -> MergeReport:
    sides = [
        {"c.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  a: {value} {name}\n".encode()}
        for name in "oul"
    ]
    merged = merge_packages(*sides)
    (record,) = merged.records
    records = [replace(record, id=f"{at:012}", path=f"data.key-{at}") for at in range(count)]
    return MergeReport("web", {}, records)


# ---- JSON ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_conflict", ["upstream", "local", "fail"])
def test_the_document_is_as_its_schema_says(on_conflict: str) -> None:
    document = json.loads(render_document(report_of_all(on_conflict=on_conflict), ".json"))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    assert (document["apiVersion"], document["kind"]) == ("fn.kpt.dev/v1alpha1", "MergeReport")
    assert sum(document["counts"][status] for status in ("open", "settled", "automatic")) == len(document["records"])


def test_the_schema_refuses_what_is_no_record() -> None:
    document = json.loads(render_document(report_of_all(), ".json"))
    document["records"][0]["status"] = "done"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


# ---- rules -----------------------------------------------------------------------------------------------------------


def test_every_rule_has_its_heading() -> None:
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    headings = dict(re.findall(r"^### ([A-Z][0-9]*)\. (.+)$", text, re.MULTILINE))
    assert {rule: headings.get(rule) for rule in RULES} == RULES


def test_anchors_are_those_of_the_forge() -> None:
    assert anchor_of("V4") == "docs/rules.md#v4-both-changed-a-value-onconflict-decides"
    assert anchor_of("none") == "docs/rules.md"


# ---- Markdown --------------------------------------------------------------------------------------------------------


def test_markdown_has_the_conflicts_first() -> None:
    text = render_document(report_of_all(), ".md")
    assert text.index("### Settled conflicts") < text.index("### Taken automatically")
    assert "| `data.a` ConfigMap c<br>c.yaml | Value: upstream changed it, local changed it" in text


def test_markdown_is_cut_with_a_count() -> None:
    text = render_document(many(10_000), ".md")
    assert len(text) < 60_000
    rows = text.count("\n| `data.")
    assert f"{10_000 - rows:,} more decisions are not shown" in text


def test_markdown_has_no_markup_of_the_content() -> None:
    text = render_document(hostile_report(), ".md")
    outside_code = re.sub(r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    for dangerous in ("<script", "<img", "![x]", "@all", "http://"):
        assert dangerous not in outside_code
    assert "\x1b" not in text
    assert "\u202e" not in text


# ---- all -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMS)
def test_every_form_takes_any_content(suffix: str) -> None:
    assert render_document(hostile_report(), suffix)
    assert render_document(MergeReport(), suffix)


def test_warnings_that_no_record_is_about_are_shown() -> None:
    results = [
        Result("warning", "spec: upstream changed it, local changed it; upstream's value is kept"),
        Result("warning", "a name that leads nowhere"),
        Result("info", "all is well"),
    ]
    report = MergeReport(records=merged_case("value").records, results=results)
    messages = [notice.message for notice in report.notices()]
    assert messages[-1] == "a name that leads nowhere"
    assert "a name that leads nowhere" in render_document(report, ".md")
    assert "all is well" not in render_document(report, ".md")


def test_words_that_differ() -> None:
    assert list(words_changed("a b c", "a x c")) == [("a ", False), ("x", True), (" c", False)]
    assert list(words_changed("same", "same")) == [("same", False)]


@pytest.mark.parametrize(
    ("value", "text"), [("a\nb", "a\nb"), (1, "1"), (None, "null"), ([], "[]"), ({}, "{}"), ({"a": [1]}, "a:\n- 1")]
)
def test_values_are_shown_as_yaml(value: object, text: str) -> None:
    assert yaml_text(value) == text  # type: ignore[arg-type]


def test_context_holds_no_secret_and_stays_in_the_document() -> None:
    text = (
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{p: hunter2}}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{a: {}}}\n---\n"
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: t}}\nstringData: {{p: hunter2}}\n"
    )
    merged = merge_packages(*({"c.yaml": text.format(value).encode()} for value in "oul"))
    (context,) = contexts_of(merged.records, merged.files.get).values()
    assert context.lines[0] == "apiVersion: v1"
    assert context.lines[-1] == "data: {a: u}"


def test_context_hides_what_is_around_a_place() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: w}}\nspec:\n"
        "  template:\n    spec:\n      containers:\n"
        "      - name: web\n        env:\n        - name: DB_PASSWORD\n          value: hunter2 # not hunter3\n"
        "        - name: A\n          value: {}\n        - name: TLS_KEY\n          value: |\n            hunter2\n"
        "            b\n        - name: API_DSN\n          value: hunter2\n"
    )
    merged = merge_packages(*({"c.yaml": text.format(value).encode()} for value in "oul"))
    (context,) = contexts_of(merged.records, merged.files.get, [Redaction(field="*_DSN")]).values()
    assert [line.strip() for line in context.lines] == [
        "- name: DB_PASSWORD",
        "value: (redacted)",
        "- name: A",
        "value: u",
        "- name: TLS_KEY",
        "value: (redacted)",
        "",
    ]
    assert context.lines[context.start : context.stop] == ("          value: u",)


def test_importing_the_package_costs_nothing() -> None:
    code = (
        "import sys, krm_merge\nprint(sorted(m for m in sys.modules if m.startswith('krm_merge')))\n"
        "krm_merge.merge_packages\nprint('krm_merge.report.forms.markdown' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['krm_merge']\nFalse\n"


def test_the_function_imports_nothing_of_reports() -> None:
    code = (
        "import sys\nfrom krm_merge.functions import process\n"
        "side = 'apiVersion: kpt.dev/v1\\nkind: Kptfile\\nmetadata:\\n  name: p\\ninfo:\\n  description: %s\\n'\n"
        "indented = lambda text: ''.join('    ' + line + '\\n' for line in text.splitlines())\n"
        "data = 'apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems:\\n-' + indented(side % 'c')[3:]\n"
        "data = data.replace('\\n    ', '\\n  ').replace('-    ', '- ').replace('-   ', '- ').replace('-  ', '- ')\n"
        "data += 'functionConfig:\\n  apiVersion: fn.kpt.dev/v1alpha1\\n  kind: MergePackage\\n'\n"
        "data += '  original: |\\n' + indented(side % 'a') + '  upstream: |\\n' + indented(side % 'b')\n"
        "done = process(data.encode())\n"
        "print(b'description: b' in done.output)\n"
        "print(sorted(m for m in sys.modules if m.startswith('krm_merge')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    merged, modules = done.stdout.splitlines()
    assert merged == "True", done.stderr
    others = (
        "krm_merge.report",
        "krm_merge.packages",
        "krm_merge.policy",
    )
    assert [name for name in eval(modules) if name.startswith(others)] == []


def test_the_example_of_the_package_runs() -> None:
    import doctest

    import krm_merge

    assert doctest.testmod(krm_merge).failed == 0
    assert doctest.testmod(krm_merge).attempted > 3


def test_records_can_be_pickled() -> None:
    import pickle

    merged = merged_case("value")
    assert pickle.loads(pickle.dumps(merged)) == merged
    assert isinstance(merged.records[0], DecisionRecord)
