"""Many repositories asked one after the other, for forges without a list of several."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from krm_merge.forges.interface import (
    Forge,
    ForgeError,
    ForgePullRequest,
    RefusedRequestError,
    UnavailableForgeError,
)


def one_by_one(
    forge: Forge, repositories: Sequence[str], branch: str
) -> dict[str, list[ForgePullRequest] | ForgeError]:
    """The pull requests from a branch in each repository, or why it is not shown.

    Raises ForgeError where the token is unknown, a limit is reached, or two in a row have no answer.
    """
    found: dict[str, list[ForgePullRequest] | ForgeError] = {}
    is_lost = False
    for repository in repositories:
        try:
            found[repository] = forge.pull_requests_from(repository, branch)
            is_lost = False
        except ForgeError as error:
            is_unknown = isinstance(error, RefusedRequestError) and error.status == HTTPStatus.UNAUTHORIZED
            was_lost, is_lost = is_lost, isinstance(error, UnavailableForgeError)
            if is_unknown or (is_lost and (was_lost or getattr(error, "until", None) is not None)):
                raise
            found[repository] = error
    return found
