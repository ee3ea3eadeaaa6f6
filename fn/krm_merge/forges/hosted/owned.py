"""The repositories of an organisation, a group or a user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from krm_merge.forges.hosted.answers import pages, text_at
from krm_merge.forges.hosted.transport import Transport, about
from krm_merge.forges.interface import RefusedRequestError


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
                found = list(pages(transport.session(), url, owned.query))
            except RefusedRequestError as refused:
                if refused.status != HTTPStatus.NOT_FOUND or number == len(owned.paths):
                    raise
                continue
            kept = [one for one in found if not one.get("archived")]
            if topic:
                kept = [one for one in kept if topic in (one.get("topics") or ())]
            return sorted({text_at(one, owned.address) for one in kept})
    raise AssertionError("there is at least one path")
