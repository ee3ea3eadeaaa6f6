"""Hosts that cannot be used for now: the targets on them wait, and are not tried one after the other. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from krm_merge.errors import KrmMergeError
from krm_merge.fleet.merging.failures import grouped_by
from krm_merge.fleet.publishing.branches import NotPublishedError
from krm_merge.forges.interface import ForgeError, UnavailableForgeError
from krm_merge.harmless import line

EQUAL_PROBLEMS_THAT_PAUSE = 5


@dataclass(slots=True)
class Hosts:
    """What hosts said lately, and why some of them are not asked again in this run."""

    _latest: dict[str, tuple[str, int]] = field(default_factory=dict)
    _paused: dict[str, str] = field(default_factory=dict)

    @property
    def obstacles(self) -> list[str]:
        """Why targets wait, for each host that is not asked again."""
        return list(self._paused.values())

    def is_paused(self, host: str) -> bool:
        """Whether the targets of this host wait."""
        return host in self._paused

    def succeeded(self, host: str) -> None:
        """Notes that a host did what it was asked for."""
        self._latest.pop(host, None)

    def lost(self, host: str, error: ForgeError) -> str:
        """Notes that a host cannot be looked at. Returns the message, '' where the host only asked to wait."""
        if self._waits(host, error):
            return ""
        self._paused[host] = f"{host} cannot be looked at; correct that, and run it again"
        return line(str(error))

    def _waits(self, host: str, error: KrmMergeError | OSError) -> bool:
        """Notes a limit of this hour, which is no problem of a target."""
        if not isinstance(error, UnavailableForgeError) or error.until is None:
            return False
        until = f"{datetime.fromtimestamp(error.until, UTC):%Y-%m-%d %H:%M:%SZ}"
        self._paused[host] = f"{host} has had all that it takes until {until}; run it again then"
        return True

    def failed(self, host: str, target: str, error: KrmMergeError | OSError) -> str:
        """Notes a problem. Returns the message about the target, '' where the host only asked to wait."""
        message = line(str(error))
        if self._waits(host, error):
            return ""
        if not isinstance(error, NotPublishedError):
            text = grouped_by(message, target)
            before, count = self._latest.get(host, ("", 0))
            count = count + 1 if before == text else 1
            self._latest[host] = text, count
            if host and count == EQUAL_PROBLEMS_THAT_PAUSE:
                self._paused[host] = f"{host} said the same of {count} targets in a row; correct that, and run it again"
        return message
