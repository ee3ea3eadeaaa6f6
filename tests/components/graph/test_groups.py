"""Groups of pull requests, and the branches that are written for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_merge.components.graph import BranchNames, branch_for, group_label, resource_name

OURS = BranchNames(dependants={"bundle", "op"})
BOTH = BranchNames(("/", "@"), dependants={"bundle"})
AT = BranchNames(("@",), dependants={"bundle"})
OTHERS = BranchNames(ignored_prefixes=("konflux",), dependants={"bundle"})

GROUPS: list[tuple[BranchNames, str, str]] = [
    (OURS, "my-feature/change-1", "my-feature"),  # CR7
    (OURS, "my-feature/a/b", "my-feature"),
    (OURS, "my-feature", "my-feature"),  # CR8
    (OURS, "my-feature/bundle", "my-feature"),
    (OURS, "my-feature@bundle", "my-feature"),  # I5
    (OURS, "my-feature/x@bundle", "my-feature"),
    (OURS, "user@host", "user@host"),  # C2
    (OURS, "user@host@bundle", "user@host"),
    (OURS, "user@host/bundle", "user@host"),
    (OURS, "@bundle", "@bundle"),
    (OURS, "/x", "/x"),
    (OURS, "bundle", "bundle"),
    (OURS, "renovate/nginx", "renovate/nginx"),  # I6
    (OURS, "dependabot/pip/a", "dependabot/pip/a"),
    (OURS, "renovate", "renovate"),
    (OURS, "renovated/nginx", "renovated"),
    (OTHERS, "renovate/nginx", "renovate"),
    (OTHERS, "konflux/component-updates/x", "konflux/component-updates/x"),
    (BOTH, "user@host", "user"),
    (BOTH, "user/x@host", "user"),
    (BOTH, "renovate/nginx", "renovate/nginx"),
    (AT, "user/x@host", "user/x"),
    (AT, "user/x", "user/x"),
    (OURS, "jane:feature/x", "feature"),  # of a fork
    (OURS, "jane:main", "main-jane"),
    (OURS, "renovate/nginx/bundle", "renovate/nginx"),
    (OURS, "renovate/nginx@bundle", "renovate/nginx"),
]


@pytest.mark.parametrize(("branches", "branch", "group"), GROUPS)
def test_group(branches: BranchNames, branch: str, group: str) -> None:
    """CR7, CR8, CR9, I5, I6, C2: every branch has one group."""
    assert branches.group(branch) == group


WRITTEN: list[tuple[str, set[str], str]] = [
    ("x", set(), "x/bundle"),
    ("x", {"main", "y", "xx", "x-1", "x/other"}, "x/bundle"),
    ("x", {"x/bundle"}, "x/bundle"),
    ("x", {"x"}, "x@bundle"),
    ("x", {"x", "x@bundle"}, "x@bundle"),
    ("x", {"x/bundle/deep"}, "x@bundle"),
    ("x/y", {"x"}, "x/y@bundle"),
    ("x/y", {"x/y"}, "x/y@bundle"),
    ("x/y", {"x/z"}, "x/y/bundle"),
]


def test_branch_where_slashes_separate_nothing() -> None:
    """CR26: a group that could not be read from the branch again is not written to it."""
    assert branch_for("x", "bundle", (), ["@"]) == "x@bundle"


@pytest.mark.parametrize(("group", "branches", "branch"), WRITTEN)
def test_branch_for(group: str, branches: set[str], branch: str) -> None:
    """I5: git keeps no branch below another; where that is in the way, the other spelling."""
    assert branch_for(group, "bundle", branches) == branch


def test_group_label() -> None:
    """CR9: as Konflux labels the group; 62 characters, for a label has at most 63."""
    assert group_label("feature-2") == "df15e51b5cb12b49e605575c27c9fa24f7c046dc32ba3c8ee864a738e02270"
    assert len(group_label("")) == 62


def test_resource_name() -> None:
    """Texts that are not names of resources become such names; different texts get different names."""
    assert resource_name("bundle", "feature-1") == "bundle.feature-1"
    assert resource_name("bundle", "v1.2") == "bundle.v1.2"
    assert resource_name("bundle", "", "1") == "bundle.1"
    assert resource_name("a", "b-c") != resource_name("a-b", "c")
    assert resource_name("my.repo", "f").startswith("my-repo-f-")
    assert resource_name("b", "Feature/1").startswith("b-feature-1-")
    apart = ["f/1", "f@1", "F/1", "f-1", "-f/1", "f_1", "f.1/"]
    assert len({resource_name("b", name) for name in apart}) == len(apart)


@given(st.text(max_size=300), st.text(max_size=5))
def test_resource_names_are_valid(group: str, suffix: str) -> None:
    """They are names of DNS."""
    name = resource_name("bundle", group, suffix)
    assert len(name) <= 253
    for label in name.split("."):
        assert label[0].isalnum()
        assert label[-1].isalnum()
        assert not set(label) - set("abcdefghijklmnopqrstuvwxyz0123456789-")


words = st.text("abx-", min_size=1, max_size=3)
branch_texts = st.builds(
    lambda first, more: first + "".join(sign + word for sign, word in more),
    words,
    st.lists(st.tuples(st.sampled_from("/@"), words | st.sampled_from(["op", "bundle"])), max_size=3),
)


def are_in_their_group(branches: BranchNames, branch: str, groups: set[str]) -> None:
    group = branches.group(branch)
    for suffix in branches.dependants:
        for others in (groups, {*groups, group}):
            assert branches.group(branch_for(group, suffix, others, branches.separators)) == group


@pytest.mark.parametrize("branches", [OURS, BOTH, AT], ids=["/", "/@", "@"])
@given(branch=branch_texts, groups=st.sets(branch_texts, max_size=3))
def test_our_branches_are_in_their_group(branches: BranchNames, branch: str, groups: set[str]) -> None:
    """CR26: what is written for a group is in it, and is found again."""
    are_in_their_group(branches, branch, groups)


@pytest.mark.parametrize("branch", ["renovate/nginx", "renovate", "dependabot/pip/a"])
def test_ignored_prefixes_are_in_their_group(branch: str) -> None:
    """CR26, I6."""
    are_in_their_group(OURS, branch, set())
