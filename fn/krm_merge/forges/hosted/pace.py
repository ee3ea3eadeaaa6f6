"""Limits the rate of changing requests: forges block programs that open pull requests as fast as they can."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock

from krm_merge.forges.interface import UnavailableForgeError

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The least time between two changing requests to one host, in seconds, and their maximum in an hour."""

    seconds_between_changes: float = 1.0
    changes_an_hour: int = 400


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits for retries. `timeout` is for one answer, `limit` for all attempts, both in seconds."""

    attempts: int = 5
    limit: float = 300.0
    timeout: float = 30.0


class Throttle:
    """The changing requests to one host in the last hour. Several threads may share it."""

    def __init__(self, pace: Pace, limit: float, sleep: Callable[[float], None], clock: Callable[[], float]) -> None:
        """Waits at most `limit` seconds at a time."""
        self._pace = pace
        self._limit = limit
        self._sleep = sleep
        self._clock = clock
        self._changes: deque[float] = deque()
        self._lock = Lock()

    def wait(self) -> None:
        """Waits until the next changing request is allowed. Raises UnavailableForgeError if that takes too long."""
        with self._lock:
            if self._left() == 0:
                until = self._changes[0] + _HOUR
                if until - self._clock() > self._limit:
                    when = f"{datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M:%SZ}"
                    used = f"all {self._pace.changes_an_hour} changes of this hour are used up until {when}"
                    raise UnavailableForgeError(f"{used}; run it again then, or allow more an hour", until)
                self._sleep(until - self._clock())
            if self._changes:
                pause = self._changes[-1] + self._pace.seconds_between_changes - self._clock()
                if pause > 0:
                    self._sleep(pause)
            self._changes.append(self._clock())

    @property
    def left(self) -> int:
        """How many changing requests are left in this hour."""
        with self._lock:
            return self._left()

    def _left(self) -> int:
        while self._changes and self._changes[0] + _HOUR <= self._clock():
            self._changes.popleft()
        return max(self._pace.changes_an_hour - len(self._changes), 0)
