"""Three-way merge of one document that upstream and local have: by fields, and by lines where they know better."""

from __future__ import annotations

from krm_merge.merge.decisions.decision import is_doubtful
from krm_merge.merge.decisions.member import Decide, Member, ResourceOutcome


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
        from krm_merge.merge.writing.by_lines import has_all_by_lines, settled_by_lines

        if has_all_by_lines(original.root, upstream.root, local.root):
            return ResourceOutcome("kept", original, upstream, local, [])
        if (text := settled_by_lines(original.root, upstream.root, local.root, decide, decisions)) is not None:
            return ResourceOutcome("merged", original, upstream, local, [], text, decide)
    return ResourceOutcome("merged", original, upstream, local, decisions, None, decide)
