"""Pull requests on GitHub and GitHub Enterprise, by PyGithub; of many repositories in one query of GraphQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import requests
from github import Consts
from github.GithubException import GithubException
from github.Repository import Repository
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester

from krm_merge.forges.hosted.answers import (
    Connection,
    Owned,
    none_if_missing,
    number_at,
    object_at,
    object_of,
    opened_once,
    owned_repositories,
    text_at,
)
from krm_merge.forges.hosted.transport import Dialect, about
from krm_merge.forges.interface import (
    Attention,
    Budget,
    CheckState,
    DraftsRefusedError,
    ForgeError,
    ForgePullRequest,
    PullRequestState,
    RefusedRequestError,
    UnavailableForgeError,
    one_by_one,
    path_on,
)

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


_ROLLUP: Final = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) { commits(last: 1) { nodes { commit { statusCheckRollup { state } } } } }
  }
}
"""
_CHECKS: Final[Mapping[str, CheckState]] = {
    "SUCCESS": "passed",
    "FAILURE": "failed",
    "ERROR": "failed",
    "PENDING": "pending",
    "EXPECTED": "pending",
}


def latest_pull_requests(names: Mapping[str, str]) -> str:
    """The query for the latest pull requests from the branch `$branch` of repositories, by alias."""
    fields = []
    for alias, name in names.items():
        owner, _, repository = name.partition("/")
        fields.append(f'{alias}: repository(owner: "{owner}", name: "{repository}") {{ ...pulls }}')
    return "query($branch: String!) { " + " ".join(fields) + " }" + _FIELDS


def shown_by_graphql(answer: Mapping[str, Any], alias: str) -> list[ForgePullRequest]:
    """The pull requests of one repository in an answer, by number. Raises ForgeError."""
    repository = object_at(object_of(answer.get("data")), alias)
    nodes = object_of(object_of(repository).get("pullRequests")).get("nodes")
    if not isinstance(nodes, list):
        raise ForgeError("the answer is not what GitHub documents; correct the address of the API")
    pulls = [_request_of_node(node) for node in map(object_of, nodes) if not node.get("isCrossRepository")]
    return sorted(pulls, key=lambda pull: pull.number)


def _request_of_node(node: Mapping[str, Any]) -> ForgePullRequest:
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


_PAGE: Final = 100
_ASKED_AT_ONCE: Final = 50
_MOST_FILES: Final = 3000  # GitHub lists no more of a pull request
_DIALECT: Final = Dialect(
    "GitHub",
    "X-RateLimit-",
    "to read and write pull requests (a classic token: the scope repo)",
    "https://api.github.com or https://HOST/api/v3",
)

_OWNED: Final = Owned(("orgs/{}/repos", "users/{}/repos"), "clone_url", {"per_page": str(_PAGE)})


