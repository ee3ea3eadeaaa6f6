"""How to reach a forge: host and API, token, pace and time limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from krm_merge.forges.addresses import path_on
from krm_merge.forges.hosted.pace import Pace, Patience
from krm_merge.forges.hosted.transport import Dialect, Transport
from krm_merge.forges.interface import ForgeError
from krm_merge.forges.tokens import Token


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
