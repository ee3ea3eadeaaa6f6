"""Three-way merge of YAML and JSON files that hold values but no resource, such as values.yaml (rule R4)."""

from __future__ import annotations

from posixpath import basename
from typing import NamedTuple

from krm_merge.krm.identity import NO_RESOURCE
from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Result, Results
from krm_merge.merge.decisions.decision import Decision, FileDecision
from krm_merge.merge.decisions.member import Member, ResourceOutcome
from krm_merge.merge.decisions.policy import Policy
from krm_merge.merge.decisions.report import report
from krm_merge.merge.package.document import merge_document, merge_embedded
from krm_merge.merge.values.tree import TreeMerge
from krm_merge.merge.writing.carry_out import carry_out
from krm_merge.packages.files.tree import File, merged_mode
from krm_merge.schema import Schema
from krm_merge.schema.builtin import any_object_schema
from krm_merge.schema.kustomization import FILES as KUSTOMIZATION_FILES
from krm_merge.schema.kustomization import KustomizationSchema
from krm_merge.text.reading.nodes import MappingNode, TextError
from krm_merge.text.reading.reader import BOM, read


class MergedFile(NamedTuple):
    """Local's file after the merge, None where it has none, with the results to report.

    It was decided as a file, or by the fields of its one document.
    """

    file: File | None
    results: list[Result]
    decisions: tuple[FileDecision, ...] = ()
    outcome: ResourceOutcome | None = None


def merge_values(
    path: str, original: File | None, upstream: File | None, local: File | None, policy: Policy
) -> MergedFile | None:
    """Merges by fields (V), None where a side is not one mapping."""
    members = [_member(path, file) for file in (original, upstream, local)]
    before, theirs, ours = members
    if theirs is None or ours is None or local is None or (before is None and original is not None):
        return None
    schema: Schema = KustomizationSchema() if basename(path) in KUSTOMIZATION_FILES else any_object_schema()

    def decide(root: MappingNode) -> list[Decision]:
        merge = TreeMerge(schema, policy, file=path, embedded=merge_embedded)
        return merge.merge(before.root if before is not None else None, theirs.root, root)

    outcome = merge_document(before, theirs, ours, decide)
    results = Results()
    refused = any(decision.severity == "error" for decision in outcome.decisions)
    resource = Resource.from_tree(ours.root)
    if not refused:
        carry_out(resource, outcome, results, policy.redactions)
    report(outcome, resource, results, policy.redactions, refused=refused)
    file = local
    if resource.is_changed and not results.errors:
        bom = BOM if local.data.decode().startswith(BOM) else ""
        file = File((bom + resource.text()).encode(), merged_mode(original, upstream, local))
    return MergedFile(file, list(results), outcome=outcome)


def _member(path: str, file: File | None) -> Member | None:
    if file is None or file.mode == "link":
        return None
    try:
        root = read(file.data.decode("utf-8"))
    except (UnicodeDecodeError, TextError):
        return None
    return Member(path, NO_RESOURCE, root, path) if isinstance(root, MappingNode) else None