class GitHub:
    """A forge. Its repositories are named by https, ssh or scp addresses. Everything raises ForgeError."""

    def __init__(self, connection: Connection) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        self._connection = connection
        api = connection.api or usual_api(connection.host)
        self._transport = connection.transport(_DIALECT, api)
        self._requester = _requester(api.rstrip("/"), self._transport.session())

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number."""
        with self._asking(repository, "listing the pull requests") as (_, at):
            return _pulls_by_query(at, state="all")

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open pull requests, by number."""
        with self._asking(repository, "listing the open pull requests") as (_, at):
            return _pulls_by_query(at, state="open")

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The pull requests from one branch of the repository, in any state, by number."""
        with self._asking(repository, f"listing the pull requests of {branch}") as (owner, at):
            pulls = _pulls_by_query(at, state="all", head=f"{owner}:{branch}")
            # GitHub ignores an invalid filter.
            return [pull for pull in pulls if pull.source_branch == branch]

    def pull_requests_in(
        self, repositories: Sequence[str], branch: str
    ) -> dict[str, list[ForgePullRequest] | ForgeError]:
        """The same of many repositories, the latest of each; an error for each that is not shown."""
        pulls_by_repository: dict[str, list[ForgePullRequest] | ForgeError] = {}
        for start in range(0, len(repositories), _ASKED_AT_ONCE):
            batch = repositories[start : start + _ASKED_AT_ONCE]
            hidden: Sequence[str] = batch
            try:
                names = {f"r{number}": path_on(self._connection.host, name) for number, name in enumerate(batch)}
                with about(f"listing the pull requests of {branch} in {len(batch)} repositories"):
                    answer = self._partial_answer(latest_pull_requests(names), branch)
                    shown = {
                        repository: shown_by_graphql(answer, alias)
                        for alias, repository in zip(names, batch, strict=True)
                        if answer["data"].get(alias) is not None
                    }
                pulls_by_repository |= shown
                hidden = [repository for repository in batch if repository not in shown]
            except UnavailableForgeError:
                raise
            except (ForgeError, GithubException):
                # An answer without any, or of another shape: each is asked for what is wrong.
                pass
            pulls_by_repository |= one_by_one(self, hidden, branch)
        return pulls_by_repository

    def _partial_answer(self, query: str, branch: str) -> Mapping[str, Any]:
        """The answer to a query, with null for what is hidden. Raises GithubException where all of it is."""
        try:
            _, answer = self._requester.graphql_query(query, {"branch": branch})
        except GithubException as error:
            # PyGithub takes every answer that names an error for a failure.
            answer = error.data
            if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
                raise
        return answer

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        with self._asking(repository, f"reading pull request #{number}") as (_, at):
            return none_if_missing(lambda: _request_of(at.get_pull(number)))

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        return owned_repositories(self._transport, _OWNED, owner, topic)

    def git_token(self, repository: str) -> str:
        """The token with which git authenticates, '' for a repository of another host."""
        return self._connection.git_token(repository)

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        with self._asking(repository, f"listing the files of pull request #{number}") as (_, at):
            pull = at.get_pull(number)
            files = list(pull.get_files())
            if len(files) >= _MOST_FILES and pull.changed_files > len(files):
                raise ForgeError(f"there are more than the {_MOST_FILES} that GitHub lists; split it")
            former = {file.previous_filename for file in files if file.previous_filename}
            return sorted({file.filename for file in files} | former)

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged."""
        what = f"opening a pull request of {source_branch} into {target_branch}"
        with self._asking(repository, what) as (owner, at):

            def create_pull() -> ForgePullRequest:
                return _request_of(at.create_pull(target_branch, source_branch, title=title, body=body, draft=draft))

            def open_ones() -> list[ForgePullRequest]:
                return _pulls_by_query(at, state="open", head=f"{owner}:{source_branch}", base=target_branch)

            try:
                return opened_once(self._transport, create_pull, open_ones, source_branch, target_branch)
            except RefusedRequestError as refused:
                raise _without_drafts(refused) if draft else refused from None

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request."""
        with self._asking(repository, f"editing pull request #{number}") as (_, at):
            at.get_pull(number).edit(title=title, body=body)

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks a pull request as a draft or as ready."""
        to = "making pull request #{} a draft" if draft else "taking pull request #{} out of draft"
        with self._asking(repository, to.format(number)) as (_, at):
            pull = at.get_pull(number)
            if pull.draft == draft:
                return

            def find_change() -> object:
                return True if at.get_pull(number).draft == draft else None

            try:
                self._transport.once(pull.convert_to_draft if draft else pull.mark_ready_for_review, find_change)
            except RefusedRequestError as refused:
                raise _without_drafts(refused) if draft else refused from None

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        with self._asking(repository, f"closing pull request #{number}") as (_, at):
            at.get_pull(number).edit(state="closed")

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        with self._asking(repository, f"commenting on pull request #{number}") as (_, at):
            issue = at.get_issue(number)

            def find_comment() -> object:
                comments = [comment.body for comment in issue.get_comments()]
                return True if comments[-1:] == [text] else None

            self._transport.once(lambda: issue.create_comment(text), find_comment)

    def request_attention(self, repository: str, number: int, attention: Attention) -> None:
        """Adds labels, asks for reviews and assigns it."""
        with self._asking(repository, f"labels, reviewers and assignees of pull request #{number}") as (_, at):
            issue, pull = at.get_issue(number), at.get_pull(number)
            if attention.labels:
                issue.add_to_labels(*attention.labels)
            if attention.assignees:
                issue.add_to_assignees(*attention.assignees)
            if attention.reviewers:
                pull.create_review_request(attention.users, attention.teams)

    def checks(self, repository: str, number: int) -> CheckState:
        """The state of the checks of the newest commit: of the API for checks and of that for states of commits."""
        with self._asking(repository, f"reading the checks of pull request #{number}") as (owner, _):
            name = path_on(self._connection.host, repository).partition("/")[2]
            variables = {"owner": owner, "name": name, "number": number}
            _, answer = self._requester.graphql_query(_ROLLUP, variables)
            pull = object_of(object_of(object_of(answer.get("data")).get("repository")).get("pullRequest"))
            commit = object_of(object_of(object_of(pull.get("commits"))["nodes"][0]).get("commit"))
            rollup = object_at(commit, "statusCheckRollup")
            return _CHECKS.get(text_at(rollup, "state"), "pending") if rollup is not None else ""

    def budget(self) -> Budget:
        """The remaining requests that the forge allows."""
        return self._transport.budget()

    @contextmanager
    def _asking(self, repository: str, what: str) -> Iterator[tuple[str, Repository]]:
        """The owner of a repository, and the repository; errors name the request."""
        name = path_on(self._connection.host, repository)
        with about(f"{name}: {what}"):
            try:
                yield name.partition("/")[0], Repository(self._requester, url=f"/repos/{name}")
            except (
                GithubException,
                AssertionError,
                AttributeError,
                LookupError,
                TypeError,
                ValueError,
            ):
                # PyGithub checks few answers, and raises many types of errors.
                raise ForgeError("the answer is not what GitHub documents; correct the address of the API") from None


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


