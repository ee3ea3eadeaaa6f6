"""How fast a forge is asked to change something: no faster than one call a second and so many an hour to one host."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, sleep

_HOUR = 3600.0
_SECONDS_BETWEEN_CALLS = 1.0


@dataclass(slots=True)
class Pace:
    """Waits before each changing call. `now` and `pause` are the clock, in seconds."""

    per_hour: int
    now: Callable[[], float] = monotonic
    pause: Callable[[float], None] = sleep
    _calls: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def wait(self, host: str) -> None:
        """Waits until the host may be asked again; this machine always may."""
        if not host:
            return
        calls = self._calls[host]
        at = self.now()
        while calls and calls[0] <= at - _HOUR:
            calls.popleft()
        ready = calls[-1] + _SECONDS_BETWEEN_CALLS if calls else at
        if len(calls) >= self.per_hour:
            ready = max(ready, calls[0] + _HOUR)
        if ready > at:
            self.pause(ready - at)
        calls.append(max(at, ready))

    def left(self, host: str) -> int:
        """How many changing calls the host may be asked for in this hour."""
        at = self.now()
        return self.per_hour - sum(1 for call in self._calls[host] if call > at - _HOUR)
