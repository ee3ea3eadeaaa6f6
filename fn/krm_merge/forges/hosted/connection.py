"""How a forge is reached: its host and API, the token, how fast and how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from krm_merge.forges.hosted.pace import Pace, Patience
from krm_merge.forges.hosted.transport import Dialect, Transport
from krm_merge.forges.tokens import Token


@dataclass(frozen=True, slots=True)
class Connection:
    """What a client of a forge is made with.

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

    def transport(self, dialect: Dialect, usual_api: str) -> Transport:
        """What sends the requests. Raises ForgeError where the token or the address cannot be one."""
        api = (self.api or usual_api).rstrip("/")
        return Transport(dialect, api, self.token, self.patience, self.pace, self.sleep, self.clock)
