"""Packages as files: read, merged, written, and fetched with git.

`directory`, `write`, `journal` and `git` touch the disk and start programs; the others are pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.packages.files.disk import collect_notes as collect_notes
    from krm_merge.packages.files.disk import note as note
    from krm_merge.packages.files.disk import state_file as state_file
    from krm_merge.packages.files.disk import write_file as write_file
    from krm_merge.packages.files.disk import write_tree as write_tree
    from krm_merge.packages.files.journal import Journal as Journal
    from krm_merge.packages.files.tree import Changed as Changed
    from krm_merge.packages.files.tree import Changes as Changes
    from krm_merge.packages.files.tree import Directory as Directory
    from krm_merge.packages.files.tree import File as File
    from krm_merge.packages.files.tree import PackageError as PackageError
    from krm_merge.packages.files.tree import RefusedError as RefusedError
    from krm_merge.packages.files.tree import Subtree as Subtree
    from krm_merge.packages.files.tree import Tree as Tree
    from krm_merge.packages.files.tree import UnavailableError as UnavailableError
    from krm_merge.packages.files.tree import belongs as belongs
    from krm_merge.packages.files.tree import folders_around as folders_around
    from krm_merge.packages.files.tree import holds_resources as holds_resources
    from krm_merge.packages.files.tree import is_json as is_json
    from krm_merge.packages.files.tree import is_kptfile as is_kptfile
    from krm_merge.packages.files.tree import leads_out as leads_out
    from krm_merge.packages.files.tree import packages_below as packages_below
    from krm_merge.packages.files.tree import read_file as read_file
    from krm_merge.packages.files.tree import reason as reason
    from krm_merge.packages.git import MODES as MODES
    from krm_merge.packages.git import CommittedFiles as CommittedFiles
    from krm_merge.packages.git import GitCache as GitCache
    from krm_merge.packages.git import GitRepositories as GitRepositories
    from krm_merge.packages.git import Version as Version
    from krm_merge.packages.git import files_of as files_of
    from krm_merge.packages.git import git_difference as git_difference
    from krm_merge.packages.git import ignored_files as ignored_files
    from krm_merge.packages.git import uncommitted_files as uncommitted_files
    from krm_merge.packages.kpt import has_image as has_image
    from krm_merge.packages.kpt import updated_by_kpt as updated_by_kpt
    from krm_merge.packages.kptfile import CONDITION as CONDITION
    from krm_merge.packages.kptfile import CONFIG_FILE as CONFIG_FILE
    from krm_merge.packages.kptfile import STRATEGIES as STRATEGIES
    from krm_merge.packages.kptfile import DeclaredMerge as DeclaredMerge
    from krm_merge.packages.kptfile import KptfileText as KptfileText
    from krm_merge.packages.kptfile import Lock as Lock
    from krm_merge.packages.kptfile import Upstream as Upstream
    from krm_merge.packages.kptfile import add_function as add_function
    from krm_merge.packages.kptfile import config_digest as config_digest
    from krm_merge.packages.kptfile import config_path_in as config_path_in
    from krm_merge.packages.kptfile import declared_merges as declared_merges
    from krm_merge.packages.kptfile import follow_version as follow_version
    from krm_merge.packages.kptfile import is_version as is_version
    from krm_merge.packages.kptfile import lock_value as lock_value
    from krm_merge.packages.kptfile import merge_records as merge_records
    from krm_merge.packages.kptfile import remove_function as remove_function
    from krm_merge.packages.kptfile import upstream_in as upstream_in
    from krm_merge.packages.merge.moved import follow as follow
    from krm_merge.packages.merge.other_files import MARKER_SIZE as MARKER_SIZE
    from krm_merge.packages.merge.other_files import lines_of_conflicts as lines_of_conflicts
    from krm_merge.packages.merge.other_files import marked_changes as marked_changes
    from krm_merge.packages.merge.side import KRMIGNORE as KRMIGNORE
    from krm_merge.packages.merge.side import CommonTree as CommonTree
    from krm_merge.packages.merge.side import PackageVersion as PackageVersion
    from krm_merge.packages.merge.side import as_fetched as as_fetched
    from krm_merge.packages.merge.side import broken_files as broken_files
    from krm_merge.packages.merge.side import config_paths as config_paths
    from krm_merge.packages.merge.side import path_of as path_of
    from krm_merge.packages.merge.trees import ALL_TAKEN as ALL_TAKEN
    from krm_merge.packages.merge.trees import MergedTree as MergedTree
    from krm_merge.packages.merge.trees import differences as differences
    from krm_merge.packages.merge.trees import keep_references as keep_references
    from krm_merge.packages.merge.trees import merge_trees as merge_trees
    from krm_merge.packages.models import Kptfile as Kptfile
    from krm_merge.packages.models import Vendorfile as Vendorfile
    from krm_merge.packages.references.edits import list_files as list_files
    from krm_merge.packages.references.edits import list_new_files as list_new_files
    from krm_merge.packages.references.graph import PackageGraph as PackageGraph
    from krm_merge.packages.references.graph import is_naming as is_naming
    from krm_merge.packages.update import NewAddressError as NewAddressError
    from krm_merge.packages.update import Repositories as Repositories
    from krm_merge.packages.update import Updated as Updated
    from krm_merge.packages.update import own_packages as own_packages
    from krm_merge.packages.update import update_package as update_package
    from krm_merge.packages.update import without_own_packages as without_own_packages

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "files.disk": "collect_notes note state_file write_file write_tree",
        "files.journal": "Journal",
        "files.tree": "Changed Changes Directory File PackageError RefusedError Subtree Tree "
        "UnavailableError belongs folders_around holds_resources is_json is_kptfile leads_out packages_below read_file "
        "reason",
        "git": "CommittedFiles GitCache GitRepositories MODES Version files_of git_difference ignored_files "
        "uncommitted_files",
        "kpt": "has_image updated_by_kpt",
        "kptfile": "CONDITION CONFIG_FILE DeclaredMerge KptfileText Lock STRATEGIES Upstream add_function "
        "config_digest config_path_in declared_merges follow_version is_version lock_value merge_records "
        "remove_function upstream_in",
        "merge.moved": "follow",
        "merge.other_files": "MARKER_SIZE lines_of_conflicts marked_changes",
        "merge.side": "CommonTree KRMIGNORE PackageVersion as_fetched broken_files config_paths path_of",
        "merge.trees": "ALL_TAKEN MergedTree differences keep_references merge_trees",
        "models": "Kptfile Vendorfile",
        "references.edits": "list_files list_new_files",
        "references.graph": "PackageGraph is_naming",
        "update": "NewAddressError Repositories Updated own_packages update_package without_own_packages",
    },
)
