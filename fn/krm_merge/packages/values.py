"""Three-way merge of YAML files that hold values but no resource, such as values.yaml."""

from __future__ import annotations

from krm_merge.krm.resource import Resource
from krm_merge.krm.result import Results
from krm_merge.merge.edit import edit
from krm_merge.merge.member import Member, Outcome
from krm_merge.merge.policy import Policy, Subject
from krm_merge.merge.report import report
from krm_merge.merge.tree import TreeMerge
from krm_merge.packages.text_files import MergedFile
from krm_merge.packages.tree import File, merged_mode
from krm_merge.schema.builtin import any_object_schema
from krm_merge.text.nodes import Mapping, TextError
from krm_merge.text.reader import BOM, read


def merge_values(
    path: str, original: File | None, upstream: File | None, local: File | None, policy: Policy
) -> MergedFile | None:
    """Merges by fields (V), None where a side is not one mapping."""
    members = [_member(path, file) for file in (original, upstream, local)]
    before, theirs, ours = members
    if before is None or theirs is None or ours is None or local is None:
        return None
    decisions = TreeMerge(any_object_schema(), policy).merge(before.root, theirs.root, ours.root)
    outcome, results = Outcome("merged", before, theirs, ours, decisions), Results()
    refused = any(decision.severity == "error" for decision in decisions)
    resource = Resource.from_tree(ours.root)
    if not refused:
        edit(resource, outcome, results)
    report(outcome, resource, results, refused=refused)
    file = local
    if resource.is_changed and not results.errors:
        bom = BOM if local.data.decode().startswith(BOM) else ""
        file = File((bom + resource.text()).encode(), merged_mode(original, upstream, local))
    return MergedFile(file, list(results))


def _member(path: str, file: File | None) -> Member | None:
    if file is None or file.mode == "link":
        return None
    try:
        root = read(file.data.decode("utf-8"))
    except (UnicodeDecodeError, TextError):
        return None
    return Member(path, Subject("", "", "", ""), root, path) if isinstance(root, Mapping) else None
