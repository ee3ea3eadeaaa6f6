"""Three-way merge of one document that upstream and local have: by fields, and by lines where they know better."""

from __future__ import annotations

from collections.abc import Sequence

from krm_merge.krm.identity import Identity
from krm_merge.merge.decisions.decision import Decision, is_doubtful
from krm_merge.merge.decisions.member import Decide, Member, ResourceOutcome
from krm_merge.merge.values.tree import DecideOnRoots
from krm_merge.text.reading.nodes import MappingNode, TextError

_NO_RESOURCE = Identity("", "", "", "")


def merge_document(original: Member | None, upstream: Member, local: Member, decide: Decide) -> ResourceOutcome:
    """Merges a document. `decide` gives the changes that a merge makes in a version of it.

    Law H: where fields leave a doubt, a merge by lines that holds what both sides changed settles it; not in a
    Kptfile, whose functions and alternatives are one value whatever lines say.
    """
    decisions = decide(local.root)
    # What somebody chose is not settled once more by lines (M3).
    by_lines = original is not None and not local.is_kptfile and not any(decision.resolution for decision in decisions)
    if original is not None and by_lines and any(map(is_doubtful, decisions)):
        # Hardly any document comes here, and one that does not needs none of this.
        from krm_merge.merge.writing.by_lines import decision_by_lines, has_all_by_lines, settled_by_lines

        if has_all_by_lines(original.root, upstream.root, local.root):
            return ResourceOutcome("kept", original, upstream, local, [])
        if (text := settled_by_lines(original.root, upstream.root, local.root, decide, decisions)) is not None:
            decisions_of_lines = [decision_by_lines(local.root, text)]
            return ResourceOutcome("merged", original, upstream, local, decisions_of_lines, text, decide)
    return ResourceOutcome("merged", original, upstream, local, decisions, None, decide)


def merge_embedded(texts: Sequence[str], decide: DecideOnRoots) -> tuple[str, list[Decision]] | None:
    """Merges the texts of original, upstream and local as documents, with the comments of both (V6).

    Gives the merged text, and what was decided on its fields; None where a text is not one YAML or JSON mapping, or a
    comment would be lost, which lines report.
    """
    # Hardly any merge comes here.
    from krm_merge.krm.resource import Resource
    from krm_merge.merge.writing.carry_out import merged_text
    from krm_merge.merge.writing.lost_comments import lost_comments
    from krm_merge.text.reading.reader import read

    try:
        roots = [read(text) for text in texts]
    except TextError:
        return None
    members = [Member("", _NO_RESOURCE, root, "") for root in roots if isinstance(root, MappingNode)]
    if len(members) < len(roots):
        return None
    before, theirs, ours = members
    outcome = merge_document(before, theirs, ours, lambda root: decide(before.root, theirs.root, root))
    if any(decision.severity == "error" for decision in outcome.decisions):
        # Nothing is written.
        return texts[2], outcome.decisions
    try:
        text = merged_text(Resource.from_tree(ours.root), outcome)[0]
    except TextError:
        return None
    return None if lost_comments(outcome, text, ()) else (text, outcome.decisions)
