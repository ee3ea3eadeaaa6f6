"""Shared by the clients of forges: how to reach one, checked answers, owners, opening a pull request only once."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import quote, urljoin

import requests

from krm_merge.forges.hosted.transport import Dialect, Transport, about
from krm_merge.forges.interface import ForgeError, ForgePullRequest, Pace, Patience, RefusedRequestError, path_on
from krm_merge.git.program import Token


@dataclass(frozen=True, slots=True)
class Connection:
    """The settings of a client of a forge.

    `host` is the one in the addresses of repositories; `api` the address of its REST interface, where that does not
    follow from the host. `clock` gives the seconds since 1970.
    """

    host: str
    token: Token
    api: str = ""
    patience: Patience = field(default_factory=Patience)
    pace: Pace = field(default_factory=Pace)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time

    def git_token(self, repository: str, *, nested: bool = False) -> str:
        """The token, '' for a repository of another host, so that no other host gets it.

        `nested` is for forges whose groups are nested.
        """
        try:
            path_on(self.host, repository, nested=nested)
        except ForgeError:
            return ""
        return self.token.secret

    def transport(self, dialect: Dialect, usual_api: str) -> Transport:
        """The transport for the requests. Raises ForgeError if the token or the address is invalid."""
        api = (self.api or usual_api).rstrip("/")
        return Transport(dialect, api, self.token, self.patience, self.pace, self.sleep, self.clock)


_IN_THE_WAY = frozenset((HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY))


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
    raise ForgeError(f"the answer has not {what} that is documented; correct the address of the API")


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


def none_if_missing(ask: Callable[[], ForgePullRequest]) -> ForgePullRequest | None:
    """The pull request that `ask` reads, None if it does not exist. Raises ForgeError."""
    try:
        return ask()
    except RefusedRequestError as refused:
        if refused.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def opened_once(
    transport: Transport,
    ask: Callable[[], ForgePullRequest],
    open_ones: Callable[[], Iterable[ForgePullRequest]],
    source_branch: str,
    target_branch: str,
) -> ForgePullRequest:
    """The pull request that `ask` opens, or the open one for the two branches: forges refuse a second one.

    Raises ForgeError, of it RefusedError.
    """

    def existing() -> ForgePullRequest | None:
        branches = source_branch, target_branch
        return next((pull for pull in open_ones() if (pull.source_branch, pull.target_branch) == branches), None)

    try:
        return transport.once(ask, existing)
    except RefusedRequestError as refused:
        existing_pull = existing() if refused.status in _IN_THE_WAY else None
        if existing_pull is not None:
            return existing_pull
        look = f"look whether both branches are there and {source_branch} has commits that {target_branch} has not"
        raise RefusedRequestError(refused.message, refused.status, refused.remedy or look) from None


@dataclass(frozen=True, slots=True)
class Owned:
    """Where a forge lists them: the paths in its API, of which one is the owner's, and the fields of each.

    `address` is the field with the address to clone from, `query` what is asked for with every page.
    """

    paths: tuple[str, ...]
    address: str
    query: Mapping[str, str]


def owned_repositories(transport: Transport, owned: Owned, owner: str, topic: str) -> list[str]:
    """The addresses of the repositories of an owner that are not archived, those with a topic where one is named.

    Raises ForgeError.
    """
    with about(f"{owner}: listing the repositories"):
        for number, path in enumerate(owned.paths, 1):
            url = f"{transport.address.geturl()}/{path.format(quote(owner, safe=''))}"
            try:
                repositories = list(pages(transport.session(), url, owned.query))
            except RefusedRequestError as refused:
                if refused.status != HTTPStatus.NOT_FOUND or number == len(owned.paths):
                    raise
                continue
            active = [repository for repository in repositories if not repository.get("archived")]
            if topic:
                active = [repository for repository in active if topic in (repository.get("topics") or ())]
            return sorted({text_at(repository, owned.address) for repository in active})
    raise AssertionError("there is at least one path")
