"""Watching an account on one connection: IDLE in one mailbox, STATUS of the others now and then, or NOTIFY for them all.

INVARIANT: no change is missed. After each connection every watched mailbox is compared with how it was last seen. What a look
costs is at most a tenth of the time: on Bridge each STATUS loads the list of the whole mailbox.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import AuthFailed, MailError, Untrusted
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.pauses import doubled
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.mailboxes import AT_ONCE, wire_name
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.idle import Missed
from mcp_proton.imap.protocol.notify import Notify, NotifyNone
from mcp_proton.imap.protocol.responses import ListEntry, MailboxStatus

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from mcp_proton.imap.protocol import idle
    from mcp_proton.imap.protocol.idle import Change
    from mcp_proton.imap.protocol.pool import Pool
    from mcp_proton.imap.protocol.session import Session

ITEMS = ("MESSAGES", "UIDNEXT", "UIDVALIDITY", "UNSEEN")
VERSIONED = "HIGHESTMODSEQ"
SHARE = 10.0
"""a look is followed by so many times its length without one"""
FIRST, LONGEST = 1.0, 60.0
"""seconds of the pauses after failures"""
NAMED = 100
"""mailboxes in one NOTIFY; for more, it is set for all"""


class Watch:
    """See `mcp_proton.domain.watching.Watch`. `arrange` makes mailboxes of a list, `is_dear` says whose STATUS costs too much
    where it was not named."""

    def __init__(
        self, pool: Pool, arrange: Callable[[Iterable[ListEntry]], list[Mailbox]], is_dear: Callable[[Mailbox], bool]
    ) -> None:
        self._pool, self._arrange, self._is_dear = pool, arrange, is_dear
        self._wanted: frozenset[str] | None = frozenset()
        self._waiting: list[asyncio.Future[None]] = []
        self._stirred = asyncio.Event()
        self._boxes: list[Mailbox] = []
        self._seen: dict[bytes, tuple[Mailbox, Mapping[str, int]]] = {}
        self._all_seen = False
        self._told: set[bytes] = set()
        self._news: idle.Watch | None = None
        self._notified: frozenset[bytes] | None = None
        self._refused = False
        self._failures = 0
        self._changes = self._run()

    async def want(self, tags: frozenset[str] | None) -> None:
        """From now on these."""
        self._wanted = tags
        known: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(known)
        self._stirred.set()
        if self._news is not None:
            self._news.rouse()
        await known

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> frozenset[Mailbox]:
        return await anext(self._changes)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._changes.aclose()
        for one in self._waiting:
            one.cancel()

    async def _run(self) -> AsyncGenerator[frozenset[Mailbox]]:
        await self._stirred.wait()
        while True:
            try:
                async with aclosing(self._connected()) as told:
                    async for touched in told:
                        yield touched
            except (AuthFailed, Untrusted) as error:
                waiting, self._waiting = self._waiting, []
                for one in waiting:
                    if not one.done():
                        one.set_exception(error)
                raise
            except MailError:
                self._failures += 1
            finally:
                self._news = None
            await asyncio.sleep(self._pause())

    async def _connected(self) -> AsyncGenerator[frozenset[Mailbox]]:
        """What changes while one connection lasts."""
        clock = asyncio.get_running_loop().time
        self._boxes, self._notified, due = [], None, 0.0
        self._told.clear()
        async with self._pool.watching(None) as news:
            self._news = news
            while True:
                if self._waiting or clock() >= due:
                    began = clock()
                    touched = await self._look(news.session)
                    due = clock() + max(self._interval(news), SHARE * (clock() - began))
                    self._failures = 0
                    if touched:
                        yield touched
                pushed = news.pushed
                changes = await news.news(max(0.0, due - clock()))
                touched, sure = self._heard(changes, news.session)
                if not sure or pushed is not news.pushed:
                    due = 0.0
                if touched:
                    yield touched

    # --- looking -------------------------------------------------------------------------------------------------------

    async def _look(self, session: Session) -> frozenset[Mailbox]:
        """Compare what is wanted with how it was. What the server told by itself since is no news."""
        waiting, self._waiting = self._waiting, []
        wanted = self._wanted
        try:
            if self._must_list(session, wanted):
                self._boxes = self._arrange((await session.run(commands.ListMailboxes()))[0])
            # INVARIANT: first told, then looked at, or something could fall between.
            await self._attend(session, wanted)
            found = await self._statuses(session, wanted)
        except BaseException:
            self._waiting = waiting + self._waiting
            raise
        touched = {box for name, (box, items) in found.items() if self._differs(name, items)}
        touched |= {box for name, (box, _) in self._seen.items() if name not in found and _is_in(wanted, box)}
        if self._all_seen and wanted is None:
            touched |= {box for name, (box, _) in found.items() if name not in self._seen}
        self._seen, self._all_seen = found, wanted is None
        self._told.clear()
        for one in waiting:
            if not one.done():
                one.set_result(None)
        return frozenset(touched)

    def _must_list(self, session: Session, wanted: frozenset[str] | None) -> bool:
        if wanted is None:
            return not (self._boxes and session.can("LIST-STATUS"))
        return not wanted <= {box.tag for box in self._boxes}

    def _differs(self, name: bytes, items: Mapping[str, int]) -> bool:
        if name not in self._seen or name in self._told:
            return False
        before = self._seen[name][1]
        return _differ(before, items)

    async def _statuses(
        self, session: Session, wanted: frozenset[str] | None
    ) -> dict[bytes, tuple[Mailbox, Mapping[str, int]]]:
        items = (*ITEMS, VERSIONED) if session.can("CONDSTORE") or session.can("QRESYNC") else ITEMS
        if wanted is None and session.can("LIST-STATUS"):
            entries, statuses = await session.run(commands.ListMailboxes(status=items))
            self._boxes = self._arrange(entries)
            told = {_canonical(one.wire): one.items for one in statuses}
            return {name: (box, told.get(name, {})) for name, box in self._asked(None).items()}
        asked = list(self._asked(wanted).items())
        found: dict[bytes, tuple[Mailbox, Mapping[str, int]]] = {}
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            answers = await session.run_all([commands.StatusOf(wire_name(box), items) for _, box in some])
            for (name, box), answer in zip(some, answers, strict=True):
                found[name] = (box, {} if isinstance(answer, Rejected) else answer.items)
        return found

    def _asked(self, wanted: frozenset[str] | None) -> dict[bytes, Mailbox]:
        return {
            _canonical(wire_name(box)): box
            for box in self._boxes
            if box.selectable and _is_in(wanted, box) and not (wanted is None and self._is_dear(box))
        }

    # --- being told ----------------------------------------------------------------------------------------------------

    async def _attend(self, session: Session, wanted: frozenset[str] | None) -> None:
        """Open the mailbox that is told of by IDLE, and have the others told where the server does that."""
        asked = self._asked(wanted)
        focus = self._focus(asked)
        if focus is None:
            return
        selected = session.selection.name if session.selection is not None else None
        if selected != wire_name(focus):
            await session.select(wire_name(focus), read_only=True)
        names = frozenset(asked)
        if session.can("NOTIFY") and not self._refused and names != self._notified:
            every = wanted is None or len(names) > NAMED
            try:
                if self._notified is not None:
                    # Dovecot 2.3 keeps to the mailboxes it was first told of, otherwise.
                    await session.run(NotifyNone())
                await session.run(Notify(None if every else [wire_name(box) for box in asked.values()]))
                self._notified = names
            except Rejected:
                self._refused, self._notified = True, None

    def _focus(self, asked: Mapping[bytes, Mailbox]) -> Mailbox | None:
        """The inbox, where it is wanted or nothing else is there; else the first."""
        inbox = next((box for box in self._boxes if box.role is Role.INBOX), None)
        return inbox if inbox in asked.values() or not asked else min(asked.values(), key=lambda box: box.path)

    def _interval(self, news: idle.Watch) -> float:
        timing = news.session.connection.timing
        told = news.pushed and (self._notified is not None or len(self._seen) == 1)
        return timing.checked if told else timing.poll

    def _heard(self, changes: Iterable[Change], session: Session) -> tuple[frozenset[Mailbox], bool]:
        """What changed by these words; and whether that is all, or a look is needed."""
        names: set[bytes] = set()
        sure = True
        for change in changes:
            match change:
                case MailboxStatus(wire=wire, items=items):
                    told = self._learn(_canonical(wire), items)
                    names, sure = (names | {_canonical(wire)}, sure) if told else (names, False)
                case ListEntry():
                    self._boxes, sure = [], False
                case Missed():
                    self._boxes, sure = [], False
                    self._notified = None if self._notified is None else frozenset()
                case _ if session.selection is not None:
                    names.add(_canonical(_wire(session.selection.name)))
        names &= self._seen.keys()
        self._told |= names
        return frozenset(self._seen[name][0] for name in names), sure

    def _learn(self, name: bytes, items: Mapping[str, int]) -> bool:
        """Whether a STATUS that came by itself says that something changed. Dovecot sends one with nothing new, at first."""
        if name not in self._seen:
            return True
        box, before = self._seen[name]
        self._seen[name] = box, {**before, **items}
        return VERSIONED not in before or _differ(before, items)

    def _pause(self) -> float:
        return doubled(self._failures, FIRST, LONGEST) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def _differ(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    return any(before[item] != now[item] for item in before.keys() & now.keys())


def _is_in(wanted: frozenset[str] | None, box: Mailbox) -> bool:
    return wanted is None or box.tag in wanted


def _wire(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def _canonical(wire: bytes) -> bytes:
    return b"INBOX" if wire.upper() == b"INBOX" else wire
