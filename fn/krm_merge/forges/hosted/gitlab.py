"""Merge requests on GitLab, by python-gitlab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from gitlab import Gitlab
from gitlab.exceptions import GitlabError
from gitlab.v4.objects import Project

from krm_merge.forges.hosted.answers import (
    DraftTitles,
    HostedForge,
    Owned,
    Thread,
    number_at,
    object_at,
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
)

_PAGE: Final = 100
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


class GitLab(HostedForge[Project]):
    """A forge, whose pull requests are merge requests. Everything raises ForgeError."""

    dialect = Dialect("GitLab", "RateLimit-", "of the scope api", "https://HOST/api/v4")
    owned = Owned(
        ("groups/{}/projects", "users/{}/projects"),
        "http_url_to_repo",
        {"per_page": str(_PAGE), "include_subgroups": "true"},
    )
    drafts = _DRAFTS
    nested = True
    alien = (GitlabError, AttributeError, LookupError, TypeError, ValueError)
    body = "description"
    closing: ClassVar = {"state_event": "close"}

    def __init__(self, connection: Connection) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        super().__init__(connection, f"https://{connection.host}/api/v4")
        base = self._transport.address.geturl().removesuffix("/api/v4")
        self._gitlab = Gitlab(base, session=self._transport.session(), per_page=_PAGE, keep_base_url=True)
        self._numbers: dict[str, int] = {}

    def _at(self, name: str) -> Project:
        """By its number: GitLab redirects from a former path, but refuses to change anything there (405)."""
        if name not in self._numbers:
            self._numbers[name] = number_at(self._gitlab.projects.get(name).attributes, "id")
        return self._gitlab.projects.get(self._numbers[name], lazy=True)

    def _query(self, at: Project, state: str, source: str) -> Iterable[ForgePullRequest]:
        query = {"state": "opened" if state == "open" else state} | ({"source_branch": source} if source else {})
        listed = at.mergerequests.list(iterator=True, order_by="created_at", sort="asc", **query)
        return [_pull_of(merge_request.attributes) for merge_request in listed]

    def _read(self, at: Project, number: int) -> ForgePullRequest:
        return _pull_of(at.mergerequests.get(number).attributes)

    def _paths(self, at: Project, number: int) -> set[str]:
        # python-gitlab offers the versions of a diff, but not the current one.
        path = f"/projects/{at.encoded_id}/merge_requests/{number}/diffs"
        files = [object_of(file) for file in self._gitlab.http_list(path, iterator=True)]
        return {text_at(file, name) for file in files for name in ("old_path", "new_path")}

    def _open(self, at: Project, source: str, target: str, title: str, body: str, draft: bool) -> ForgePullRequest:
        fields = {"source_branch": source, "target_branch": target, "description": body, "title": title}
        return _pull_of(at.mergerequests.create(fields).attributes)

    def _change(self, at: Project, number: int, fields: Mapping[str, str]) -> None:
        at.mergerequests.update(number, dict(fields))

    def _thread(self, at: Project, number: int) -> Thread:
        notes = at.mergerequests.get(number, lazy=True).notes

        def newest() -> str:
            newest_first = notes.list(iterator=True, order_by="created_at", sort="desc")
            people = (note.attributes for note in newest_first if not note.attributes.get("system"))
            return text_at(next(people, {"body": None}), "body")

        return lambda text: notes.create({"body": text}), newest

    def _request_attention(self, at: Project, number: int, attention: Attention) -> None:
        """Of reviewers, GitLab asks users and no teams."""
        merge_request = at.mergerequests.get(number)
        changes: dict[str, Any] = {"add_labels": ",".join(attention.labels)} if attention.labels else {}
        for role, names in (("reviewer", attention.reviewers), ("assignee", attention.assignees)):
            if names:
                present = [number_at(object_of(user), "id") for user in merge_request.attributes[f"{role}s"]]
                changes[f"{role}_ids"] = [*present, *map(self._user, names)]
        at.mergerequests.update(number, changes)

    def _user(self, name: str) -> int:
        user = next(iter(self._gitlab.users.list(username=name, iterator=True)), None)
        if user is None:
            raise ForgeError(f"there is no user {name}; correct the name in campaign.yaml")
        return number_at(user.attributes, "id")

    def _checks(self, at: Project, number: int) -> CheckState:
        pipeline = object_at({"head_pipeline": None} | at.mergerequests.get(number).attributes, "head_pipeline")
        return _CHECKS.get(text_at(pipeline, "status"), "pending") if pipeline is not None else ""


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
        # GitLab has milliseconds, other forges seconds.
        merged_at=re.sub(r"\.\d+", "", text_at(answer, "merged_at")) if state == "merged" else "",
    )
