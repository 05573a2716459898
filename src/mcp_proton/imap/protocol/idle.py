"""Watching one mailbox on a session of its own: IDLE (RFC 2177) where the server has it, NOOP now and then elsewhere.

INVARIANT: DONE goes first. Bridge ends IDLE with a bare BAD on any other command and swallows that command, so the
connection refuses to send one while IDLE runs. IDLE is issued anew before 29 minutes are over.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.asks import Plain
from mcp_proton.imap.protocol.responses import Exists, Expunged, Response, Vanished
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


Change: TypeAlias = "Exists | Expunged | Vanished | FetchRow | Missed"


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
        self._session = session
        self._changes: deque[Change] = deque()
        self._news = asyncio.Event()
        self._idle: Running[Done] | None = None
        self._refused = False
        session.listen(self._hear)

    @property
    def pushed(self) -> bool:
        """The server tells by itself (IDLE); False: it is asked every `Timing.poll` seconds."""
        return self._session.can("IDLE") and not self._refused

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Change:
        while not self._changes:
            await (self._idle_once() if self.pushed else self._poll_once())
        return self._changes.popleft()

    async def stop(self) -> None:
        """Ends IDLE, if it runs. The session can be used again afterwards."""
        running, self._idle = self._idle, None
        if running is not None and not running.done.done():
            connection = self._session.connection
            connection.send_now(b"DONE\r\n")
            connection.end_of_patience(running)
            await connection.finish(running)

    async def _idle_once(self) -> None:
        connection = self._session.connection
        if self._idle is None:
            (self._idle,) = await connection.start([Idle()], silence=math.inf)
            self._idle.done.add_done_callback(lambda _: self._news.set())
        try:
            async with asyncio.timeout(connection.timing.idle_again):
                await self._news.wait()
            self._news.clear()
        except TimeoutError:
            await self.stop()
            return
        if self._idle is not None and self._idle.done.done():
            ended, self._idle = self._idle, None
            try:
                await connection.finish(ended)
            except Rejected:
                self._refused = True

    async def _poll_once(self) -> None:
        await asyncio.sleep(self._session.connection.timing.poll)
        await self._session.run(commands.Noop())

    def _hear(self, response: Response) -> None:
        if not isinstance(response, Exists | Expunged | Vanished | FetchRow):
            return
        if len(self._changes) >= KEPT:
            self._changes.clear()
            self._changes.append(Missed())
        elif not (self._changes and isinstance(self._changes[-1], Missed)):
            self._changes.append(response)
        self._news.set()
