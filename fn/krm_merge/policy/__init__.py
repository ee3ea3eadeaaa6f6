"""A package's policy: found, read, combined with what a run asks for, edited when choices are made or dropped.

The edges: `find_policy_around` reads the disk, `memory_path`, `recall`, `recall_around` and `remember` the repository
around a folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_merge.startup import lazy_interface

if TYPE_CHECKING:
    from krm_merge.policy.models import ListKeysField as ListKeysField
    from krm_merge.policy.models import MergePolicy as MergePolicy
    from krm_merge.policy.models import MergeRules as MergeRules
    from krm_merge.policy.models import RulesField as RulesField
    from krm_merge.policy.models import list_keys_of as list_keys_of
    from krm_merge.policy.models import rules_of as rules_of
    from krm_merge.policy.package_policy import KIND as KIND
    from krm_merge.policy.package_policy import NO_POLICY as NO_POLICY
    from krm_merge.policy.package_policy import PackagePolicy as PackagePolicy
    from krm_merge.policy.package_policy import PolicyError as PolicyError
    from krm_merge.policy.package_policy import RulesError as RulesError
    from krm_merge.policy.package_policy import RulesFile as RulesFile
    from krm_merge.policy.package_policy import combine as combine
    from krm_merge.policy.package_policy import edit_policy as edit_policy
    from krm_merge.policy.package_policy import find_policy as find_policy
    from krm_merge.policy.package_policy import find_policy_around as find_policy_around
    from krm_merge.policy.package_policy import is_policy as is_policy
    from krm_merge.policy.package_policy import memory_path as memory_path
    from krm_merge.policy.package_policy import name_in_repository as name_in_repository
    from krm_merge.policy.package_policy import parse_policy as parse_policy
    from krm_merge.policy.package_policy import policy_from_model as policy_from_model
    from krm_merge.policy.package_policy import read_policy as read_policy
    from krm_merge.policy.package_policy import read_rules as read_rules
    from krm_merge.policy.package_policy import recall as recall
    from krm_merge.policy.package_policy import recall_around as recall_around
    from krm_merge.policy.package_policy import remember as remember
    from krm_merge.policy.package_policy import resolution_value as resolution_value
    from krm_merge.policy.package_policy import rule_value as rule_value
    from krm_merge.policy.package_policy import stale_messages as stale_messages

__getattr__, __dir__ = lazy_interface(
    __name__,
    {
        "models": "ListKeysField MergePolicy MergeRules RulesField list_keys_of rules_of",
        "package_policy": "KIND NO_POLICY PackagePolicy PolicyError RulesError RulesFile combine "
        "edit_policy find_policy find_policy_around is_policy memory_path name_in_repository parse_policy "
        "policy_from_model read_policy read_rules recall recall_around remember resolution_value "
        "rule_value stale_messages",
    },
)
