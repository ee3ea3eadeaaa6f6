"""What people read of a conflict."""

from __future__ import annotations

import pytest

from krm_merge.merge import Choice
from krm_merge.report.record import DecisionRecord, SideName
from krm_merge.resolve.interface import OF_GIT, OF_PACKAGES, SideLabels, choice_words, what_happened


@pytest.mark.parametrize(
    ("holder", "labels", "who"),
    [("local", OF_PACKAGES, "upstream"), ("upstream", OF_PACKAGES, "you"), ("local", OF_GIT, "their side")],
)
def test_a_broken_reference_is_named_in_its_sentence(holder: SideName, labels: SideLabels, who: str) -> None:
    gone: Choice = "local" if holder == "upstream" else "upstream"
    record = DecisionRecord(
        id="1",
        file="kustomization.yaml",
        resource=None,
        path="",
        rule="I",
        nature="reference",
        status="open",
        settled_by="",
        message="",
        values={"original": "resources[0] names a.yaml", holder: "a.yaml"},
        choices=(gone,),
        chosen=None,
        fingerprint="",
        docs="",
    )
    assert what_happened(record, labels) == f"resources[0] names a.yaml, which {who} removed or changed."
    assert choice_words(record, gone, labels) == "Accept that it is gone"
