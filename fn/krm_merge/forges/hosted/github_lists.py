"""Pull requests of many repositories in one query of GitHub's GraphQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krm_merge.forges.hosted.answers import number_at, object_at, object_of, text_at
from krm_merge.forges.interface import ForgeError, ForgePullRequest, PullRequestState

_FIELDS: Final = """
fragment pulls on Repository {
  pullRequests(headRefName: $branch, first: 5, orderBy: {field: CREATED_AT, direction: DESC}) {
    nodes {
      number title body isDraft state isCrossRepository headRefName headRefOid baseRefName mergedAt
      mergeCommit { oid } author { login }
    }
  }
}
"""
_STATES: Final[Mapping[str, PullRequestState]] = {"OPEN": "open", "CLOSED": "closed", "MERGED": "merged"}


def latest_pull_requests(names: Mapping[str, str]) -> str:
    """The query for the latest pull requests from the branch `$branch` of repositories, by alias."""
    asked = []
    for alias, name in names.items():
        owner, _, repository = name.partition("/")
        asked.append(f'{alias}: repository(owner: "{owner}", name: "{repository}") {{ ...pulls }}')
    return "query($branch: String!) { " + " ".join(asked) + " }" + _FIELDS


def shown_by_graphql(answer: Mapping[str, Any], alias: str) -> list[ForgePullRequest]:
    """The pull requests of one repository in an answer, by number. Raises ForgeError."""
    repository = object_at(object_of(answer.get("data")), alias)
    nodes = object_of(object_of(repository).get("pullRequests")).get("nodes")
    if not isinstance(nodes, list):
        raise ForgeError("the answer is not what GitHub documents; correct the address of the API")
    shown = [_shown(node) for node in map(object_of, nodes) if not node.get("isCrossRepository")]
    return sorted(shown, key=lambda pull: pull.number)


def _shown(node: Mapping[str, Any]) -> ForgePullRequest:
    author, merge = object_at(node, "author"), object_at(node, "mergeCommit")
    return ForgePullRequest(
        number=number_at(node, "number"),
        source_branch=text_at(node, "headRefName"),
        target_branch=text_at(node, "baseRefName"),
        title=text_at(node, "title"),
        body=text_at(node, "body"),
        draft=bool(node.get("isDraft")),
        state=_STATES.get(text_at(node, "state"), "open"),
        head=text_at(node, "headRefOid"),
        merge_commit=text_at(merge, "oid") if merge is not None else "",
        author=text_at(author, "login") if author is not None else "",
        merged_at=text_at(node, "mergedAt"),
    )