def _pulls_by_query(at: Repository, **query: str) -> list[ForgePullRequest]:
    # Sorted so that new ones are last, and pages do not shift while they are read.
    pulls = [_request_of(pull) for pull in at.get_pulls(sort="created", direction="asc", **query)]
    return [pull for _, pull in sorted({pull.number: pull for pull in pulls}.items())]


def _request_of(pull: Any) -> ForgePullRequest:
    # A deleted repository is null, contrary to PyGithub's types.
    is_merged = pull.merged_at is not None
    state: PullRequestState = "merged" if is_merged else "closed" if pull.state == "closed" else "open"
    branch, head = pull.head.ref, pull.head
    if head.repo is None or head.repo.full_name != pull.base.repo.full_name:
        # Not a branch of the repository, even if its name equals one.
        branch = f"{head.user.login if head.user is not None else 'unknown'}:{branch}"
    return ForgePullRequest(
        number=pull.number,
        source_branch=branch,
        target_branch=pull.base.ref,
        title=pull.title,
        body=pull.body or "",
        draft=pull.draft,
        state=state,
        head=head.sha,
        merge_commit=pull.merge_commit_sha if is_merged else "",
        author=pull.user.login if pull.user is not None else "",
        merged_at=f"{pull.merged_at:%Y-%m-%dT%H:%M:%SZ}" if is_merged else "",
    )


def _without_drafts(refused: RefusedRequestError) -> ForgeError:
    """The refusal as DraftsRefusedError if its text says so: GitHub has no code for it."""
    message = str(refused)
    return DraftsRefusedError(message) if "draft" in message.lower() and "not supported" in message.lower() else refused
