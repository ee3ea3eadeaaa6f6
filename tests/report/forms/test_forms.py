"""The forms of a report: what they hold, what they cost, and that no content becomes markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import jsonschema
import pytest

from checkout import ROOT
from krm_merge import merge_packages
from krm_merge.krm import Result
from krm_merge.report.forms import FORMS, render_document
from krm_merge.report.forms.html import html, tag
from krm_merge.report.reading import contexts_of
from krm_merge.report.record import DecisionRecord, Files, MergeReport, RecordedSide
from krm_merge.report.words import RULES, anchor_of, words_changed, yaml_text
from krm_merge.startup import replace
from report.conflicts import CASES, SCHEMA, merged_case

HOSTILE = (
    "</pre><script>alert(1)</script>\"'><img src=x onerror=alert(1)>`|@all ![x](http://evil.example)\x1b[31m\u202e"
)


def report_of_all(**options: object) -> MergeReport:
    merged = [merged_case(nature, **options) for nature in CASES]
    records = [record for file in merged for record in file.records]
    contexts = {id_: context for file in merged for id_, context in contexts_of(file.records, file.files.get).items()}
    sides = {"original": RecordedSide("v1", "a" * 40), "upstream": RecordedSide("v2", "b" * 40)}
    return MergeReport("web", sides, records, Files((), ("c.yaml",), ()), (), (), contexts)


def hostile_report() -> MergeReport:
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {json.dumps(HOSTILE)}}}\n"
    sides = [{f"{'x' * 3}.yaml": f"{head}data: {{a: {json.dumps(HOSTILE + side)}}}\n".encode()} for side in "oul"]
    merged = merge_packages(*sides)
    contexts = contexts_of(merged.records, merged.files.get)
    results = [Result("warning", HOSTILE)]
    return MergeReport(HOSTILE, {"local": RecordedSide(HOSTILE)}, merged.records, Files(), results, (), contexts)


def many(count: int, value: str = "value of the field, some words long") -> MergeReport:
    sides = [
        {"c.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  a: {value} {name}\n".encode()}
        for name in "oul"
    ]
    merged = merge_packages(*sides)
    (record,) = merged.records
    (context,) = contexts_of(merged.records, merged.files.get).values()
    records = [replace(record, id=f"{at:012}", path=f"data.key-{at}") for at in range(count)]
    return MergeReport("web", {}, records, contexts={record.id: context for record in records})


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


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


# ---- HTML ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "report", [report_of_all(), report_of_all(on_conflict="fail"), hostile_report(), MergeReport()]
)
def test_html_is_well_formed_and_needs_nothing_else(report: MergeReport) -> None:
    page = Elements(text := render_document(report, ".html"))
    assert page.open == []
    assert not {"script", "link", "img", "iframe", "form", "object", "base"} & set(page.names)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style")]
    assert "default-src 'none'; style-src 'sha256-" in text
    assert {value for name, value in page.attributes if name == "href"} <= {
        f"https://github.com/krm-merge/krm-merge/blob/main/{record.docs}" for record in report.records
    }


def test_html_has_the_texts_of_its_rules() -> None:
    report = report_of_all()
    rules = {record.rule: f"{record.rule}. <Title>\n\nWhy" for record in report.records}
    page = Elements(text := render_document(replace(report, rules=rules), ".html"))
    links = {value for name, value in page.attributes if name == "href"}
    assert links == {f"#rule-{record.rule}" for record in report.records if record.status != "automatic"}
    assert links <= {f"#{value}" for name, value in page.attributes if name == "id"}
    assert "<h3>V4. &lt;Title&gt;</h3>" in text


def test_html_shows_each_side_what_differs_and_the_result_in_its_place() -> None:
    text = render_document(report_of_all(), ".html")
    assert "<mark>u</mark>" in text
    assert '<h4>upstream<span class="kept"> kept</span></h4>' in text
    assert '<span class="here">      - name: b\n        image: other</span>' in text


def test_content_is_escaped_in_one_place() -> None:
    assert tag("p", "<b>", tag("i", "&"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<i>&amp;</i></p>'
    assert html("\x1b\u202e") == "\\u001b\\u202e"


def test_html_of_ten_thousand_records_is_below_five_megabytes() -> None:
    report = many(10_000)
    assert len(report.records) == 10_000
    assert len(render_document(report, ".html").encode()) < 5_000_000


def test_html_of_large_values_is_below_five_megabytes() -> None:
    text = render_document(many(2_000, "x" * 6_000), ".html")
    assert len(text.encode()) < 5_000_000
    assert "does not show everything" in text


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


# ---- SARIF -----------------------------------------------------------------------------------------------------------


def test_sarif_has_a_rule_for_each_rule_and_a_result_for_each_conflict() -> None:
    report = report_of_all()
    (run,) = json.loads(render_document(report, ".sarif"))["runs"]
    conflicts = [record for record in report.records if record.status != "automatic"]
    assert [result["ruleId"] for result in run["results"]] == [record.rule for record in conflicts]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == sorted({record.rule for record in conflicts})
    assert {result["level"] for result in run["results"]} == {"warning"}


def test_sarif_of_open_conflicts_are_errors() -> None:
    (run,) = json.loads(render_document(report_of_all(on_conflict="fail"), ".sarif"))["runs"]
    assert "error" in {result["level"] for result in run["results"]}


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
    assert "a name that leads nowhere" in render_document(report, ".html")
    assert "all is well" not in render_document(report, ".html")


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


def test_a_hidden_value_that_a_conflict_left_is_not_said_to_be_gone() -> None:
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n"
    sides = [{"s.yaml": f"{head}  p: hunter{number}\n".encode()} for number in range(3)]
    records = merge_packages(*sides).records
    page = render_document(MergeReport("web", {}, records, Files(), (), (), {}), ".html")
    assert "nothing remains here" not in page
    assert "secret value B" in page.partition('class="result"')[2]


def test_context_hides_what_is_around_a_place() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: w}}\nspec:\n"
        "  template:\n    spec:\n      containers:\n"
        "      - name: web\n        env:\n        - name: DB_PASSWORD\n          value: hunter2 # not hunter3\n"
        "        - name: A\n          value: {}\n        - name: TLS_KEY\n          value: |\n            hunter2\n"
        "            b\n"
    )
    merged = merge_packages(*({"c.yaml": text.format(value).encode()} for value in "oul"))
    (context,) = contexts_of(merged.records, merged.files.get).values()
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
        "krm_merge.merge_packages\nprint('krm_merge.report.forms.html' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['krm_merge']\nFalse\n"


def test_records_can_be_pickled() -> None:
    import pickle

    merged = merged_case("value")
    assert pickle.loads(pickle.dumps(merged)) == merged
    assert isinstance(merged.records[0], DecisionRecord)
