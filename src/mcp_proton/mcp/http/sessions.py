"""Sessions: how many each client has open, and that a session id is of use to the client that opened it alone (J-102)."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SHARE = 0.75
"""No client takes more than this part of all sessions: another can always get in."""


@dataclass
class _Session:
    client: str
    used: float
    requests: int = 0


class Sessions:
    """What is known of open sessions, the longest unused first. They end unused after `seconds`, as in their servers."""

    def __init__(self, most: int, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._now = now
        self._open: OrderedDict[str, _Session] = OrderedDict()

    def __len__(self) -> int:
        self._forget()
        return len(self._open)

    @property
    def clients(self) -> int:
        """How many clients have one."""
        self._forget()
        return len({one.client for one in self._open.values()})

    def room(self, client: str) -> float:
        """Return 0 where this client may open one more, else in how many seconds it may have room."""
        self._forget()
        own = [one for one in self._open.values() if one.client == client]
        if len(self._open) < self._most and len(own) < max(1, int(self._most * SHARE)):
            return 0.0
        idle = [one for one in (own or self._open.values()) if not one.requests]
        return max(1.0, idle[0].used + self._seconds - self._now()) if idle else self._seconds

    def opened(self, session: str, client: str) -> None:
        """Note a new one."""
        self._open[session] = _Session(client, self._now())

    def ended(self, session: str) -> None:
        """Note that one is no more."""
        self._open.pop(session, None)

    def belongs(self, session: str, client: str) -> bool:
        """Whether it is known as this client's."""
        self._forget()
        known = self._open.get(session)
        return known is not None and known.client == client

    def begin(self, session: str) -> None:
        """Note that a request of it is being served: it is not idle."""
        if (known := self._open.get(session)) is not None:
            known.requests += 1

    def end(self, session: str) -> None:
        """Note that a request was served."""
        if (known := self._open.get(session)) is not None:
            known.requests -= 1
            known.used = self._now()
            self._open.move_to_end(session)

    def _forget(self) -> None:
        oldest = self._now() - self._seconds
        while self._open:
            session, known = next(iter(self._open.items()))
            if known.used > oldest:
                return
            if known.requests:
                known.used = self._now()
                self._open.move_to_end(session)
            else:
                del self._open[session]
