"""An open mailbox, as its reader sees it: rows, searches, pipelines, streams. From `Pool.reading` and `Pool.writing`.

INVARIANT: UIDs are good for `uidvalidity` only. A UID that was named and isn't there makes the mailbox be opened again;
if it was rebuilt meanwhile (a Bridge resync says nothing to open sessions), `Rebuilt` is raised instead of "not found".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mcp_proton.domain.errors import Defect
from mcp_proton.imap.errors import Rebuilt
from mcp_proton.imap.protocol import commands, fetching
from mcp_proton.imap.protocol.fetching import Fetch, Items
from mcp_proton.imap.protocol.rowstream import RowStream
from mcp_proton.imap.protocol.streaming import STEP, ByteStream, PieceStream, RangeStream
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from array import array
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from mcp_proton.domain.errors import MailError
    from mcp_proton.imap.errors import Rejected
    from mcp_proton.imap.protocol.asks import Ask
    from mcp_proton.imap.protocol.commands import Selection
    from mcp_proton.imap.protocol.rows import FetchRow
    from mcp_proton.imap.protocol.session import Session
    from mcp_proton.imap.protocol.writer import Argument

T = TypeVar("T")


class Box:
    """Good inside its `async with` only. Numbers follow what the server says while it is open."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.uidvalidity = self.selection.uidvalidity
        """0: the server promises no lasting UIDs"""

    @property
    def selection(self) -> Selection:
        if self._session.selection is None:
            raise Defect("the mailbox is no longer open")
        return self._session.selection

    @property
    def exists(self) -> int:
        """How many messages, as last told."""
        return self.selection.exists

    @property
    def uidnext(self) -> int:
        """Above every UID there was when the mailbox was opened; 0 if the server didn't say."""
        return self.selection.uidnext

    @property
    def uids(self) -> range:
        """UIDs among which all messages below `uidnext` are, where that is known without asking: as many are there as
        there can be. (All of them, but for mail that came and went since.) Else, or in an empty mailbox, an empty range."""
        return range(1, self.uidnext if self.exists == self.uidnext - 1 else 1)

    @property
    def flags(self) -> frozenset[str]:
        return self.selection.flags

    @property
    def permanent_flags(self) -> frozenset[str] | None:
        return self.selection.permanent_flags

    @property
    def writable(self) -> bool:
        return self.selection.writable

    @property
    def versioned(self) -> bool:
        """Whether its messages have versions. HIGHESTMODSEQ is no sign: Dovecot tells it once somebody asked for one."""
        return (self.can("CONDSTORE") or self.can("QRESYNC")) and not self.selection.unversioned

    def can(self, capability: str) -> bool:
        """Whether the server advertises it (P-65)."""
        return self._session.can(capability)

    def fetch(
        self, uids: Iterable[int] | UidSet, items: Items, *, on_missing: Callable[[], Awaitable[None]] | None = None
    ) -> RowStream:
        """The rows, one a message, as they arrive, in the server's order (Bridge: any). Long sets become several
        commands, two under way at a time; a slow reader holds the server back. After the last row, if UIDs named one by
        one were missing, the mailbox is looked at again: raises Rebuilt if its UIDs are void. Who has several under way at
        once does that later, when all have ended: `on_missing` is called instead."""
        return RowStream(self._session, as_set(uids), items, on_missing or self.look_again)

    async def fetch_all(self, uids: Iterable[int] | UidSet, items: Items) -> list[FetchRow]:
        """The same at once: rows in the server's order. For pages; `fetch` for walks."""
        wanted = as_set(uids)
        rows: list[FetchRow] = []
        for outcome in await self._session.run_all([Fetch(part, items) for part in wanted.split()]):
            if not isinstance(outcome, list):
                raise outcome
            rows += outcome
        if fetching.missing(wanted, (row.uid for row in rows)):
            await self.look_again()
        return rows

    async def search(self, *keys: Argument) -> array[int]:
        """UIDs that match, ascending; no key: all. Keys are words of the search program: `Atom("UNSEEN")`,
        `Atom("SUBJECT"), "text"`, `Atom("UID"), UidSet`, a list for parentheses."""
        return await self._session.run(self.searching(*keys))

    def searching(self, *keys: Argument) -> commands.Search:
        """The search as an ask, for `pipeline`."""
        return commands.Search(keys, extended=self.can("ESEARCH"))

    async def pipeline(self, asks: Sequence[Ask[T]]) -> list[T | Rejected]:
        """Several asks (`Fetch`, `searching(…)`, `Noop` …) in one packet; results in the same order, the error in the
        place of a refused one."""
        return await self._session.run_all(asks)

    async def attempt(self, asks: Sequence[Ask[T]]) -> list[T | MailError]:
        """Several asks in one packet, and what became of each: a lost connection takes no earlier result along."""
        return await self._session.attempt(asks)

    async def run(self, ask: Ask[T]) -> T:
        """One ask, such as `commands.Store`. Raises Rejected, Unavailable, or Ambiguous if it may have happened."""
        return await self._session.run(ask)

    def stream(
        self, uid: int, section: str = "", start: int = 0, length: int | None = None, *, step: int | None = STEP
    ) -> ByteStream:
        """A section's bytes, piece by piece; never more than a few pieces in memory. By ranges of `step` bytes, two
        asked for ahead; with `step=None` in one command whose literal is passed on as it comes (cheaper on Bridge, which
        reads the whole message for every range; leaving early then costs the connection). Raises NotFound if the message
        or the section isn't there, Rebuilt if the mailbox was rebuilt."""
        if step is None:
            return PieceStream(self._session, uid, section, start, length, self.look_again)
        return RangeStream(self._session, uid, section, start, length, step, self.look_again)

    def age(self) -> float:
        """Seconds since its UIDVALIDITY was looked at."""
        return self._session.age()

    async def look_again(self) -> None:
        """Opens the mailbox anew. Raises Rebuilt if its UIDVALIDITY changed, NotFound if it is gone."""
        fresh = await self._session.renew()
        if fresh.uidvalidity != self.uidvalidity:
            raise Rebuilt(fresh.uidvalidity)


def as_set(uids: Iterable[int] | UidSet) -> UidSet:
    return uids if isinstance(uids, UidSet) else UidSet.of(uids)
