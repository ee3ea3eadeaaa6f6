"""Decisions as records, and the forms in which people and programs read them.

Nothing here merges, and the function does not import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.report.comparison import ComparedPlace as ComparedPlace
    from krm_merge.report.comparison import Comparison as Comparison
    from krm_merge.report.comparison import VersionName as VersionName
    from krm_merge.report.forms import FORMS as FORMS
    from krm_merge.report.forms import as_json as as_json
    from krm_merge.report.forms import render_document as render_document
    from krm_merge.report.forms.html import Html as Html
    from krm_merge.report.forms.html import card as card
    from krm_merge.report.forms.html import page as page
    from krm_merge.report.forms.html import tag as tag
    from krm_merge.report.forms.markdown import LONGEST as LONGEST
    from krm_merge.report.forms.markdown import code as code
    from krm_merge.report.forms.markdown import plain as plain
    from krm_merge.report.forms.markdown import render as render
    from krm_merge.report.forms.terminal import Line as Line
    from krm_merge.report.forms.terminal import Style as Style
    from krm_merge.report.forms.terminal import changed_lines as changed_lines
    from krm_merge.report.forms.terminal import comparison_lines as comparison_lines
    from krm_merge.report.reading import contexts_of as contexts_of
    from krm_merge.report.reading import records_of as records_of
    from krm_merge.report.reading import values_at as values_at
    from krm_merge.report.record import SIDES as SIDES
    from krm_merge.report.record import VERSIONS as VERSIONS
    from krm_merge.report.record import Context as Context
    from krm_merge.report.record import DecisionRecord as DecisionRecord
    from krm_merge.report.record import Files as Files
    from krm_merge.report.record import MergeReport as MergeReport
    from krm_merge.report.record import RecordedSide as RecordedSide
    from krm_merge.report.record import SideName as SideName
    from krm_merge.report.record import Status as Status
    from krm_merge.report.record import resource_value as resource_value
    from krm_merge.report.words import CHOICES as CHOICES
    from krm_merge.report.words import NATURES as NATURES
    from krm_merge.report.words import anchor_of as anchor_of
    from krm_merge.report.words import changed_values as changed_values
    from krm_merge.report.words import flow_text as flow_text
    from krm_merge.report.words import shorten as shorten
    from krm_merge.report.words import words_changed as words_changed
    from krm_merge.report.words import yaml_text as yaml_text

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "comparison": "ComparedPlace Comparison VersionName",
        "forms": "FORMS as_json render_document",
        "forms.html": "Html card page tag",
        "forms.markdown": "LONGEST code plain render",
        "forms.terminal": "Line Style changed_lines comparison_lines",
        "reading": "contexts_of records_of values_at",
        "record": "Context DecisionRecord Files MergeReport RecordedSide SIDES SideName Status VERSIONS resource_value",
        "words": "CHOICES NATURES anchor_of changed_values flow_text shorten words_changed yaml_text",
    },
)
