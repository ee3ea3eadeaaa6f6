"""Three-way merge of Kubernetes configuration: original, upstream, local. Decides; `decision.apply` carries out.

Pure: trees in, decisions out. The rules have the letters and numbers of the merge rules in `docs/rules.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.merge.decisions.decision import MERGE_POLICY as MERGE_POLICY
    from krm_merge.merge.decisions.decision import NOTHING_DECIDED as NOTHING_DECIDED
    from krm_merge.merge.decisions.decision import UPSTREAM_IDENTIFIER as UPSTREAM_IDENTIFIER
    from krm_merge.merge.decisions.decision import Decision as Decision
    from krm_merge.merge.decisions.decision import FileDecision as FileDecision
    from krm_merge.merge.decisions.decision import Member as Member
    from krm_merge.merge.decisions.decision import PackageDecisions as PackageDecisions
    from krm_merge.merge.decisions.decision import ResourceOutcome as ResourceOutcome
    from krm_merge.merge.decisions.decision import Side as Side
    from krm_merge.merge.decisions.decision import Sides as Sides
    from krm_merge.merge.decisions.decision import same as same
    from krm_merge.merge.decisions.policy import NO_RESOLUTIONS as NO_RESOLUTIONS
    from krm_merge.merge.decisions.policy import Choice as Choice
    from krm_merge.merge.decisions.policy import Content as Content
    from krm_merge.merge.decisions.policy import Fit as Fit
    from krm_merge.merge.decisions.policy import Nature as Nature
    from krm_merge.merge.decisions.policy import OnConflict as OnConflict
    from krm_merge.merge.decisions.policy import OnDelete as OnDelete
    from krm_merge.merge.decisions.policy import Policy as Policy
    from krm_merge.merge.decisions.policy import Resolution as Resolution
    from krm_merge.merge.decisions.policy import Resolutions as Resolutions
    from krm_merge.merge.decisions.policy import Rule as Rule
    from krm_merge.merge.decisions.policy import content_of as content_of
    from krm_merge.merge.decisions.policy import file_content as file_content
    from krm_merge.merge.decisions.policy import fingerprint as fingerprint
    from krm_merge.merge.decisions.policy import without_positions as without_positions
    from krm_merge.merge.decisions.report import WinningSide as WinningSide
    from krm_merge.merge.decisions.report import in_document_order as in_document_order
    from krm_merge.merge.decisions.report import is_lost_comment as is_lost_comment
    from krm_merge.merge.decisions.report import lost_comments_message as lost_comments_message
    from krm_merge.merge.decisions.report import renamed_from as renamed_from
    from krm_merge.merge.decisions.report import report as report
    from krm_merge.merge.decisions.report import report_files as report_files
    from krm_merge.merge.decisions.report import sentence_of as sentence_of
    from krm_merge.merge.decisions.report import shorten as shorten
    from krm_merge.merge.decisions.report import winner_of as winner_of
    from krm_merge.merge.lines.sequence import matching_blocks as matching_blocks
    from krm_merge.merge.lines.sequence import merge_order as merge_order
    from krm_merge.merge.lines.three_way import MERGE_COMMENT as MERGE_COMMENT
    from krm_merge.merge.lines.three_way import CommentReader as CommentReader
    from krm_merge.merge.lines.three_way import MergedText as MergedText
    from krm_merge.merge.lines.three_way import comments_in as comments_in
    from krm_merge.merge.lines.three_way import merge_lines as merge_lines
    from krm_merge.merge.lines.three_way import notes_in as notes_in
    from krm_merge.merge.package.document import FieldMerge as FieldMerge
    from krm_merge.merge.package.document import merge_document as merge_document
    from krm_merge.merge.package.document import merge_embedded as merge_embedded
    from krm_merge.merge.package.merger import ListKeys as ListKeys
    from krm_merge.merge.package.merger import PackageMerger as PackageMerger
    from krm_merge.merge.package.merger import children_at as children_at
    from krm_merge.merge.package.merger import essence as essence
    from krm_merge.merge.package.merger import follows_upstream_move as follows_upstream_move
    from krm_merge.merge.package.merger import node_at as node_at
    from krm_merge.merge.package.merger import reaches as reaches
    from krm_merge.merge.package.narrow import Document as Document
    from krm_merge.merge.package.pipeline_effects import Pipeline as Pipeline
    from krm_merge.merge.package.pipeline_effects import ReadPipeline as ReadPipeline
    from krm_merge.merge.package.pipeline_effects import with_change as with_change
    from krm_merge.merge.package.resources import BLUEPRINT as BLUEPRINT
    from krm_merge.merge.package.resources import CONFIG_CONNECTOR as CONFIG_CONNECTOR
    from krm_merge.merge.package.resources import CRD as CRD
    from krm_merge.merge.package.resources import Folders as Folders
    from krm_merge.merge.package.resources import Schemas as Schemas
    from krm_merge.merge.package.resources import Triple as Triple
    from krm_merge.merge.package.resources import attribute as attribute
    from krm_merge.merge.package.resources import attribution as attribution
    from krm_merge.merge.package.resources import definitions_in as definitions_in
    from krm_merge.merge.package.resources import match_resources as match_resources
    from krm_merge.merge.package.resources import with_attribution as with_attribution
    from krm_merge.merge.values.context import resource_content as resource_content
    from krm_merge.merge.values.images import image_repository as image_repository
    from krm_merge.merge.values.pipeline import NotIdentified as NotIdentified
    from krm_merge.merge.values.pipeline import PipelineFunction as PipelineFunction
    from krm_merge.merge.values.pipeline import functions_at as functions_at
    from krm_merge.merge.values.pipeline import match_functions as match_functions
    from krm_merge.merge.values.pipeline import read_functions as read_functions
    from krm_merge.merge.values.texts import CHART_FILE as CHART_FILE
    from krm_merge.merge.values.texts import VersionOrder as VersionOrder
    from krm_merge.merge.values.texts import choose_text as choose_text
    from krm_merge.merge.values.texts import higher_version as higher_version
    from krm_merge.merge.values.texts import merge_whole_text as merge_whole_text
    from krm_merge.merge.values.texts import version_order as version_order
    from krm_merge.merge.writing.carry_out import carry_out as carry_out

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "decisions.decision": "Decision FileDecision MERGE_POLICY Member NOTHING_DECIDED "
        "PackageDecisions ResourceOutcome Side Sides UPSTREAM_IDENTIFIER same",
        "decisions.policy": "Choice Content Fit NO_RESOLUTIONS Nature OnConflict OnDelete Policy "
        "Resolution Resolutions Rule content_of file_content fingerprint without_positions",
        "decisions.report": "WinningSide in_document_order is_lost_comment lost_comments_message renamed_from report "
        "report_files sentence_of shorten winner_of",
        "lines.sequence": "matching_blocks merge_order",
        "lines.three_way": "CommentReader MERGE_COMMENT MergedText comments_in merge_lines notes_in",
        "package.document": "FieldMerge merge_document merge_embedded",
        "package.pipeline_effects": "Pipeline ReadPipeline with_change",
        "package.merger": "ListKeys PackageMerger children_at essence follows_upstream_move node_at reaches",
        "package.narrow": "Document",
        "package.resources": "BLUEPRINT CONFIG_CONNECTOR CRD Folders Schemas Triple attribute attribution "
        "definitions_in match_resources with_attribution",
        "values.context": "resource_content",
        "values.images": "image_repository",
        "values.pipeline": "NotIdentified PipelineFunction functions_at match_functions read_functions",
        "values.texts": "CHART_FILE VersionOrder choose_text higher_version merge_whole_text version_order",
        "writing.carry_out": "carry_out",
    },
)
