"""kpt's notes of which upstream resource a local one came from (rule R6).

Source: kpt's `addmergecomment`. kpt writes them when it gets or updates a package, and follows them when it merges.
"""

from __future__ import annotations

from krm_merge.krm.resource import Resource
from krm_merge.merge.decisions.member import UPSTREAM_IDENTIFIER
from krm_merge.merge.lines.comments import MERGE_COMMENT, CommentReader
from krm_merge.text.reading.layout import Comments
from krm_merge.text.reading.nodes import MappingNode

_DEFAULT_NAMESPACE = "default"


def note_origin(resource: Resource) -> None:
    """Writes comment and annotation on a resource that upstream has as it is here.

    A Kptfile, and a resource without any metadata, gets none, as from kpt.
    """
    metadata = resource.root.entry("metadata")
    if metadata is None or not isinstance(metadata.value, MappingNode) or not (resource.name or resource.namespace):
        return
    comments = CommentReader().of(resource.root, metadata)
    # A comment of upstream's own on that line stays: the annotation says the same.
    if not resource.root.flow and (comments.line is None or comments.line.startswith(MERGE_COMMENT)):
        line = f"{MERGE_COMMENT} {resource.namespace}/{resource.name}"
        resource.editor.comment(metadata, Comments(comments.head, line))
    group = resource.api_version.rpartition("/")[0]
    identifier = "|".join((group, resource.kind, resource.namespace or _DEFAULT_NAMESPACE, resource.name))
    resource.set(f'metadata.annotations["{UPSTREAM_IDENTIFIER}"]', identifier)
