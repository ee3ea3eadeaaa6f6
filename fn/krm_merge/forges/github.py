"""Pull requests on GitHub and GitHub Enterprise: REST, and GraphQL for drafts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from krm_merge.forges.addresses import same_repository
from krm_merge.forges.github_answers import number_at, object_of, pull_request_of, text_at, unexpected
from krm_merge.forges.github_http import API, Asked, Http, Patience, Refused, checked_address
from krm_merge.forges.interface import DraftsRefusedError, ForgeError, ForgePullRequest

_PAGE: Final = 100
_MOST_FILES: Final = 3000  # GitHub lists no more of a pull request
_NAME = re.compile(r"[\w.-]+", re.ASCII)

_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
_DRAFT = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }"


class GitHub:
    """A forge. Its repositories are named by https, ssh or scp addresses. Everything raises ForgeError.

    `api` is the address of its REST interface, of GitHub Enterprise https://HOST/api/v3, and `host` the one in the
    addresses of repositories where that cannot be told from it. `clock` gives the seconds since 1970.
    """

    def __init__(
        self,
        token: str = "",
        api: str = API,
        *,
        host: str = "",
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Raises ForgeError where the token or the address cannot be one. Without a token only reading may work."""
        address = checked_address(api)
        self._api = api.rstrip("/")
        is_enterprise = self._api.endswith("/api/v3")
        api_host = address.hostname or ""
        self._host = host.lower() or (api_host if is_enterprise else api_host.removeprefix("api."))
        self._token = token.strip()
        self._http = Http(self._token, address, patience or Patience(), sleep, clock)
        self._graphql = f"{self._api.removesuffix('/v3') if is_enterprise else self._api}/graphql"

    def pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """All pull requests, by number. The source branch of one from a fork is `owner:branch`."""
        return self._listed(repository, {"state": "all"}, "listing the pull requests")

    def open_pull_requests(self, repository: str) -> list[ForgePullRequest]:
        """Those that are open, by number."""
        return self._listed(repository, {"state": "open"}, "listing the open pull requests")

    def pull_requests_from(self, repository: str, branch: str) -> list[ForgePullRequest]:
        """Those from one branch of the repository, in whatever state, by number."""
        owner = self._name(repository).partition("/")[0]
        query = {"state": "all", "head": f"{owner}:{branch}"}
        # GitHub takes a filter that it does not understand for none.
        found = self._listed(repository, query, f"listing the pull requests of {branch}")
        return [pull for pull in found if pull.source_branch == branch]

    def pull_request(self, repository: str, number: int) -> ForgePullRequest | None:
        """The one of a number, None where there is none."""
        name = self._name(repository)
        about = f"{name}: reading pull request #{number}"
        try:
            return pull_request_of(self._pull(name, number, about), about)
        except Refused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def _listed(self, repository: str, query: Mapping[str, str], what: str) -> list[ForgePullRequest]:
        name = self._name(repository)
        about = f"{name}: {what}"
        # New ones come last, so that pages do not move while they are read.
        query = {**query, "sort": "created", "direction": "asc"}
        found = [pull_request_of(each, about) for each in self._pages(f"{name}/pulls", query, about)]
        return [pull for _, pull in sorted({pull.number: pull for pull in found}.items())]

    def git_token(self, repository: str) -> str:
        """The token, of a repository of this host alone: any other would learn it."""
        try:
            self._name(repository)
        except ForgeError:
            return ""
        return self._token

    def changed_files(self, repository: str, number: int) -> list[str]:
        """The paths that a pull request changes; of a renamed file both."""
        name = self._name(repository)
        about = f"{name}: listing the files of pull request #{number}"
        entries = list(self._pages(f"{name}/pulls/{number}/files", {}, about))
        if len(entries) >= _MOST_FILES and number_at(self._pull(name, number, about), "changed_files", about) > len(
            entries
        ):
            raise ForgeError(f"{about}: there are more than the {_MOST_FILES} that GitHub lists; split it")
        paths = {text_at(entry, "filename", about) for entry in entries}
        return sorted(
            paths | {text_at(each, "previous_filename", about) for each in entries if "previous_filename" in each}
        )

    def create(
        self, repository: str, source_branch: str, target_branch: str, title: str, body: str, *, draft: bool
    ) -> ForgePullRequest:
        """Opens a pull request; gives the open one that there is for the two branches as it is."""
        name = self._name(repository)
        about = f"{name}: opening a pull request of {source_branch} into {target_branch}"

        def existing() -> Any:
            query = {"state": "open", "head": f"{name.partition('/')[0]}:{source_branch}", "base": target_branch}
            for found in self._pages(f"{name}/pulls", query, about):
                pull = pull_request_of(found, about)
                if (pull.source_branch, pull.target_branch) == (source_branch, target_branch):
                    return found
            return None

        payload = {"head": source_branch, "base": target_branch, "title": title, "body": body, "draft": draft}
        remedy = f"look whether both branches are there and {source_branch} has commits that {target_branch} has not"
        try:
            found = self._http.send(Asked("POST", self._url(f"{name}/pulls"), about, payload, remedy), existing).value
        except Refused as refused:
            found = existing() if refused.status == HTTPStatus.UNPROCESSABLE_ENTITY else None
            if found is None:
                raise _without_drafts(refused) if draft else refused from None
        return pull_request_of(found, about)

    def edit(self, repository: str, number: int, title: str, body: str) -> None:
        """Gives a pull request another title and body."""
        self._patch(repository, number, f"editing pull request #{number}", {"title": title, "body": body})

    def set_draft(self, repository: str, number: int, *, draft: bool) -> None:
        """Makes a pull request a draft, or takes it out of draft."""
        name = self._name(repository)
        to = "making pull request #{} a draft" if draft else "taking pull request #{} out of draft"
        about = f"{name}: {to.format(number)}"
        pull = self._pull(name, number, about)
        if pull.get("draft", False) == draft:
            return

        def done() -> Any:
            return True if self._pull(name, number, about).get("draft", False) == draft else None

        variables = {"id": text_at(pull, "node_id", about)}
        payload = {"query": _DRAFT if draft else _READY, "variables": variables}
        try:
            self._http.send(Asked("POST", self._graphql, about, payload), done)
        except Refused as refused:
            raise _without_drafts(refused) if draft else refused from None

    def close(self, repository: str, number: int) -> None:
        """Closes a pull request without merging it."""
        self._patch(repository, number, f"closing pull request #{number}", {"state": "closed"})

    def comment(self, repository: str, number: int, text: str) -> None:
        """Adds a comment."""
        name = self._name(repository)
        about = f"{name}: commenting on pull request #{number}"

        def done() -> Any:
            comments = [
                text_at(each, "body", about) for each in self._pages(f"{name}/issues/{number}/comments", {}, about)
            ]
            return True if comments[-1:] == [text] else None

        self._http.send(Asked("POST", self._url(f"{name}/issues/{number}/comments"), about, {"body": text}), done)

    # ---- requests ----------------------------------------------------------------------------------------------

    def _name(self, repository: str) -> str:
        """The owner and name of a repository of this forge: with another's address we would write to a stranger's."""
        address = same_repository(repository).rpartition("@")[2]
        place, _, name = address.partition("/")
        is_ours = place.partition(":")[0] in (self._host, f"ssh.{self._host}", f"www.{self._host}")
        parts = name.split("/")
        if not is_ours or len(parts) != 2 or not all(_NAME.fullmatch(part) and part.strip(".") for part in parts):
            known = f"https://{self._host}/OWNER/NAME"
            raise ForgeError(f"{address} is no repository of {self._host}; correct its address to be like {known}")
        return name

    def _url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        return f"{self._api}/repos/{path}" + (f"?{urlencode(query, errors='replace')}" if query else "")

    def _pages(self, path: str, query: Mapping[str, str], about: str) -> Iterator[Mapping[str, Any]]:
        url = self._url(path, {**query, "per_page": str(_PAGE)})
        seen: set[str] = set()
        while url and url not in seen:
            seen.add(url)
            answer = self._http.send(Asked("GET", url, about))
            if not isinstance(answer.value, list) or not all(isinstance(each, dict) for each in answer.value):
                unexpected(about, "a list")
            yield from answer.value
            url = answer.next

    def _pull(self, name: str, number: int, about: str) -> Mapping[str, Any]:
        return object_of(self._http.send(Asked("GET", self._url(f"{name}/pulls/{number}"), about)).value, about)

    def _patch(self, repository: str, number: int, what: str, payload: Mapping[str, Any]) -> None:
        name = self._name(repository)
        self._http.send(Asked("PATCH", self._url(f"{name}/pulls/{number}"), f"{name}: {what}", payload))


def _without_drafts(refused: Refused) -> ForgeError:
    """The refusal, as that of a repository without drafts where it says so: GitHub has no code for it."""
    said = str(refused)
    return DraftsRefusedError(said) if "draft" in said.lower() and "not supported" in said.lower() else refused
