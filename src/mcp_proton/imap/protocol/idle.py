"""Watching one mailbox on a session of its own: IDLE (RFC 2177) where the server has it, NOOP now and then elsewhere.

INVARIANT: DONE goes first. Bridge ends IDLE with a bare BAD on any other command and swallows that command, so the
connection refuses to send one while IDLE runs. IDLE is issued anew before 29 minutes are over.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.asks import Plain
from mcp_proton.imap.protocol.notify import OVERFLOW
from mcp_proton.imap.protocol.responses import Exists, Expunged, ListEntry, MailboxStatus, Response, Status, Vanished
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.writer import Atom, line

if TYPE_CHECKING:
    from mcp_proton.imap.protocol.asks import Done
    from mcp_proton.imap.protocol.running import Running
    from mcp_proton.imap.protocol.session import Session

KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Missed:
    """More changed than was kept: look at the mailbox anew."""


Change: TypeAlias = "Exists | Expunged | Vanished | FetchRow | MailboxStatus | ListEntry | Missed"
"""of the open mailbox; of others (MailboxStatus, ListEntry) only what NOTIFY asked for"""


class Idle(Plain):
    """IDLE itself; the server's `+` says that it has begun."""

    exclusive = True

    def __init__(self) -> None:
        super().__init__("IDLE", line(Atom("IDLE")))

    def go_ahead(self, text: bytes) -> bytes | None:
        return b""


class Watch:
    """An async iterator of what changes in the mailbox, from `Pool.watching`. It ends with an error when the connection
    does (ConnectionLost, TimedOut): look at the mailbox, then watch again. On Bridge changes come 20-40 s late."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._changes: deque[Change] = deque()
        self._news = asyncio.Event()
        self._idle: Running[Done] | None = None
        self._refused = False
        session.listen(self._hear)

    @property
    def pushed(self) -> bool:
        """The server tells by itself (IDLE); False: it is asked every `Timing.poll` seconds."""
        return self.session.can("IDLE") and not self._refused

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Change:
        timing = self.session.connection.timing
        while not self._changes:
            await (self._idle_for(timing.idle_again) if self.pushed else self._ask_after(timing.poll))
        return self._changes.popleft()

    async def news(self, seconds: float) -> list[Change]:
        """What is told within so many seconds: at once when there is something, or when `rouse` is called. IDLE is over
        afterwards, so that commands may be sent."""
        if not self._changes:
            await (self._idle_for(seconds) if self.pushed else self._ask_after(seconds))
        await self.stop()
        self._news.clear()
        found, self._changes = list(self._changes), deque()
        return found

    def rouse(self) -> None:
        """Ends the wait for news."""
        self._news.set()

    async def stop(self) -> None:
        """Ends IDLE, if it runs. The session can be used again afterwards."""
        running, self._idle = self._idle, None
        if running is not None and not running.done.done():
            connection = self.session.connection
            connection.send_now(b"DONE\r\n")
            connection.end_of_patience(running)
            await connection.finish(running)

    async def _idle_for(self, seconds: float) -> None:
        connection = self.session.connection
        if self._idle is None:
            (self._idle,) = await connection.start([Idle()], silence=math.inf)
            self._idle.done.add_done_callback(lambda _: self._news.set())
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
            self._news.clear()
        except TimeoutError:
            await self.stop()
            return
        if self._idle is not None and self._idle.done.done():
            ended, self._idle = self._idle, None
            self._refused = True  # or a server that ends it by itself, at once, would be asked for it without end
            with suppress(Rejected):
                await connection.finish(ended)

    async def _ask_after(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()
        await self.session.run(commands.Noop())

    def _hear(self, response: Response) -> None:
        if isinstance(response, Status) and response.code is not None and response.code.name == OVERFLOW:
            self._changes.append(Missed())
        elif not isinstance(response, Exists | Expunged | Vanished | FetchRow | MailboxStatus | ListEntry):
            return
        elif len(self._changes) >= KEPT:
            self._changes.clear()
            self._changes.append(Missed())
        elif not (self._changes and isinstance(self._changes[-1], Missed)):
            self._changes.append(response)
        self._news.set()
