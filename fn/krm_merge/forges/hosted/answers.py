"""Shared by the clients of forges: how to reach one, checked answers, and all that does not depend on its API."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeAlias, TypeVar
from urllib.parse import quote, urljoin

import requests

from krm_merge.forges.hosted.transport import Connection, Dialect, Transport, about
from krm_merge.forges.interface import (
    Attention,
    CheckState,
    Forge,
    ForgeError,
    ForgePullRequest,
    RefusedRequestError,
    path_on,
)


@dataclass(frozen=True, slots=True)
class DraftTitles:
    """How a forge marks drafts in their titles: with the prefix `mark`, or one of its other spellings."""

    mark: str
    spellings: re.Pattern[str]

    def plain(self, title: str) -> str:
        """The title without the mark."""
        return self.spellings.sub("", title)

    def mark_title(self, title: str, *, draft: bool) -> str:
        """The title with the mark of a draft, or without."""
        plain = self.plain(title)
        return f"{self.mark} {plain}" if draft else plain


def object_at(answer: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """An object, or None for null, which forges send for deleted objects."""
    value = answer.get(name)
    return value if value is None else object_of(value)


def object_of(answer: object) -> Mapping[str, Any]:
    """An object. Raises ForgeError for anything else."""
    return answer if isinstance(answer, dict) else _reject_answer("an object")


def text_at(answer: Mapping[str, Any], name: str) -> str:
    """A text, '' for null. Raises ForgeError for anything else."""
    text = answer.get(name, 0)
    return "" if text is None else text if isinstance(text, str) else _reject_answer(f"the text {name}")


def number_at(answer: Mapping[str, Any], name: str) -> int:
    """A number. Raises ForgeError for anything else."""
    number = answer.get(name)
    return number if type(number) is int else _reject_answer(f"the number {name}")


def _reject_answer(what: str) -> NoReturn:
    raise ForgeError(f"the answer lacks {what}, which is documented; correct the address of the API")


def pages(session: requests.Session, url: str, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The objects of a list in pages, each of which links to the next one. Raises ForgeError."""
    following: Mapping[str, str] = query
    seen: set[str] = set()
    while url not in seen:
        seen.add(url)
        answer = session.get(url, params=following)
        try:
            items = answer.json()
        except ValueError:
            items = None
        if not isinstance(items, list):
            raise ForgeError("the answer is not a list; correct the address of the API")
        yield from map(object_of, items)
        if "next" not in answer.links:
            return
        url, following = urljoin(url, answer.links["next"]["url"]), {}


@dataclass(frozen=True, slots=True)
class Owned:
    """Where a forge lists them: the paths in its API, of which one is the owner's, and the fields of each.

    `address` is the field with the address to clone from, `query` what is asked for with every page.
    """

    paths: tuple[str, ...]
    address: str
    query: Mapping[str, str]


_IN_THE_WAY: Final = frozenset((HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY))

At = TypeVar("At")
Thread: TypeAlias = tuple[Callable[[str], object], Callable[[], str | None]]
"""The comments on a pull request: adds one, and reads the newest one, None for none."""


