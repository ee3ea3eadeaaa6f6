"""Pull requests on Forgejo and Gitea, by a thin client: see the package's docstring for why there is no library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from krm_merge.forges.hosted.answers import (
    DraftTitles,
    HostedForge,
    Owned,
    Thread,
    number_at,
    object_at,
    object_of,
    pages,
    text_at,
)
from krm_merge.forges.hosted.transport import Connection, Dialect
from krm_merge.forges.interface import Attention, CheckState, ForgePullRequest, PullRequestState

_PAGE: Final = 50  # Forgejo's default maximum
_LATEST: Final = 100
_DRAFTS: Final = DraftTitles("WIP:", re.compile(r"^\s*(?:(?:wip:|\[wip\])\s*)+", re.IGNORECASE))

_CHECKS: Final[Mapping[str, CheckState]] = {
    "success": "passed",
    "warning": "passed",
    "failure": "failed",
    "error": "failed",
    "pending": "pending",
}


class Forgejo(HostedForge[str]):
    """A forge; its requests name a repository by owner and name. Everything raises ForgeError."""

    dialect = Dialect(
        "Forgejo", "X-RateLimit-", "of the scopes write:repository and write:issue", "https://HOST/api/v1"
    )
    owned = Owned(("orgs/{}/repos", "users/{}/repos"), "clone_url", {"limit": str(_PAGE)})
    drafts = _DRAFTS

    def __init__(self, connection: Connection) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        super().__init__(connection, f"https://{connection.host}/api/v1")
        self._api = self._transport.address.geturl()
        self._session = self._transport.session()

    def _at(self, name: str) -> str:
        return name

    def _query(self, at: str, state: str, source: str) -> Iterable[ForgePullRequest]:
        query = {"state": state, **({"head": source} if source else {}), "sort": "oldest"}
        return [_pull_of(data) for data in self._pages(f"{at}/pulls", query)]

    def _query_branch(self, at: str, branch: str) -> Iterable[ForgePullRequest]:
        """All open ones, and the last of the others: only Forgejo 16 has a filter for the branch."""
        query = {"state": "closed", "sort": "recentupdate", "head": branch}
        ended = [_pull_of(data) for data in islice(self._pages(f"{at}/pulls", query), _LATEST)]
        pulls = {pull.number: pull for pull in (*self._pulls(at, "open", branch), *ended)}
        return [pull for _, pull in sorted(pulls.items())]

    def _read(self, at: str, number: int) -> ForgePullRequest:
        return _pull_of(object_of(self._ask("GET", f"{at}/pulls/{number}")))

    def _paths(self, at: str, number: int) -> set[str]:
        files = list(self._pages(f"{at}/pulls/{number}/files", {}))
        former = {text_at(file, "previous_filename") for file in files if file.get("previous_filename")}
        return {text_at(file, "filename") for file in files} | former

    def _open(self, at: str, source: str, target: str, title: str, body: str, draft: bool) -> ForgePullRequest:
        fields = {"head": source, "base": target, "body": body, "title": title}
        return _pull_of(object_of(self._ask("POST", f"{at}/pulls", fields)))

    def _change(self, at: str, number: int, fields: Mapping[str, str]) -> None:
        self._ask("PATCH", f"{at}/pulls/{number}", fields)

    def _thread(self, at: str, number: int) -> Thread:
        path = f"{at}/issues/{number}/comments"

        def newest() -> str | None:
            comments = [text_at(comment, "body") for comment in self._pages(path, {})]
            return comments[-1] if comments else None

        return lambda text: self._ask("POST", path, {"body": text}), newest

    def _request_attention(self, at: str, number: int, attention: Attention) -> None:
        """Of labels, the repository has to have them."""
        if attention.labels:
            self._ask("POST", f"{at}/issues/{number}/labels", {"labels": list(attention.labels)})
        if attention.assignees:
            present = object_of(self._ask("GET", f"{at}/issues/{number}")).get("assignees") or []
            logins = [text_at(object_of(user), "login") for user in present]
            names = list(dict.fromkeys([*logins, *attention.assignees]))
            self._ask("PATCH", f"{at}/issues/{number}", {"assignees": names})
        if attention.reviewers:
            payload = {"reviewers": attention.users, "team_reviewers": attention.teams}
            self._ask("POST", f"{at}/pulls/{number}/requested_reviewers", payload)

    def _checks(self, at: str, number: int) -> CheckState:
        status = object_of(self._ask("GET", f"{at}/commits/{self._read(at, number).head}/status"))
        return _CHECKS.get(text_at(status, "state"), "") if status.get("total_count") else ""

    def _ask(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> Any:
        return self._session.request(method, f"{self._api}/repos/{path}", json=payload).json()

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        return pages(self._session, f"{self._api}/repos/{path}", {**query, "limit": str(_PAGE)})


def _pull_of(answer: Mapping[str, Any]) -> ForgePullRequest:
    head, base = object_of(answer.get("head")), object_of(answer.get("base"))
    is_merged = bool(answer.get("merged"))
    state: PullRequestState = "merged" if is_merged else "closed" if text_at(answer, "state") == "closed" else "open"
    branch, fork = text_at(head, "ref"), object_at(head, "repo")
    if fork is None or fork.get("full_name") != object_of(base.get("repo")).get("full_name"):
        # Not a branch of the repository, even if its name equals one.
        owner = object_at(fork, "owner") if fork is not None else None
        branch = f"{text_at(owner, 'login') if owner is not None else 'unknown'}:{branch}"
    user, title = object_at(answer, "user"), text_at(answer, "title")
    return ForgePullRequest(
        number=number_at(answer, "number"),
        source_branch=branch,
        target_branch=text_at(base, "ref"),
        title=_DRAFTS.plain(title),
        body=text_at(answer, "body"),
        draft=bool(answer.get("draft")),
        state=state,
        head=text_at(head, "sha"),
        merge_commit=text_at(answer, "merge_commit_sha") if is_merged else "",
        author=text_at(user, "login") if user is not None else "",
        merged_at=text_at(answer, "merged_at") if is_merged else "",
    )
