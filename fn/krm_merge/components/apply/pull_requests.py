"""The pull requests of one repository while plans are applied: fetched once, then updated after each change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from krm_merge.forges.interface import DraftsRefusedError, Forge, ForgePullRequest

WAITS = "[waits] "
"""Prefix of the title that marks a draft in a repository without drafts (C13)."""


class RepositoryPullRequests:
    """The pull requests of a repository. Everything raises ForgeError.

    A pull request whose title has the prefix `WAITS` is returned as a draft, without the prefix.
    """

    def __init__(self, forge: Forge, url: str) -> None:
        """Fetches nothing yet."""
        self._forge = forge
        self._url = url
        self._open: dict[int, ForgePullRequest] | None = None
        self._titled: set[int] = set()
        """Numbers of the pull requests that are drafts by their titles."""

    @property
    def open(self) -> Collection[ForgePullRequest]:
        """The open pull requests, by number."""
        return self._known().values()

    def ended_from(self, branch: str) -> list[ForgePullRequest]:
        """The merged and closed pull requests from a branch."""
        return [pull for pull in self._forge.pull_requests_from(self._url, branch) if pull.state != "open"]

    def find(self, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        known = self._known().get(number)
        return known if known is not None else self._forge.pull_request(self._url, number)

    def create(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> tuple[ForgePullRequest, bool]:
        """Opens a pull request. Returns it, and whether it is a draft by its title alone."""
        try:
            made = self._forge.create(self._url, branch, base, title, body, draft=draft)
        except DraftsRefusedError:
            made = self._forge.create(self._url, branch, base, f"{WAITS}{title}", body, draft=False)
        shown = self._shown(made)
        self._known()[made.number] = shown
        return shown, made.number in self._titled

    def edit(self, pull: ForgePullRequest, title: str, body: str) -> ForgePullRequest:
        """Changes the title and the body of a pull request."""
        mark = WAITS if pull.number in self._titled else ""
        self._forge.edit(self._url, pull.number, f"{mark}{title}", body)
        return self._changed(replace(pull, title=title, body=body))

    def set_draft(self, pull: ForgePullRequest, *, draft: bool) -> ForgePullRequest:
        """Marks a pull request as a draft or as ready."""
        if pull.number in self._titled:
            self._titled.discard(pull.number)
            self._forge.edit(self._url, pull.number, pull.title, pull.body)
        else:
            try:
                self._forge.set_draft(self._url, pull.number, draft=draft)
            except DraftsRefusedError:
                self._titled.add(pull.number)
                self._forge.edit(self._url, pull.number, f"{WAITS}{pull.title}", pull.body)
        return self._changed(replace(pull, draft=draft))

    def close(self, pull: ForgePullRequest, comment: str) -> None:
        """Closes a pull request without merging it, with the reason as a comment."""
        self._forge.close(self._url, pull.number)
        self._known().pop(pull.number, None)
        self._forge.comment(self._url, pull.number, comment)

    def comment(self, pull: ForgePullRequest, text: str) -> None:
        """Adds a comment."""
        self._forge.comment(self._url, pull.number, text)

    def _known(self) -> dict[int, ForgePullRequest]:
        if self._open is None:
            self._open = {pull.number: self._shown(pull) for pull in self._forge.open_pull_requests(self._url)}
        return self._open

    def _changed(self, pull: ForgePullRequest) -> ForgePullRequest:
        self._known()[pull.number] = pull
        return pull

    def _shown(self, pull: ForgePullRequest) -> ForgePullRequest:
        if is_draft_by_title(pull):
            self._titled.add(pull.number)
        return as_draft(pull)


def is_draft_by_title(pull: ForgePullRequest) -> bool:
    """Whether its title has the prefix that marks a draft."""
    return not pull.draft and pull.title.startswith(WAITS)


def as_draft(pull: ForgePullRequest) -> ForgePullRequest:
    """The same pull request as a draft without the prefix in its title."""
    if not is_draft_by_title(pull):
        return pull
    return replace(pull, draft=True, title=pull.title.removeprefix(WAITS))
