"""One logged-in connection and the mailbox it has open.

A failed SELECT leaves the selection unknown (Bridge keeps the old mailbox open, the RFC says none), so nothing is read
before the next one succeeded. Commands for one selection are pipelined; SELECT waits until all of them have ended.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_proton.domain.errors import Defect, MailError, NotFound
from mcp_proton.imap.errors import ConnectionLost, Rejected
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.connection import Connection
from mcp_proton.imap.protocol.responses import Capabilities, Exists, Expunged, Flags, Response, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_proton.imap.limits import Limits, Timing
    from mcp_proton.imap.protocol.asks import Ask
    from mcp_proton.imap.protocol.commands import Selection
    from mcp_proton.imap.protocol.running import Running

T = TypeVar("T")
ALERTS_KEPT = 8


class Session:
    """Made by `opening.open_session`. One caller at a time; not to be shared.

    `capabilities` are those after login. Who calls `listen` hears what no command asked for: Exists, Expunged, Vanished,
    FetchRow (flags changed) and others. `alerts` are the last [ALERT] texts, the server's own words.
    """

    def __init__(self, limits: Limits, timing: Timing) -> None:
        self.capabilities: frozenset[str] | None = None
        self.selection: Selection | None = None
        self.server_id: Mapping[str, str] = {}
        self.greeting = b""
        self.alerts: deque[bytes] = deque(maxlen=ALERTS_KEPT)
        self._listener: Callable[[Response], None] | None = None
        self.connection = Connection(limits, timing, watch=self._watch, news=self._news)
        self._clock = asyncio.get_running_loop().time

    @property
    def ended(self) -> MailError | None:
        """Why the connection is over; None while it lives."""
        return self.connection.ended

    def can(self, capability: str) -> bool:
        """Whether the server advertises it (after login); case doesn't matter."""
        return self.capabilities is not None and capability.upper() in self.capabilities

    def age(self) -> float:
        """Seconds since the selected mailbox's UIDVALIDITY was looked at; infinite without a selection."""
        return float("inf") if self.selection is None else self._clock() - self.selection.at

    def listen(self, listener: Callable[[Response], None]) -> None:
        """Have all news told from here on."""
        self._listener, self.connection.overheard = listener, True

    async def run(self, ask: Ask[T]) -> T:
        """One command. Raises Rejected, Unavailable (and its kinds) or Ambiguous."""
        return await self.connection.run(ask)

    async def run_all(self, asks: Sequence[Ask[T]]) -> list[T | Rejected]:
        """Several commands in one packet; their results in the same order, a refused one's place holding its error."""
        running: list[Running[T]] = await self.connection.start(asks)
        results: list[T | Rejected] = []
        try:
            for each in running:
                try:
                    result = await self.connection.finish(each)
                    results.append(result)
                except Rejected as refusal:
                    results.append(refusal)
        except BaseException:
            self._leave(running)
            raise
        return results

    async def attempt(self, asks: Sequence[Ask[T]]) -> list[T | MailError]:
        """The same, and whatever became of each command is in its place: a connection that ends takes no result along,
        and what was not sent has that for an error."""
        try:
            running: list[Running[T]] = await self.connection.start(asks)
        except MailError as error:
            return [error for _ in asks]
        results: list[T | MailError] = []
        try:
            for each in running:
                try:
                    result = await self.connection.finish(each)
                    results.append(result)
                except MailError as error:
                    results.append(error)
        except BaseException:
            self._leave(running)
            raise
        return results

    async def select(self, name: str | bytes, *, read_only: bool) -> Selection:
        """Opens a mailbox: EXAMINE or SELECT. Raises NotFound if the server won't."""
        if not self.connection.only_forgotten:
            raise Defect("a mailbox was to be opened while commands for another one were under way")
        await self.settle()
        self.selection = None
        try:
            selection = await self.connection.run(commands.Select(name, read_only=read_only))
        except Rejected as refusal:
            if refusal.answer == "BAD" or refusal.retry:
                raise
            raise NotFound("the mail server opens no mailbox of that name") from refusal
        selection.at = self._clock()
        self.selection = selection
        return selection

    async def renew(self) -> Selection:
        """The same mailbox opened again, to compare UIDVALIDITY. Raises Defect without a selection."""
        if self.selection is None:
            raise Defect("no mailbox is open")
        return await self.select(self.selection.name, read_only=self.selection.read_only)

    async def noop(self) -> None:
        await self.connection.run(commands.Noop())

    async def settle(self) -> bool:
        """Leaves the connection clean: nothing under way. False if it had to be closed instead."""
        if not self.connection.settled:
            self.connection.forget_all()
            return await self.connection.settle()
        return self.ended is None

    async def goodbye(self) -> None:
        """LOGOUT, politely and briefly; the connection is closed afterwards whatever happens."""
        self.connection.saying_goodbye = True
        try:
            if self.ended is None and self.connection.settled:
                async with asyncio.timeout(self.connection.timing.goodbye):
                    await self.connection.run(commands.Logout())
        except (TimeoutError, ConnectionLost, Rejected):
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Closes at once."""
        self.connection.end(ConnectionLost("the connection was closed by us"))

    def _leave(self, running: Sequence[Running[Any]]) -> None:
        for each in running:
            self.connection.forget(each)

    def _watch(self, response: Response) -> None:
        match response:
            case Exists(count) if self.selection is not None:
                self.selection.exists = count
            case Expunged() if self.selection is not None:
                self.selection.exists = max(0, self.selection.exists - 1)
            case Flags(flags) if self.selection is not None:
                self.selection.flags = flags
            case Capabilities(names):
                self.capabilities = names
            case Status(_, code, text) if code is not None:
                self._code(code.name, code.value, text)

    def _code(self, name: str, value: object, text: bytes) -> None:
        if name == "CAPABILITY" and isinstance(value, frozenset):
            self.capabilities = value
        elif name == "ALERT":
            self.alerts.append(text)
        elif name == "UIDVALIDITY" and self.selection is not None and value != self.selection.uidvalidity:
            self.selection.suspect = True

    def _news(self, response: Response) -> None:
        if self._listener is not None:
            self._listener(response)
