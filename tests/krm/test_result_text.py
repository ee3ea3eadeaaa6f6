"""Results as text: the short way writes what the emitter writes, and it reads back as it was."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from krm_merge.krm.result import ResourceRef, Result, results_text
from krm_merge.text.editing.editor import Editor
from krm_merge.text.editing.emit import Emitter
from krm_merge.text.reading.layout import Indents
from krm_merge.text.reading.nodes import Entry, Value, from_value
from text.random_documents import TEXTS as ODD

# Lone surrogates are no text: nothing can be written that holds them.
TEXTS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.sampled_from(["rule", "event", "a/b", "1", "true", "", "a: b", "#", "ü"]) | TEXTS
REFS = st.builds(ResourceRef, TEXTS, TEXTS, TEXTS, st.none() | TEXTS)
RESULTS = st.builds(
    Result,
    st.sampled_from(["error", "warning", "info"]),
    TEXTS,
    st.none() | REFS,
    st.none() | TEXTS,
    st.integers(0, 12),
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.dictionaries(NAMES, TEXTS, max_size=4),
)


def emit(results: list[Result]) -> str:
    values: list[Value] = [result.to_value() for result in results]
    items = from_value(values)
    return Emitter(Editor(items), Indents(sequence=0)).child(Entry(from_value("results"), items), 0, None, "\n")


def read_back(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)["results"]


def all_over(text: str) -> Result:
    """A result that has this text everywhere."""
    return Result("info", text, ResourceRef(text, text, text, text), text, 1, text, text, text, {text: text, "z": text})


@given(st.lists(RESULTS, min_size=1, max_size=4))
@example([Result("error", "a")])
@example([Result("error", "a", tags={"0:=": "0:="})])
@example([Result("error", "None: a"), Result("error", ": a", path="")])
@example([Result("info", "1", tags={"a": "1"}), Result("info", "a", file="x", file_index=1)])
def test_results_are_written_as_the_emitter_writes_them(results: list[Result]) -> None:
    text = results_text(results, "\n")
    assert text == emit(results)
    assert read_back(text) == [result.to_value() for result in results]


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(text: str) -> None:
    """Lines end as those of the list do; what is read is the same."""
    results = [all_over(text), all_over("plain"), Result("warning", text)]
    assert results_text(results, "\n") == emit(results)
    written = results_text(results, "\r\n")
    assert written.count("\n") == written.count("\r\n")
    assert read_back(written) == [result.to_value() for result in results]


def test_numbers_stay_apart_from_texts() -> None:
    """Texts are remembered; 1 is not "1"."""
    for results in ([Result("info", "1", file="1", file_index=1)], [Result("info", "1", file="1", file_index=1)] * 2):
        assert {type(result["file"]["index"]) for result in read_back(results_text(results, "\n"))} == {int}
        assert {type(result["message"]) for result in read_back(results_text(results, "\n"))} == {str}


def test_results_do_without_the_emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands."""

    def refuses(*arguments: Any) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(Emitter, "__init__", refuses)
    results = [all_over(text) for text in ODD]
    assert len(read_back(results_text(results, "\n"))) == len(results)
    with pytest.raises(AssertionError):
        emit(results)


def test_what_it_looks_like() -> None:
    ref = ResourceRef("v1", "ConfigMap", "a", "ns")
    results = [
        Result("warning", "two\nlines", ref, "a.yaml", 2, "data.x", "1", "", {"rule": "T5"}),
        Result("info", "done"),
    ]
    assert (
        results_text(results, "\n")
        == """\
results:
- message: |-
    two
    lines
  severity: warning
  resourceRef:
    apiVersion: v1
    kind: ConfigMap
    name: a
    namespace: ns
  field:
    path: data.x
    currentValue: "1"
    proposedValue: ""
  file:
    path: a.yaml
    index: 2
  tags:
    rule: T5
- message: done
  severity: info
"""
    )
