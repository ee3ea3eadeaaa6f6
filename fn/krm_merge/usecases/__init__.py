"""What the program does with packages: merge versions, declare local changes, explain values. No terminal, no page.

What a command, the page, a fleet and Python call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.usecases.comparing import compare_with_kpt as compare_with_kpt
    from krm_merge.usecases.declaring import DeclaredEdits as DeclaredEdits
    from krm_merge.usecases.declaring import declare as declare
    from krm_merge.usecases.declaring import merge_config as merge_config
    from krm_merge.usecases.declaring import undeclare as undeclare
    from krm_merge.usecases.merging import GitMerge as GitMerge
    from krm_merge.usecases.merging import Mergeable as Mergeable
    from krm_merge.usecases.merging import MergeChoices as MergeChoices
    from krm_merge.usecases.merging import MergedPackage as MergedPackage
    from krm_merge.usecases.merging import MergeSides as MergeSides
    from krm_merge.usecases.merging import OnConflictOrMarkers as OnConflictOrMarkers
    from krm_merge.usecases.merging import Outcome as Outcome
    from krm_merge.usecases.merging import PackageUpdate as PackageUpdate
    from krm_merge.usecases.merging import merge_for_git as merge_for_git
    from krm_merge.usecases.merging import merge_packages as merge_packages
    from krm_merge.usecases.merging import merge_sides as merge_sides
    from krm_merge.usecases.merging import settled_by as settled_by
    from krm_merge.usecases.provenance import FieldOrigin as FieldOrigin
    from krm_merge.usecases.provenance import LineCommit as LineCommit
    from krm_merge.usecases.provenance import LineHistory as LineHistory
    from krm_merge.usecases.provenance import RenderedPackage as RenderedPackage
    from krm_merge.usecases.provenance import ValueSource as ValueSource
    from krm_merge.usecases.provenance import field_origins as field_origins
    from krm_merge.usecases.provenance import line_history as line_history
    from krm_merge.usecases.provenance import local_commit as local_commit

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "comparing": "compare_with_kpt",
        "declaring": "DeclaredEdits declare merge_config undeclare",
        "merging": "GitMerge MergeChoices MergeSides Mergeable MergedPackage OnConflictOrMarkers Outcome PackageUpdate "
        "merge_for_git merge_packages merge_sides settled_by",
        "provenance": "FieldOrigin LineCommit LineHistory RenderedPackage ValueSource field_origins line_history "
        "local_commit",
    },
)
