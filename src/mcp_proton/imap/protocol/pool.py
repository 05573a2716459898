"""The sessions of one account: a bounded number, given out in turns, kept open for a while, reconnected when they end.

- Reading uses EXAMINE and peeks; nothing is marked read, no \\Recent is taken.
- A session that already has the mailbox open is preferred. Its UIDVALIDITY is looked at again after a minute, after a
  missing UID and after every reconnect (Bridge's resync leaves open sessions with dead UIDs and says nothing).
- A new connection reads the capabilities anew (P-04): a restarted Bridge may be another version.
- Watching (IDLE) has a session of its own, beside the bound (P-03).
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeVar

from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.turns import Turns
from mcp_proton.imap.errors import Busy, Rebuilt
from mcp_proton.imap.limits import Limits, Timing
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.backoff import Backoff, Patience
from mcp_proton.imap.protocol.box import Box
from mcp_proton.imap.protocol.idle import Watch
from mcp_proton.imap.protocol.opening import open_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from mcp_proton.imap.errors import Rejected
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint
    from mcp_proton.imap.protocol.asks import Ask
    from mcp_proton.imap.protocol.responses import ListEntry, MailboxStatus
    from mcp_proton.imap.protocol.session import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Habits:
    """How a pool behaves; times in seconds."""

    sessions: int = 4
    """at once, watching not counted"""
    fresh: float = 60.0
    """how long a look at UIDVALIDITY is good for"""
    quiet: float = 1.0
    """a reader's kept mailbox isn't asked for news (NOOP) if the server spoke this recently"""
    kept: float = 300.0
    """an unused session is closed after this"""
    turn: float = 120.0
    """the longest wait for a session"""
    packed: bool | None = None
    """sessions with COMPRESS; None: unless the server is on this machine"""


@dataclass(frozen=True, slots=True)
class _Kept:
    session: Session
    since: float


class Pool:
    """Made inside a running loop; opens nothing by itself. `aclose` it, or use it as `async with`."""

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        identity: Mapping[str, str],
        habits: Habits | None = None,
        limits: Limits | None = None,
        timing: Timing | None = None,
        patience: Patience | None = None,
        random: Random | None = None,
    ) -> None:
        self.habits = habits or Habits()
        self.capabilities: frozenset[str] | None = None
        """as of the last login; None before the first"""
        self.server_id: Mapping[str, str] = {}
        self.greeting = b""
        self.logins = 0
        """how often a session was opened: a change means that capabilities and UIDVALIDITYs may have changed"""
        self._endpoint, self._credentials, self._identity = endpoint, credentials, identity
        self._limits, self._timing = limits or Limits(), timing or Timing()
        self._backoff = Backoff(patience or Patience(), self._open, random or Random())  # noqa: S311  # jitter, no secret
        self._turns = Turns(self.habits.sessions)
        self._watchers = Turns(1)
        self._kept: list[_Kept] = []
        self._in_use: set[Session] = set()
        self._settling: set[asyncio.Task[None]] = set()
        self._reaper: asyncio.TimerHandle | None = None
        self._written = float("-inf")
        self._closed = False
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Pool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def open_sessions(self) -> int:
        """How many connections are logged in, used or kept."""
        return len(self._in_use) + len(self._kept)

    @property
    def busy_sessions(self) -> int:
        """How many of them somebody uses."""
        return len(self._in_use)

    @asynccontextmanager
    async def reading(
        self, mailbox: str | bytes, *, caller: str = "", uidvalidity: int | None = None
    ) -> AsyncIterator[Box]:
        """The mailbox, open for reading only. `caller` names whose turn it is.

        Raises Rebuilt if it hasn't the `uidvalidity` expected, NotFound if the server opens no such mailbox, Busy,
        AuthFailed, Untrusted, or another Unavailable.
        """
        async with self._lent(caller, mailbox, read_only=True) as session:
            yield _checked(Box(session), uidvalidity)

    @asynccontextmanager
    async def writing(
        self, mailbox: str | bytes, *, caller: str = "", uidvalidity: int | None = None
    ) -> AsyncIterator[Box]:
        """The same, opened by SELECT. NOOP (or SELECT, after a minute) is the command just before: on Bridge that is
        what protects a write from acting on a view that is out of date."""
        try:
            async with self._lent(caller, mailbox, read_only=False) as session:
                yield _checked(Box(session), uidvalidity)
        finally:
            self._written = self._loop.time()

    @asynccontextmanager
    async def session(self, *, caller: str = "") -> AsyncIterator[Session]:
        """Any session, whatever it has open: for commands that name their mailbox. Don't select in it."""
        async with self._lent(caller, None, read_only=True) as session:
            yield session

    @asynccontextmanager
    async def storing(self, mailbox: str | bytes, *, caller: str = "") -> AsyncIterator[Session]:
        """A session that has the mailbox open by SELECT, without a look at what is new in it: for one APPEND of many.

        Dovecot stores into a large mailbox that is open so in a third of the time; into one that is EXAMINEd, in twice.
        """
        async with self._lent(caller, mailbox, read_only=False, looks=False) as session:
            yield session

    async def run(self, ask: Ask[T], *, caller: str = "") -> T:
        """One command that needs no open mailbox."""
        async with self.session(caller=caller) as session:
            return await session.run(ask)

    async def list(
        self, reference: str = "", pattern: str = "*", *, status: Sequence[str] = (), caller: str = ""
    ) -> tuple[list[ListEntry], dict[bytes, MailboxStatus | Rejected]]:
        """Mailboxes, and the `status` items of each that can be opened (by wire name): in one round trip where the
        server has LIST-STATUS, else in two. A mailbox that refuses STATUS has its error there."""
        async with self.session(caller=caller) as session:
            if not status or session.can("LIST-STATUS"):
                entries, found = await session.run(commands.ListMailboxes(reference, pattern, status))
                return entries, {one.wire: one for one in found}
            entries, _ = await session.run(commands.ListMailboxes(reference, pattern))
            asked = [entry.wire for entry in entries if not _closed_to_all(entry)]
            answers = await session.run_all([commands.StatusOf(wire, status) for wire in asked])
            return entries, dict(zip(asked, answers, strict=True))

    def let_go(self, mailbox: str | bytes) -> None:
        """Closes unused sessions that have this mailbox open: to be called before it is deleted, which ends them."""
        wanted = _canonical(mailbox)
        for one in self._kept:
            selection = one.session.selection
            if selection is not None and selection.name == wanted:
                one.session.close()

    @asynccontextmanager
    async def watching(self, mailbox: str | bytes | None) -> AsyncIterator[Watch]:
        """What changes in a mailbox (None: none is opened yet), as it is told. One watch at a time; raises Busy after
        `Habits.turn` otherwise."""
        await self._turn(self._watchers, "")
        session: Session | None = None
        try:
            session = await self._backoff.connect()
            self._in_use.add(session)
            if mailbox is not None:
                await session.select(_canonical(mailbox), read_only=True)
            watch = Watch(session)
            yield watch
            await watch.stop()
            await session.goodbye()
        finally:
            if session is not None:
                session.close()
                self._in_use.discard(session)
            self._watchers.give()

    async def aclose(self) -> None:
        """Ends everything: those who wait get Busy, commands under way ConnectionLost. Returns within two seconds."""
        if self._closed:
            return
        self._closed = True
        if self._reaper is not None:
            self._reaper.cancel()
        self._turns.refuse(Busy("the account is being closed"))
        self._watchers.refuse(Busy("the account is being closed"))
        for task in self._settling:
            task.cancel()
        for session in list(self._in_use):
            session.close()
        kept, self._kept = self._kept, []
        await asyncio.gather(*(one.session.goodbye() for one in kept), *self._settling, return_exceptions=True)

    # --- lending ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _lent(
        self, caller: str, mailbox: str | bytes | None, *, read_only: bool, looks: bool = True
    ) -> AsyncIterator[Session]:
        await self._turn(self._turns, caller)
        session: Session | None = None
        try:
            wanted = None if mailbox is None else _canonical(mailbox)
            while True:
                session = self._choose(wanted, read_only=read_only)
                known = session is not None
                if session is None:
                    session = await self._backoff.connect()
                self._in_use.add(session)
                try:
                    await self._prepare(session, wanted, read_only=read_only, looks=looks)
                    break
                except Unavailable:
                    # A kept session may have died unseen; a fresh one may not.
                    if session.ended is None or not known:
                        raise
                    self._in_use.discard(session)
            yield session
        finally:
            self._take_back(session)

    async def _turn(self, turns: Turns, caller: str) -> None:
        if self._closed:
            raise Busy("the account is being closed")
        if turns.take_at_once():
            return
        try:
            async with asyncio.timeout(self.habits.turn):
                await turns.take(caller)
        except TimeoutError:
            raise Busy("every connection of the account is in use") from None

    def _choose(self, mailbox: str | bytes | None, *, read_only: bool) -> Session | None:
        """A kept session: with this mailbox open, else with none or a stale one; None to open another."""
        self._kept = [one for one in self._kept if one.session.ended is None]
        if not self._kept:
            return None

        def misfit(one: _Kept) -> tuple[int, float]:
            selection = one.session.selection
            if mailbox is None:
                return 0, -one.since
            if selection is not None and (selection.name, selection.read_only) == (mailbox, read_only):
                return 0, one.session.age()
            if selection is None or one.session.age() > self.habits.fresh:
                return 1, one.since
            return 2, one.since

        best = min(self._kept, key=misfit)
        if misfit(best)[0] == 2 and self._turns.taken + len(self._kept) <= self.habits.sessions:
            return None
        self._kept.remove(best)
        return best.session

    async def _prepare(self, session: Session, mailbox: str | bytes | None, *, read_only: bool, looks: bool) -> None:
        if mailbox is None:
            return
        selection = session.selection
        usable = (
            selection is not None
            and (selection.name, selection.read_only) == (mailbox, read_only)
            and not selection.suspect
            and session.age() < self.habits.fresh
        )
        if usable and not looks:
            return
        if usable and selection is not None:
            heard = session.connection.wire.heard
            # What was changed through another session of ours is seen by the next look, whoever takes it.
            if not read_only or heard <= self._written or self._loop.time() - heard > self.habits.quiet:
                await session.noop()
            # Who writes names UIDs it was given, so mail that came or went meanwhile is no reason to open it anew.
            if (selection.exists == selection.counted or not read_only) and not selection.suspect:
                return
        await session.select(mailbox, read_only=read_only)

    def _take_back(self, session: Session | None) -> None:
        """The session is kept if it is clean; one with commands under way is cleaned first, its place still taken."""
        if session is None or session.ended is not None or self._closed:
            if session is not None:
                self._in_use.discard(session)
                session.close()
            self._turns.give()
        elif session.connection.settled:
            session.connection.resume()
            self._keep(session)
        else:
            task = self._loop.create_task(self._clean(session))
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)

    async def _clean(self, session: Session) -> None:
        try:
            await session.settle()
        finally:
            if self._closed:
                session.close()
            self._keep(session)

    def _keep(self, session: Session) -> None:
        self._in_use.discard(session)
        if session.ended is None:
            self._kept.append(_Kept(session, self._loop.time()))
            if self._reaper is None:
                self._reaper = self._loop.call_later(self.habits.kept, self._reap)
        self._turns.give()

    def _reap(self) -> None:
        """Says goodbye to sessions that nobody used for long."""
        now, self._reaper = self._loop.time(), None
        old = [one for one in self._kept if now - one.since >= self.habits.kept - 0.01]
        self._kept = [one for one in self._kept if one not in old]
        for one in old:
            task = self._loop.create_task(one.session.goodbye())
            self._settling.add(task)
            task.add_done_callback(self._settling.discard)
        if self._kept:
            due = min(one.since for one in self._kept) + self.habits.kept
            self._reaper = self._loop.call_at(due, self._reap)

    async def _open(self) -> Session:
        session = await open_session(
            self._endpoint,
            self._credentials,
            identity=self._identity,
            limits=self._limits,
            timing=self._timing,
            packed=self.habits.packed,
        )
        if self._closed:
            session.close()
            raise Busy("the account is being closed")
        self.capabilities, self.server_id = session.capabilities, session.server_id
        self.greeting = session.greeting
        self.logins += 1
        return session


def _canonical(mailbox: str | bytes) -> str | bytes:
    """INBOX is one mailbox in any case (RFC 9051 §5.1)."""
    return "INBOX" if mailbox.upper() in {"INBOX", b"INBOX"} else mailbox


def _closed_to_all(entry: ListEntry) -> bool:
    return bool({"\\noselect", "\\nonexistent"} & {word.lower() for word in entry.attributes})


def _checked(box: Box, uidvalidity: int | None) -> Box:
    if uidvalidity is not None and box.uidvalidity != uidvalidity:
        raise Rebuilt(box.uidvalidity)
    return box
