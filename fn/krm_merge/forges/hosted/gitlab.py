"""Merge requests on GitLab, by python-gitlab."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from gitlab import Gitlab
from gitlab.exceptions import GitlabError
from gitlab.v4.objects import Project

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
    path_on,
)

_PAGE: Final = 100
_DIALECT: Final = Dialect("GitLab", "RateLimit-", "of the scope api", "https://HOST/api/v4")
_DRAFTS: Final = DraftTitles("Draft:", re.compile(r"^\s*(?:(?:draft:|\[draft\]|\(draft\))\s*)+", re.IGNORECASE))
_STATES: Final[Mapping[str, PullRequestState]] = {
    "opened": "open",
    "locked": "open",
    "closed": "closed",
    "merged": "merged",
}

_CHECKS: Final[Mapping[str, CheckState]] = {
    "success": "passed",
    "skipped": "passed",
    "failed": "failed",
    "canceled": "failed",
}

_OWNED: Final = Owned(
    ("groups/{}/projects", "users/{}/projects"),
    "http_url_to_repo",
    {"per_page": str(_PAGE), "include_subgroups": "true"},
)


class GitLab:
    """A forge, whose pull requests are merge requests. Everything raises ForgeError."""

    def __init__(self, connection: Connection) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        self._connection = connection
        self._transport = connection.transport(_DIALECT, f"https://{connection.host}/api/v4")
        base = self._transport.address.geturl().removesuffix("/api/v4")
        self._gitlab = Gitlab(base, session=self._transport.session(), per_page=_PAGE, keep_base_url=True)
        self._of_branches: dict[str, dict[str, list[ForgePullRequest]]] = {}

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All merge requests, by number."""
        with self._asking(repository, "listing the pull requests") as project:
            return _pulls_by_query(project, state="all")

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open merge requests, by number."""
        with self._asking(repository, "listing the open pull requests") as project:
            return _pulls_by_query(project, state="opened")

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The merge requests from one branch of the repository, in any state, by number."""
        with self._asking(repository, f"listing the pull requests of {branch}") as project:
            pulls = _pulls_by_query(project, state="all", source_branch=branch)
            return [pull for pull in pulls if pull.source_branch == branch]

    def pull_requests_in(
        self, repositories: Sequence[str], branch: str
    ) -> dict[str, list[ForgePullRequest] | ForgeError]:
        """The same of many repositories, by the list of all that the token may see, which is read once."""
        if branch not in self._of_branches:
            with about(f"listing the pull requests of {branch}"), _format_errors():
                self._of_branches[branch] = self._by_project(branch)
        by_project = self._of_branches[branch]
        pulls_by_repository: dict[str, list[ForgePullRequest] | ForgeError] = {}
        for repository in repositories:
            try:
                pulls_by_repository[repository] = by_project.get(
                    path_on(self._connection.host, repository, nested=True).lower(), []
                )
            except ForgeError as error:
                pulls_by_repository[repository] = error
        return pulls_by_repository

    def _by_project(self, branch: str) -> dict[str, list[ForgePullRequest]]:
        query = {"scope": "all", "state": "all", "source_branch": branch, "order_by": "created_at", "sort": "asc"}
        by_project: dict[str, dict[int, ForgePullRequest]] = {}
        for merge_request in self._gitlab.mergerequests.list(iterator=True, **query):
            project = text_at(object_of(merge_request.attributes.get("references")), "full").rpartition("!")[0].lower()
            pull = _pull_of(merge_request.attributes)
            if pull.source_branch == branch:
                by_project.setdefault(project, {})[pull.number] = pull
        return {project: [pull for _, pull in sorted(pulls.items())] for project, pulls in by_project.items()}

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The merge request of a number, None if it does not exist."""
        with self._asking(repository, f"reading pull request #{number}") as project:
            return none_if_missing(lambda: _pull_of(project.mergerequests.get(number).attributes))

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        return owned_repositories(self._transport, _OWNED, owner, topic)

    def git_token(self, repository: str) -> str:
        """The token with which git authenticates, '' for a repository of another host."""
        return self._connection.git_token(repository, nested=True)

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a merge request changes; of a renamed file both."""
        with self._asking(repository, f"listing the files of pull request #{number}") as project:
            # python-gitlab offers the versions of a diff, but not the current one.
            path = f"/projects/{project.encoded_id}/merge_requests/{number}/diffs"
            files = [object_of(file) for file in self._gitlab.http_list(path, iterator=True)]
            return sorted({text_at(file, name) for file in files for name in ("old_path", "new_path")})

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a merge request, or returns the open one for the two branches unchanged."""
        what = f"opening a pull request of {source_branch} into {target_branch}"
        with self._asking(repository, what) as project:

            def create_pull() -> ForgePullRequest:
                attributes = {"source_branch": source_branch, "target_branch": target_branch, "description": body}
                merge_request = project.mergerequests.create(
                    {**attributes, "title": _DRAFTS.mark_title(title, draft=draft)}
                )
                return _pull_of(merge_request.attributes)

            def open_ones() -> list[ForgePullRequest]:
                return _pulls_by_query(
                    project, state="opened", source_branch=source_branch, target_branch=target_branch
                )

            return opened_once(self._transport, create_pull, open_ones, source_branch, target_branch)

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a merge request; a draft is kept a draft."""
        with self._asking(repository, f"editing pull request #{number}") as project:
            draft = _pull_of(project.mergerequests.get(number).attributes).draft
            changes = {"title": _DRAFTS.mark_title(title, draft=draft), "description": body}
            project.mergerequests.update(number, changes)

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks an open merge request as a draft or as ready."""
        to = "making pull request #{} a draft" if draft else "taking pull request #{} out of draft"
        with self._asking(repository, to.format(number)) as project:
            pull = _pull_of(project.mergerequests.get(number).attributes)
            if pull.draft == draft:
                return
            if pull.state != "open":
                raise ForgeError(f"it is {pull.state}; only open ones become drafts or leave that")
            project.mergerequests.update(number, {"title": _DRAFTS.mark_title(pull.title, draft=draft)})

    def close(self, repository: str, number: int) -> None:
        """Closes a merge request without merging it."""
        with self._asking(repository, f"closing pull request #{number}") as project:
            project.mergerequests.update(number, {"state_event": "close"})

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        with self._asking(repository, f"commenting on pull request #{number}") as project:
            notes = project.mergerequests.get(number, lazy=True).notes

            def find_note() -> object:
                newest_first = notes.list(iterator=True, order_by="created_at", sort="desc")
                people = (note.attributes for note in newest_first if not note.attributes.get("system"))
                return True if text_at(next(people, {"body": None}), "body") == text else None

            self._transport.once(lambda: notes.create({"body": text}), find_note)

    def request_attention(self, repository: str, number: int, attention: Attention) -> None:
        """Adds labels, asks users for reviews and assigns it; GitLab asks no teams."""
        with self._asking(repository, f"labels, reviewers and assignees of pull request #{number}") as project:
            merge_request = project.mergerequests.get(number)
            changes: dict[str, Any] = {"add_labels": ",".join(attention.labels)} if attention.labels else {}
            for role, names in (("reviewer", attention.reviewers), ("assignee", attention.assignees)):
                if names:
                    present = [number_at(object_of(user), "id") for user in merge_request.attributes[f"{role}s"]]
                    changes[f"{role}_ids"] = [*present, *map(self._user, names)]
            project.mergerequests.update(number, changes)

    def _user(self, name: str) -> int:
        user = next(iter(self._gitlab.users.list(username=name, iterator=True)), None)
        if user is None:
            raise ForgeError(f"there is no user {name}; correct the name in campaign.yaml")
        return number_at(user.attributes, "id")

    def checks(self, repository: str, number: int) -> CheckState:
        """The state of the newest pipeline of the merge request."""
        with self._asking(repository, f"reading the checks of pull request #{number}") as project:
            pipeline = object_at(
                {"head_pipeline": None} | project.mergerequests.get(number).attributes, "head_pipeline"
            )
            return _CHECKS.get(text_at(pipeline, "status"), "pending") if pipeline is not None else ""

    def budget(self) -> Budget:
        """The remaining requests that the forge allows."""
        return self._transport.budget()

    @contextmanager
    def _asking(self, repository: str, what: str) -> Iterator[Project]:
        """The project of a repository; errors name the request."""
        name = path_on(self._connection.host, repository, nested=True)
        with about(f"{name}: {what}"), _format_errors():
            yield self._gitlab.projects.get(name, lazy=True)


@contextmanager
def _format_errors() -> Iterator[None]:
    """Refuses what no GitLab says. Raises ForgeError."""
    try:
        yield
    except (GitlabError, AttributeError, LookupError, TypeError, ValueError):
        raise ForgeError("the answer is not what GitLab documents; correct the address of the API") from None


def _pulls_by_query(project: Project, **query: str) -> list[ForgePullRequest]:
    # Sorted so that new ones are last, and pages do not shift while they are read.
    listed = project.mergerequests.list(iterator=True, order_by="created_at", sort="asc", **query)
    pulls = [_pull_of(merge_request.attributes) for merge_request in listed]
    return [pull for _, pull in sorted({pull.number: pull for pull in pulls}.items())]


def _pull_of(answer: Mapping[str, Any]) -> ForgePullRequest:
    author = object_at(answer, "author")
    login = text_at(author, "username") if author is not None else ""
    state = _STATES.get(text_at(answer, "state"), "open")
    branch = text_at(answer, "source_branch")
    if answer.get("source_project_id") != answer.get("target_project_id"):
        # GitLab names the fork by a number; its owner is the author, as a rule.
        branch = f"{login or 'unknown'}:{branch}"
    commits = [text_at(answer, name) for name in ("merge_commit_sha", "squash_commit_sha", "sha") if name in answer]
    return ForgePullRequest(
        number=number_at(answer, "iid"),
        source_branch=branch,
        target_branch=text_at(answer, "target_branch"),
        title=_DRAFTS.plain(text_at(answer, "title")),
        body=text_at(answer, "description"),
        draft=bool(answer.get("draft")),
        state=state,
        head=text_at(answer, "sha"),
        merge_commit=next(filter(None, commits), "") if state == "merged" else "",
        author=login,
        merged_at=_in_seconds(text_at(answer, "merged_at")) if state == "merged" else "",
    )


def _in_seconds(time: str) -> str:
    """A time of GitLab, which has milliseconds, in the format of the other forges."""
    return re.sub(r"\.\d+", "", time)
