"""Pull requests on GitHub and GitHub Enterprise, by PyGithub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import requests
from github import Consts
from github.GithubException import GithubException
from github.Repository import Repository
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from krm_merge.forges.hosted.answers import (
    DraftTitles,
    HostedForge,
    Owned,
    Thread,
    object_of,
    text_at,
)
from krm_merge.forges.hosted.transport import Connection, Dialect
from krm_merge.forges.interface import (
    Attention,
    CheckState,
    ForgeError,
    ForgePullRequest,
    PullRequestState,
    RefusedRequestError,
)

_CHECKS: Final[Mapping[str, CheckState]] = {
    "success": "passed",
    "neutral": "passed",
    "skipped": "passed",
    "failure": "failed",
    "error": "failed",
    "action_required": "failed",
    "cancelled": "failed",
    "startup_failure": "failed",
    "timed_out": "failed",
}


# For repositories that refuse drafts, such as private ones on some plans (C13).
_DRAFTS: Final = DraftTitles("[waits]", re.compile(r"^(?:\[waits\] )+"))
_PAGE: Final = 100
_MOST_FILES: Final = 3000  # GitHub lists no more of a pull request


class _Place(NamedTuple):
    """A repository by its path, and for PyGithub."""

    name: str
    repository: Repository

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]


class GitHub(HostedForge[_Place]):
    """A forge. Its repositories are named by https, ssh or scp addresses. Everything raises ForgeError."""

    dialect = Dialect(
        "GitHub",
        "X-RateLimit-",
        "to read and write pull requests (a classic token: the scope repo)",
        "https://api.github.com or https://HOST/api/v3",
    )
    owned = Owned(("orgs/{}/repos", "users/{}/repos"), "clone_url", {"per_page": str(_PAGE)})
    # PyGithub checks few answers, and raises many types of errors.
    alien = (GithubException, AssertionError, AttributeError, LookupError, TypeError, ValueError)

    def __init__(self, connection: Connection) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        api = connection.api or usual_api(connection.host)
        super().__init__(connection, api)
        self._requester = _requester(api.rstrip("/"), self._transport.session())

    def _at(self, name: str) -> _Place:
        return _Place(name, Repository(self._requester, url=f"/repos/{name}"))

    def _query(self, at: _Place, state: str, source: str) -> Iterable[ForgePullRequest]:
        pulls = self._pulls_of(at, at.owner, state, source)
        if source and not pulls and (owner := self._present_owner(at)).lower() != at.owner.lower():
            # A filter with the owner that a repository had before it moved finds nothing.
            pulls = self._pulls_of(at, owner, state, source)
        return pulls

    def _present_owner(self, at: _Place) -> str:
        """The owner of a repository now: GitHub redirects requests to its former address."""
        _, answer = self._requester.requestJsonAndCheck("GET", f"/repos/{at.name}")
        return text_at(object_of(answer), "full_name").partition("/")[0]

    def _pulls_of(self, at: _Place, owner: str, state: str, source: str) -> list[ForgePullRequest]:
        query = {"head": f"{owner}:{source}"} if source else {}
        pulls = at.repository.get_pulls(state=state, sort="created", direction="asc", **query)
        return [_request_of(pull) for pull in pulls]

    def _read(self, at: _Place, number: int) -> ForgePullRequest:
        return _request_of(at.repository.get_pull(number))

    def _paths(self, at: _Place, number: int) -> set[str]:
        pull = at.repository.get_pull(number)
        files = list(pull.get_files())
        if len(files) >= _MOST_FILES and pull.changed_files > len(files):
            raise ForgeError(f"there are more than the {_MOST_FILES} that GitHub lists; split it")
        former = {file.previous_filename for file in files if file.previous_filename}
        return {file.filename for file in files} | former

    def _open(self, at: _Place, source: str, target: str, title: str, body: str, draft: bool) -> ForgePullRequest:
        try:
            return _request_of(at.repository.create_pull(target, source, title=title, body=body, draft=draft))
        except RefusedRequestError as refused:
            if not (draft and _refuses_drafts(refused)):
                raise
            marked = _DRAFTS.mark_title(title, draft=True)
            return _request_of(at.repository.create_pull(target, source, title=marked, body=body, draft=False))

    def _change(self, at: _Place, number: int, fields: Mapping[str, Any]) -> None:
        pull = at.repository.get_pull(number)
        if "title" in fields and _is_marked(pull):
            fields = {**fields, "title": _DRAFTS.mark_title(fields["title"], draft=True)}
        pull.edit(**fields)

    def _set_draft(self, at: _Place, number: int, *, draft: bool) -> None:
        pull = at.repository.get_pull(number)
        if _request_of(pull).draft == draft:
            return
        if _is_marked(pull):
            pull.edit(title=_DRAFTS.plain(pull.title))
            return

        def find_change() -> object:
            return True if at.repository.get_pull(number).draft == draft else None

        try:
            self._transport.once(pull.convert_to_draft if draft else pull.mark_ready_for_review, find_change)
        except RefusedRequestError as refused:
            if not (draft and _refuses_drafts(refused)):
                raise
            pull.edit(title=_DRAFTS.mark_title(pull.title, draft=True))

    def _thread(self, at: _Place, number: int) -> Thread:
        issue = at.repository.get_issue(number)

        def newest() -> str | None:
            comments = [comment.body for comment in issue.get_comments()]
            return comments[-1] if comments else None

        return issue.create_comment, newest

    def _request_attention(self, at: _Place, number: int, attention: Attention) -> None:
        issue, pull = at.repository.get_issue(number), at.repository.get_pull(number)
        if attention.labels:
            issue.add_to_labels(*attention.labels)
        if attention.assignees:
            issue.add_to_assignees(*attention.assignees)
        if attention.reviewers:
            pull.create_review_request(attention.users, attention.teams)

    def _checks(self, at: _Place, number: int) -> CheckState:
        """Of the API for checks and of that for states of commits."""
        commit = at.repository.get_commit(self._read(at, number).head)
        results = [_CHECKS.get(run.conclusion or "", "pending") for run in commit.get_check_runs()]
        status = commit.get_combined_status()
        if status.total_count:
            results.append(_CHECKS.get(status.state, "pending"))
        states: tuple[CheckState, ...] = ("failed", "pending", "passed")
        return next((state for state in states if state in results), "")


def usual_api(host: str) -> str:
    """The API of a host: of github.com, of an enterprise in GitHub's cloud, of an enterprise's server."""
    return f"https://api.{host}" if host == "github.com" or host.endswith(".ghe.com") else f"https://{host}/api/v3"


def _requester(api: str, session: requests.Session) -> Requester:
    """Sends the requests of PyGithub through our session; it adds neither tokens nor retries nor pauses."""

    class Plain(HTTPRequestsConnectionClass):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **settings)
            self.session = session

    class Safe(HTTPSRequestsConnectionClass):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **settings)
            self.session = session

    class Ours(Requester):
        """For its own connections: `injectConnectionClasses` is for all of a class."""

    Ours.injectConnectionClasses(Plain, Safe)
    agent = str(session.headers["User-Agent"])
    return Ours(None, api, Consts.DEFAULT_TIMEOUT, agent, _PAGE, True, None, None, lazy=True)


def _refuses_drafts(refused: RefusedRequestError) -> bool:
    """Whether a repository has no drafts, by the text of a refusal: GitHub has no code for it."""
    message = refused.message.lower()
    return "draft" in message and "not supported" in message


def _is_marked(pull: Any) -> bool:
    return not pull.draft and _DRAFTS.plain(pull.title) != pull.title


def _request_of(pull: Any) -> ForgePullRequest:
    # A deleted repository is null, contrary to PyGithub's types.
    is_merged, is_marked = pull.merged_at is not None, _is_marked(pull)
    state: PullRequestState = "merged" if is_merged else "closed" if pull.state == "closed" else "open"
    branch, head = pull.head.ref, pull.head
    if head.repo is None or head.repo.full_name != pull.base.repo.full_name:
        # Not a branch of the repository, even if its name equals one.
        branch = f"{head.user.login if head.user is not None else 'unknown'}:{branch}"
    return ForgePullRequest(
        number=pull.number,
        source_branch=branch,
        target_branch=pull.base.ref,
        title=_DRAFTS.plain(pull.title) if is_marked else pull.title,
        body=pull.body or "",
        draft=pull.draft or is_marked,
        state=state,
        head=head.sha,
        merge_commit=pull.merge_commit_sha if is_merged else "",
        author=pull.user.login if pull.user is not None else "",
        merged_at=f"{pull.merged_at:%Y-%m-%dT%H:%M:%SZ}" if is_merged else "",
    )