class HostedForge(Forge, Generic[At]):
    """A forge over HTTP. Everything raises ForgeError.

    A subclass knows the API; `At` is how its requests name a repository. `alien` are the errors of its library where
    an answer is not what is documented, `body` the name of a description, and `closing` what closes a pull request.
    """

    dialect: ClassVar[Dialect]
    owned: ClassVar[Owned]
    drafts: ClassVar[DraftTitles | None] = None
    """How drafts are marked in titles, None where they have a field of their own."""
    nested: ClassVar[bool] = False
    """Whether groups of repositories are nested."""
    alien: ClassVar[tuple[type[Exception], ...]] = ()
    body: ClassVar[str] = "body"
    closing: ClassVar[Mapping[str, str]] = {"state": "closed"}

    def __init__(self, connection: Connection, usual_api: str) -> None:
        """Raises ForgeError if the token or the address is invalid. Without a token only reading may work."""
        self._connection = connection
        self._transport = Transport(self.dialect, connection, usual_api)

    # ---- what an API is asked for --------------------------------------------------------------------------------

    @abstractmethod
    def _at(self, name: str) -> At:
        """A repository by its path on the host."""

    @abstractmethod
    def _query(self, at: At, state: str, source: str) -> Iterable[ForgePullRequest]:
        """The pull requests that are "open" or "all"; those from a branch if one is named, or more."""

    @abstractmethod
    def _read(self, at: At, number: int) -> ForgePullRequest: ...

    @abstractmethod
    def _paths(self, at: At, number: int) -> set[str]: ...

    @abstractmethod
    def _open(self, at: At, source: str, target: str, title: str, body: str, draft: bool) -> ForgePullRequest: ...

    @abstractmethod
    def _change(self, at: At, number: int, fields: Mapping[str, str]) -> None: ...

    @abstractmethod
    def _thread(self, at: At, number: int) -> Thread: ...

    @abstractmethod
    def _request_attention(self, at: At, number: int, attention: Attention) -> None: ...

    @abstractmethod
    def _checks(self, at: At, number: int) -> CheckState: ...

    def _query_branch(self, at: At, branch: str) -> Iterable[ForgePullRequest]:
        return self._pulls(at, "all", branch)

    # ---- the interface -------------------------------------------------------------------------------------------

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number."""
        with self._asking(repository, "listing the pull requests") as at:
            return self._pulls(at, "all")

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """The open pull requests, by number."""
        with self._asking(repository, "listing the open pull requests") as at:
            return self._pulls(at, "open")

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """The pull requests from one branch of the repository, in any state, by number."""
        with self._asking(repository, f"listing the pull requests of {branch}") as at:
            # GitHub ignores an invalid filter, and versions of Forgejo before 16 have none.
            return [pull for pull in self._query_branch(at, branch) if pull.source_branch == branch]

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The pull request of a number, None if it does not exist."""
        with self._asking(repository, f"reading pull request #{number}") as at:
            try:
                return self._read(at, number)
            except RefusedRequestError as refused:
                if refused.status == HTTPStatus.NOT_FOUND:
                    return None
                raise

    def repositories(self, owner: str, topic: str = "") -> list[str]:
        """The addresses of the repositories of an owner, archived ones left out, those with a topic if one is named."""
        with about(f"{owner}: listing the repositories"):
            for number, path in enumerate(self.owned.paths, 1):
                url = f"{self._transport.address.geturl()}/{path.format(quote(owner, safe=''))}"
                try:
                    repositories = list(pages(self._transport.session(), url, self.owned.query))
                except RefusedRequestError as refused:
                    if refused.status != HTTPStatus.NOT_FOUND or number == len(self.owned.paths):
                        raise
                    continue
                active = [repository for repository in repositories if not repository.get("archived")]
                if topic:
                    active = [repository for repository in active if topic in (repository.get("topics") or ())]
                return sorted({text_at(repository, self.owned.address) for repository in active})
        raise AssertionError("there is at least one path")

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        with self._asking(repository, f"listing the files of pull request #{number}") as at:
            return sorted(self._paths(at, number))

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request, or returns the open one for the two branches unchanged: forges refuse a second one."""
        with self._asking(repository, f"opening a pull request of {source_branch} into {target_branch}") as at:
            branches = source_branch, target_branch

            def existing() -> ForgePullRequest | None:
                pulls = self._pulls(at, "open", source_branch)
                return next((pull for pull in pulls if (pull.source_branch, pull.target_branch) == branches), None)

            marked = title if self.drafts is None else self.drafts.mark_title(title, draft=draft)
            try:
                return self._transport.once(lambda: self._open(at, *branches, marked, body, draft), existing)
            except RefusedRequestError as refused:
                existing_pull = existing() if refused.status in _IN_THE_WAY else None
                if existing_pull is not None:
                    return existing_pull
                look = f"check that both branches exist and {source_branch} has commits that {target_branch} lacks"
                raise RefusedRequestError(refused.message, refused.status, refused.remedy or look) from None

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Changes the title and the body of a pull request; a draft is kept a draft."""
        with self._asking(repository, f"editing pull request #{number}") as at:
            if self.drafts is not None:
                title = self.drafts.mark_title(title, draft=self._read(at, number).draft)
            self._change(at, number, {"title": title, self.body: body})

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Marks an open pull request as a draft or as ready."""
        to = "making pull request #{} a draft" if draft else "taking pull request #{} out of draft"
        with self._asking(repository, to.format(number)) as at:
            self._set_draft(at, number, draft=draft)

    def _set_draft(self, at: At, number: int, *, draft: bool) -> None:
        pull = self._read(at, number)
        if pull.draft == draft:
            return
        if pull.state != "open":
            raise ForgeError(f"it is {pull.state}; only open ones become drafts or leave that")
        assert self.drafts is not None
        self._change(at, number, {"title": self.drafts.mark_title(pull.title, draft=draft)})

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        with self._asking(repository, f"closing pull request #{number}") as at:
            self._change(at, number, self.closing)

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        with self._asking(repository, f"commenting on pull request #{number}") as at:
            post, newest = self._thread(at, number)
            self._transport.once(lambda: post(text), lambda: True if newest() == text else None)

    def request_attention(self, repository: str, number: int, attention: Attention) -> None:
        """Adds labels, asks for reviews and assigns it."""
        with self._asking(repository, f"labels, reviewers and assignees of pull request #{number}") as at:
            self._request_attention(at, number, attention)

    def checks(self, repository: str, number: int) -> CheckState:
        """The state of the checks of the newest commit."""
        with self._asking(repository, f"reading the checks of pull request #{number}") as at:
            return self._checks(at, number)

    def requests_left(self) -> int | None:
        """How many requests the forge grants until its limit is reset, by its last answer; None if that is unknown."""
        return self._transport.requests_left

    @contextmanager
    def _asking(self, repository: str, what: str) -> Iterator[At]:
        """The repository for requests; errors name what is asked for."""
        name = path_on(self._connection.host, repository, nested=self.nested)
        with about(f"{name}: {what}"), self._documented():
            yield self._at(name)

    @contextmanager
    def _documented(self) -> Iterator[None]:
        """Refuses answers that are not what the forge documents. Raises ForgeError."""
        try:
            yield
        except self.alien:
            raise ForgeError(
                f"the answer is not what {self.dialect.name} documents; correct the address of the API"
            ) from None

    def _pulls(self, at: At, state: str, source: str = "") -> list[ForgePullRequest]:
        # Subclasses ask for the oldest first, so that new ones are last, and pages do not shift while they are read.
        pulls = {pull.number: pull for pull in self._query(at, state, source)}
        return [pull for _, pull in sorted(pulls.items())]
