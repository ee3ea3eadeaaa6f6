"""What GitHub says of pull requests, read as it documents it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from krm_merge.forges.interface import ForgeError, ForgePullRequest, State


def pull_request_of(found: object, about: str) -> ForgePullRequest:
    """A pull request. The source branch of one from a fork is `owner:branch`."""
    pull = object_of(found, about)
    head, base = object_of(pull.get("head"), about), object_of(pull.get("base"), about)
    is_merged = bool(pull.get("merged_at"))
    state: State = "merged" if is_merged else "closed" if text_at(pull, "state", about) == "closed" else "open"
    branch = text_at(head, "ref", about)
    if _full_name(head) != _full_name(base):
        # No branch of the repository, though it may be called like one; no branch has a colon in its name.
        branch = f"{_login(head) or 'unknown'}:{branch}"
    return ForgePullRequest(
        number=number_at(pull, "number", about),
        source_branch=branch,
        target_branch=text_at(base, "ref", about),
        title=text_at(pull, "title", about),
        body=text_at(pull, "body", about),
        draft=bool(pull.get("draft")),
        state=state,
        head=text_at(head, "sha", about),
        merge_commit=text_at(pull, "merge_commit_sha", about) if is_merged else "",
        author=_login(pull),
        merged_at=str(pull["merged_at"]) if is_merged else "",
    )


def _full_name(side: Mapping[str, Any]) -> str:
    """The repository of one side, '' where it was deleted."""
    repository = side.get("repo")
    return str(repository.get("full_name", "")) if isinstance(repository, dict) else ""


def _login(found: Mapping[str, Any]) -> str:
    """Whose something is, '' where the account was deleted."""
    user = found.get("user")
    return str(user.get("login", "")) if isinstance(user, dict) else ""


def object_of(found: object, about: str) -> Mapping[str, Any]:
    """An object. Raises ForgeError for anything else."""
    return found if isinstance(found, dict) else unexpected(about, "an object")


def text_at(found: Mapping[str, Any], name: str, about: str) -> str:
    """A text, '' for null."""
    text = found.get(name, 0)
    return "" if text is None else text if isinstance(text, str) else unexpected(about, f"the text {name}")


def number_at(found: Mapping[str, Any], name: str, about: str) -> int:
    """A number. Raises ForgeError where there is none."""
    number = found.get(name)
    return number if isinstance(number, int) else unexpected(about, f"the number {name}")


def unexpected(about: str, what: str) -> NoReturn:
    """Tells that an answer is none of GitHub. Raises ForgeError."""
    raise ForgeError(f"{about}: the answer has not {what} that GitHub documents; correct the address of the API")
