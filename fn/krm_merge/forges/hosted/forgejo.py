"""Pull requests on Forgejo and Gitea, by a thin client: see the package's docstring for why there is no library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from krm_merge.forges.hosted.answers import (
    Connection,
    DraftTitles,
    Owned,
    none_if_missing,
    number_at,
    object_at,
    object_of,
    opened_once,
    owned_repositories,
    pages,
    text_at,
)
from krm_merge.forges.hosted.transport import Dialect, about
from krm_merge.forges.interface import (
    Attention,
    Budget,
    CheckState,
    ForgeError,
    ForgePullRequest,
    PullRequestState,
    one_by_one,
    path_on,
)

_PAGE: Final = 50  # Forgejo's default maximum
_LATEST: Final = 100
_DIALECT: Final = Dialect(
    "Forgejo", "X-RateLimit-", "of the scopes write:repository and write:issue", "https://HOST/api/v1"
)
_DRAFTS: Final = DraftTitles("WIP:", re.compile(r"^\s*(?:(?:wip:|\[wip\])\s*)+", re.IGNORECASE))

_CHECKS: Final[Mapping[str, CheckState]] = {
    "success": "passed",
    "warning": "passed",
    "failure": "failed",
    "error": "failed",
    "pending": "pending",
}

_OWNED: Final = Owned(("orgs/{}/repos", "users/{}/repos"), "clone_url", {"limit": str(_PAGE)})


class Forgejo:
    """A forge. Everything raises ForgeError."""

    def __init__(self, connection: Connection) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        self._connection = connection
        self._transport = connection.transport(_DIALECT, f"https://{connection.host}/api/v1")
        self._api = self._transport.address.geturl()
        self._session = self._transport.session()

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number."""
        with self._asking(repository, "listing the pull requests") as name:
            return self._pulls_by_query(name, state="all")

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open pull requests, by number."""
        with self._asking(repository, "listing the open pull requests") as name:
            return self._pulls_by_query(name, state="open")

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The pull requests from one branch of the repository: all open ones, and the last of the others."""
        with self._asking(repository, f"listing the pull requests of {branch}") as name:
            # Only Forgejo 16 has a filter for the branch; other versions ignore it.
            query = {"state": "closed", "sort": "recentupdate", "head": branch}
            ended = [_pull_of(data) for data in islice(self._pages(f"{name}/pulls", query), _LATEST)]
            pulls = [*self._pulls_by_query(name, state="open", head=branch), *ended]
            return [pull for pull in _by_number(pulls) if pull.source_branch == branch]

    def pull_requests_in(
        self, repositories: Sequence[str], branch: str
    ) -> dict[str, list[ForgePullRequest] | ForgeError]:
        """The same of many repositories; an error for each that is not shown."""
        return one_by_one(self, repositories, branch)

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        with self._asking(repository, f"reading pull request #{number}") as name:
            return none_if_missing(lambda: self._pull(name, number))

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        return owned_repositories(self._transport, _OWNED, owner, topic)

    def git_token(self, repository: str) -> str:
        """The token with which git authenticates, '' for a repository of another host."""
        return self._connection.git_token(repository)

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        with self._asking(repository, f"listing the files of pull request #{number}") as name:
            files = list(self._pages(f"{name}/pulls/{number}/files", {}))
            former = {text_at(file, "previous_filename") for file in files if file.get("previous_filename")}
            return sorted({text_at(file, "filename") for file in files} | former)

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged."""
        what = f"opening a pull request of {source_branch} into {target_branch}"
        with self._asking(repository, what) as name:

            def create_pull() -> ForgePullRequest:
                body_of_request = {"head": source_branch, "base": target_branch, "body": body}
                body_of_request["title"] = _DRAFTS.mark_title(title, draft=draft)
                return _pull_of(object_of(self._ask("POST", f"{name}/pulls", body_of_request)))

            def open_ones() -> list[ForgePullRequest]:
                return self._pulls_by_query(name, state="open", head=source_branch)

            return opened_once(self._transport, create_pull, open_ones, source_branch, target_branch)

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request; a draft is kept a draft."""
        with self._asking(repository, f"editing pull request #{number}") as name:
            draft = self._pull(name, number).draft
            self._change(name, number, title=_DRAFTS.mark_title(title, draft=draft), body=body)

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks an open pull request as a draft or as ready."""
        to = "making pull request #{} a draft" if draft else "taking pull request #{} out of draft"
        with self._asking(repository, to.format(number)) as name:
            pull = self._pull(name, number)
            if pull.draft == draft:
                return
            if pull.state != "open":
                raise ForgeError(f"it is {pull.state}; only open ones become drafts or leave that")
            self._change(name, number, title=_DRAFTS.mark_title(pull.title, draft=draft))

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        with self._asking(repository, f"closing pull request #{number}") as name:
            self._change(name, number, state="closed")

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        with self._asking(repository, f"commenting on pull request #{number}") as name:
            path = f"{name}/issues/{number}/comments"

            def find_comment() -> object:
                comments = [text_at(comment, "body") for comment in self._pages(path, {})]
                return True if comments[-1:] == [text] else None

            self._transport.once(lambda: self._ask("POST", path, {"body": text}), find_comment)

    def request_attention(self, repository: str, number: int, attention: Attention) -> None:
        """Adds labels that the repository has, asks for reviews and assigns it."""
        with self._asking(repository, f"labels, reviewers and assignees of pull request #{number}") as name:
            if attention.labels:
                self._ask("POST", f"{name}/issues/{number}/labels", {"labels": list(attention.labels)})
            if attention.assignees:
                present = object_of(self._ask("GET", f"{name}/issues/{number}")).get("assignees") or []
                logins = [text_at(object_of(user), "login") for user in present]
                names = list(dict.fromkeys([*logins, *attention.assignees]))
                self._ask("PATCH", f"{name}/issues/{number}", {"assignees": names})
            if attention.reviewers:
                payload = {"reviewers": attention.users, "team_reviewers": attention.teams}
                self._ask("POST", f"{name}/pulls/{number}/requested_reviewers", payload)

    def checks(self, repository: str, number: int) -> CheckState:
        """The state of the newest commit."""
        with self._asking(repository, f"reading the checks of pull request #{number}") as name:
            status = object_of(self._ask("GET", f"{name}/commits/{self._pull(name, number).head}/status"))
            return _CHECKS.get(text_at(status, "state"), "") if status.get("total_count") else ""

    def budget(self) -> Budget:
        """The remaining requests that the forge allows."""
        return self._transport.budget()

    # ---- requests ----------------------------------------------------------------------------------------------

    @contextmanager
    def _asking(self, repository: str, what: str) -> Iterator[str]:
        """The owner and name of a repository; errors name the request."""
        name = path_on(self._connection.host, repository)
        with about(f"{name}: {what}"):
            yield name

    def _ask(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> Any:
        return self._session.request(method, f"{self._api}/repos/{path}", json=payload).json()

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        return pages(self._session, f"{self._api}/repos/{path}", {**query, "limit": str(_PAGE)})

    def _pulls_by_query(self, name: str, **query: str) -> list[ForgePullRequest]:
        # Sorted so that new ones are last, and pages do not shift while they are read.
        return _by_number([_pull_of(data) for data in self._pages(f"{name}/pulls", {**query, "sort": "oldest"})])

    def _pull(self, name: str, number: int) -> ForgePullRequest:
        return _pull_of(object_of(self._ask("GET", f"{name}/pulls/{number}")))

    def _change(self, name: str, number: int, **fields: str) -> None:
        self._ask("PATCH", f"{name}/pulls/{number}", fields)


def _by_number(pulls: list[ForgePullRequest]) -> list[ForgePullRequest]:
    return [pull for _, pull in sorted({pull.number: pull for pull in pulls}.items())]


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
        # Gitea before 1.22 has no field for it.
        draft=bool(answer.get("draft", _DRAFTS.plain(title) != title)),
        state=state,
        head=text_at(head, "sha"),
        merge_commit=text_at(answer, "merge_commit_sha") if is_merged else "",
        author=text_at(user, "login") if user is not None else "",
        merged_at=text_at(answer, "merged_at") if is_merged else "",
    )
