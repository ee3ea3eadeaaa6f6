"""A package's policy: found, read, combined with what a run asks for, edited when choices are made or dropped.

The edges: `find_policy_around` reads the disk, `memory_path`, `recall` and `remember` the repository around a folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_face

if TYPE_CHECKING:
    from krm_merge.policy.editing import (
        RecordedChoice,
        edit_policy,
        memory_path,
        prune_policy,
        recall,
        remember,
        rule_value,
    )
    from krm_merge.policy.package_policy import (
        FILE,
        KIND,
        NO_POLICY,
        PackagePolicy,
        PolicyError,
        RulesError,
        RulesFile,
        collect_redactions,
        combine,
        find_policy,
        find_policy_around,
        is_policy,
        parse_policy,
        policy_from_model,
        read_policy,
        read_policy_files,
        read_rules,
        stale_message,
        stale_resolutions,
    )

__all__ = [
    "FILE",
    "KIND",
    "NO_POLICY",
    "PackagePolicy",
    "PolicyError",
    "RecordedChoice",
    "RulesError",
    "RulesFile",
    "collect_redactions",
    "combine",
    "edit_policy",
    "find_policy",
    "find_policy_around",
    "is_policy",
    "memory_path",
    "parse_policy",
    "policy_from_model",
    "prune_policy",
    "read_policy",
    "read_policy_files",
    "read_rules",
    "recall",
    "remember",
    "rule_value",
    "stale_message",
    "stale_resolutions",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "krm_merge.policy.editing": "RecordedChoice edit_policy memory_path prune_policy recall remember rule_value",
        "krm_merge.policy.package_policy": "FILE KIND NO_POLICY PackagePolicy PolicyError RulesError RulesFile "
        "collect_redactions combine find_policy find_policy_around is_policy parse_policy policy_from_model "
        "read_policy read_policy_files read_rules stale_message stale_resolutions",
    },
)
